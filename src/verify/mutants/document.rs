//! What `verify --mutants` says: the document, and the same for people.
use crate::mutate::Mutant;
use crate::mutate::score::{Fate, GOAL, Score, Tally};
use crate::report::document::{Arms, Compared};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The document's schema.
pub const SCHEMA: &str = "umpatch.mutants/1";

/// The document.
#[derive(Debug, Clone, Serialize)]
pub struct Document {
    /// Its schema.
    pub schema: String,
    /// The command that repeats it.
    pub command: String,
    /// Stock and the series.
    pub compared: Arms<Compared>,
    /// How many mutants were made of the series.
    pub generated: usize,
    /// Those that do not compile.
    pub rejected: Vec<String>,
    /// How many compile.
    pub compiling: usize,
    /// The same by patch.
    pub compiling_by_patch: BTreeMap<String, usize>,
    /// Whether enough was found, and the list of the others says what is so.
    pub met: bool,
    /// How many of those that were judged were found.
    pub score: Score,
    /// Those that were judged.
    pub mutants: Vec<Row>,
    /// How long it took.
    pub seconds: f64,
}

/// One mutant.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Which, where, and what it makes of the line.
    #[serde(flatten)]
    pub mutant: Mutant,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// The document for people.
#[must_use]
pub fn text(document: &Document) -> String {
    let score = &document.score;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} mutants of {}: {} compile, {} were judged",
        document.generated, document.compared.patched.name, document.compiling, score.all.mutants
    );
    let _ = writeln!(
        out,
        "score {} (goal {:.0}%)\n",
        percent(&score.all),
        GOAL * 100.0
    );
    table(&mut out, "patch", &score.by_patch);
    table(&mut out, "operator", &score.by_operator);
    let by: Vec<String> = score
        .by_means
        .iter()
        .map(|(means, count)| format!("{} {count}", word(means)))
        .collect();
    let _ = writeln!(out, "killed by {}\n", by.join(", "));
    for row in &document.mutants {
        if let Fate::Survived {
            claim,
            reason,
            reached,
        } = &row.fate
        {
            let what = match claim {
                Some(claim) => format!("{}: {reason}", word(claim)),
                None if *reached => "SURVIVED".to_owned(),
                None => "SURVIVED, and nothing came to its place".to_owned(),
            };
            let _ = writeln!(
                out,
                "{}\n  {}:{}  {}  ->  {}\n  {what}",
                row.mutant.name,
                row.mutant.file,
                row.mutant.line,
                row.mutant.before,
                row.mutant.after
            );
        }
    }
    for name in &score.refuted {
        let _ = writeln!(out, "{name} is listed as one that survives, and was found");
    }
    let _ = writeln!(out, "{:.0} s", document.seconds);
    out
}

fn table(out: &mut String, head: &str, rows: &BTreeMap<String, Tally>) {
    let _ = writeln!(out, "{head:<18} mutants  killed  equivalent  score");
    for (name, tally) in rows {
        let _ = writeln!(
            out,
            "{name:<18} {:>7} {:>7} {:>11}  {}",
            tally.mutants,
            tally.killed,
            tally.equivalent,
            percent(tally)
        );
    }
    out.push('\n');
}

fn percent(tally: &Tally) -> String {
    format!("{:.1}%", tally.score * 100.0)
}

fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
