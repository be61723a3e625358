//! Takes a driver's output line by line and keeps what the report needs; nothing in it can make this fail.
use crate::report::document::Fault;
use crate::run::job::{JobResult, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The columns of a curve, as in the driver's samples.
pub(crate) const COLUMNS: [&str; 10] = [
    "step",
    "time_ns",
    "current_bytes",
    "driver_bytes",
    "pending_bytes",
    "allocations",
    "new_buffers",
    "commits",
    "blocking_waits",
    "footprint_bytes",
];

/// What a driver has said so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    rows: String,
    last_step: Option<u64>,
    faults: BTreeMap<String, Fault>,
    end: Option<Value>,
    foreign: u64,
}

impl Collector {
    /// Takes one line. Gives the fault when it is the first one of its kind.
    pub(super) fn line(&mut self, line: &str) -> Option<Fault> {
        if line.trim().is_empty() {
            return None;
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            self.foreign += 1;
            return None;
        };
        match event.get("event").and_then(Value::as_str) {
            Some("begin") => {}
            Some("sample") => self.sample(&event),
            Some("fault") => return self.fault(&event),
            Some("end") => self.end = Some(event),
            _ => self.foreign += 1,
        }
        None
    }

    fn sample(&mut self, event: &Value) {
        let cells: Vec<String> = COLUMNS
            .iter()
            .map(|column| match event.get(*column) {
                Some(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            })
            .collect();
        let _ = writeln!(self.rows, "{}", cells.join(","));
        self.last_step = event.get("step").and_then(Value::as_u64).or(self.last_step);
    }

    fn fault(&mut self, event: &Value) -> Option<Fault> {
        let word = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = match word("kind") {
            "" => "unexpected-error",
            kind => kind,
        };
        let bytes = event.get("bytes").and_then(Value::as_u64).unwrap_or(0);
        let count = event.get("count").and_then(Value::as_u64).unwrap_or(1);
        if let Some(known) = self.faults.get_mut(kind) {
            known.count = known.count.saturating_add(count);
            known.bytes = known.bytes.saturating_add(bytes);
            return None;
        }
        let detail = match event.get("step").and_then(Value::as_u64) {
            Some(step) => format!("step {step}: {}", shorten(word("detail"))),
            None => shorten(word("detail")),
        };
        let fault = Fault {
            kind: kind.to_owned(),
            count,
            detail,
            bytes,
        };
        self.faults.insert(kind.to_owned(), fault.clone());
        Some(fault)
    }

    /// What the driver's end event says; nothing when there was none.
    pub(super) fn reported(&self) -> Option<Outcome> {
        let end = self.end.as_ref()?;
        Some(match end.get("outcome").and_then(Value::as_str) {
            // a driver that reports faults and ends "ok" is faulted all the same
            Some("ok") if self.faults.is_empty() => Outcome::Ok,
            Some("ok" | "faulted") => Outcome::Faulted,
            Some("out-of-memory") => Outcome::OutOfMemory,
            other => Outcome::Error {
                detail: end
                    .get("detail")
                    .and_then(Value::as_str)
                    .or(other)
                    .unwrap_or("no outcome")
                    .to_owned(),
            },
        })
    }

    /// The figures; the outcome is the caller's to set.
    pub(super) fn result(&self) -> JobResult {
        let figure = |name: &str| self.end.as_ref()?.get(name)?.as_u64();
        let counters = self
            .end
            .as_ref()
            .and_then(|end| end.get("counters"))
            .and_then(Value::as_object)
            .map(|counters| {
                counters
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
                    .collect()
            })
            .unwrap_or_default();
        JobResult {
            peak_driver_bytes: figure("peak_driver_bytes"),
            peak_current_bytes: figure("peak_current_bytes"),
            peak_pending_bytes: figure("peak_pending_bytes"),
            residual_driver_bytes: figure("residual_driver_bytes"),
            residual_current_bytes: figure("residual_current_bytes"),
            counters,
            faults: self.faults.values().cloned().collect(),
            last_step: self.last_step,
            foreign_lines: self.foreign,
            ..JobResult::empty(Outcome::Ok)
        }
    }

    /// The samples as a table; nothing when there were none.
    pub(super) fn csv(&self) -> Option<String> {
        (!self.rows.is_empty()).then(|| format!("{}\n{}", COLUMNS.join(","), self.rows))
    }
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(lines: &[&str]) -> Collector {
        let mut collector = Collector::default();
        for line in lines {
            collector.line(line);
        }
        collector
    }

    #[test]
    fn samples_faults_and_the_end_are_kept() {
        let collector = feed(&[
            r#"{"event":"begin","schema":"umpatch.driver/1"}"#,
            r#"{"event":"sample","step":0,"driver_bytes":8,"current_bytes":4}"#,
            r#"{"event":"sample","step":5,"driver_bytes":16,"current_bytes":null}"#,
            r#"{"event":"fault","kind":"corruption","step":3,"detail":"late write","bytes":64}"#,
            r#"{"event":"fault","kind":"corruption","step":4,"detail":"again","bytes":64}"#,
            r#"{"event":"end","outcome":"ok","peak_driver_bytes":16,"counters":{"commits":2,"alloc_free_ns":null}}"#,
        ]);
        assert_eq!(collector.reported(), Some(Outcome::Faulted));
        let result = collector.result();
        assert_eq!(result.peak_driver_bytes, Some(16));
        assert_eq!(
            result.counters,
            BTreeMap::from([("commits".to_owned(), 2.0)])
        );
        assert_eq!(result.last_step, Some(5));
        assert_eq!(
            result.faults,
            [Fault {
                kind: "corruption".to_owned(),
                count: 2,
                detail: "step 3: late write".to_owned(),
                bytes: 128,
            }]
        );
        assert_eq!(
            collector.csv().unwrap().lines().nth(2),
            Some("5,,,16,,,,,,")
        );
    }

    #[test]
    fn an_end_without_an_outcome_is_no_success() {
        let collector = feed(&[r#"{"event":"end"}"#]);
        assert!(matches!(collector.reported(), Some(Outcome::Error { .. })));
        assert_eq!(feed(&["{}", "noise"]).result().foreign_lines, 2);
        assert_eq!(feed(&["{}"]).reported(), None);
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in ".{0,200}", key in "[a-z_]{1,12}", number in any::<f64>()) {
            let mut collector = Collector::default();
            collector.line(&line);
            collector.line(&serde_json::json!({"event": "sample", key.clone(): number}).to_string());
            collector.line(&serde_json::json!({"event": "fault", key.clone(): number}).to_string());
            collector.line(&serde_json::json!({"event": "end", "counters": {key: number}}).to_string());
            let _ = (collector.result(), collector.reported(), collector.csv());
        }
    }
}
