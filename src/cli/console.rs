//! The terminal: results on stdout, progress and errors on stderr, colours and bars only on a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]
use crate::error::Failure;
use crate::progress::{Progress, SharedProgress, Silent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Where a command prints.
#[derive(Debug, Clone)]
pub struct Console {
    json: bool,
    quiet: bool,
    /// Why a result did not reach stdout.
    lost: Arc<OnceLock<std::io::Error>>,
}

impl Console {
    /// A console for the given global options.
    #[must_use]
    pub fn new(json: bool, quiet: bool) -> Self {
        Self {
            json,
            quiet,
            lost: Arc::default(),
        }
    }

    /// Whether the result is to be a JSON document.
    #[must_use]
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints the result: the document with `--json`, else the text.
    pub fn result(&self, document: &impl Serialize, text: &str) {
        let mut stdout = anstream::stdout().lock();
        let written = if self.json {
            serde_json::to_string_pretty(document)
                .map_err(std::io::Error::from)
                .and_then(|json| writeln!(stdout, "{json}"))
        } else if text.is_empty() {
            Ok(())
        } else {
            writeln!(stdout, "{}", text.trim_end_matches('\n'))
        };
        self.keep(written.and_then(|()| stdout.flush()));
    }

    /// Prints a file's bytes as they are.
    pub fn bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        self.keep(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    }

    fn keep(&self, written: std::io::Result<()>) {
        match written {
            // a closed pipe (`umpatch … | head`) is no failure of the command
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let _ = self.lost.set(error);
            }
            _ => {}
        }
    }

    /// The failure of a command whose result did not reach stdout: a full disk under a redirection.
    #[must_use]
    pub fn lost(&self) -> Option<Failure> {
        let error = self.lost.get()?;
        let failure = Failure::usage(format!("cannot write the result to stdout: {error}"));
        Some(failure.hint("free some space there, and run the command again"))
    }

    /// One line on stderr, unless `--quiet`.
    pub fn note(&self, line: &str) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }

    /// Renders an error, once; with `--json` also as a document on stdout.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            let mut document = serde_json::json!({
                "schema": "umpatch.error/1",
                "error": failure.chain,
                "hints": failure.hints,
                "exit_code": failure.exit.code(),
            });
            if let Some(detail) = &failure.detail {
                document["detail"] = (**detail).clone();
            }
            self.result(&document, "");
        }
        self.complain(failure);
    }

    /// Renders an error on stderr alone: for a command whose own document says it too.
    pub fn complain(&self, failure: &Failure) {
        let mut stderr = anstream::stderr().lock();
        let (red, cyan, reset) = ("\x1b[1;31m", "\x1b[36m", "\x1b[0m");
        let mut lines = failure.chain.iter();
        if let Some(first) = lines.next() {
            let _ = writeln!(stderr, "{red}error{reset}: {first}");
        }
        for cause in lines {
            let _ = writeln!(stderr, "  because: {cause}");
        }
        for hint in &failure.hints {
            let _ = writeln!(stderr, "{cyan}hint{reset}: {hint}");
        }
    }

    /// Progress for a long operation: a bar on a terminal, a line per stage elsewhere, nothing with `--quiet`.
    #[must_use]
    pub fn progress(&self) -> SharedProgress {
        if self.quiet {
            Arc::new(Silent)
        } else if std::io::stderr().is_terminal() {
            Arc::new(Bar::new())
        } else {
            Arc::new(Lines)
        }
    }
}

/// A spinner or bar that is redrawn in place.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }
}

impl Progress for Bar {
    fn stage(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.unset_length();
        self.0.set_position(0);
    }
    fn advance(&self, done: u64, total: u64) {
        if total > 0 {
            self.0.set_length(total);
        }
        self.0.set_position(done);
    }
    fn note(&self, line: &str) {
        self.0.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{line}");
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// One line per stage, for logs.
struct Lines;

impl Progress for Lines {
    fn stage(&self, name: &str) {
        let _ = writeln!(anstream::stderr(), "… {name}");
    }
    fn advance(&self, _done: u64, _total: u64) {}
    fn note(&self, line: &str) {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}
