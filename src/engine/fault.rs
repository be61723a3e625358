//! For tests: ends the process, or fails, at the n-th step that writes.
//!
//! `UMPATCH_FAULT_STEP=N` kills the process (as `kill -9` does) just before its N-th write; `UMPATCH_FAULT_STEP=N:fail` lets
//! that write fail as on a full disk. Unset, which is always the case outside of tests, it does nothing.
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy)]
enum Fault {
    None,
    Kill(u64),
    Fail(u64),
}

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Called before each write.
pub(super) fn step() -> io::Result<()> {
    static FAULT: OnceLock<Fault> = OnceLock::new();
    let fault = FAULT.get_or_init(|| {
        std::env::var("UMPATCH_FAULT_STEP").map_or(Fault::None, |text| parse(&text))
    });
    let count = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
    match *fault {
        Fault::Kill(at) if at == count => {
            let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
            Ok(())
        }
        Fault::Fail(at) if at == count => Err(io::Error::from(io::ErrorKind::StorageFull)),
        _ => Ok(()),
    }
}

fn parse(text: &str) -> Fault {
    let (number, fails) = match text.strip_suffix(":fail") {
        Some(number) => (number, true),
        None => (text, false),
    };
    match (number.parse(), fails) {
        (Ok(at), true) => Fault::Fail(at),
        (Ok(at), false) => Fault::Kill(at),
        (Err(_), _) => Fault::None,
    }
}
