//! The checked-in list of failures that are known, each with its reason: no CPU twin of a Metal kernel, a failure that
//! upstream expects on hardware, and so on.
use super::error::TestsError;
use super::outcome::Outcome;
use serde::Deserialize;
use std::path::Path;

/// The schema name of the list.
pub const SCHEMA: &str = "umpatch.expected-failures/1";

/// The known failures.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    schema: String,
    #[serde(default, rename = "reason")]
    reasons: Vec<Reason>,
}

/// One reason, and the failures that have it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Its name.
    pub name: String,
    /// It in one sentence.
    pub why: String,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    messages: Vec<String>,
    #[serde(default = "failures")]
    outcomes: Vec<Outcome>,
}

fn failures() -> Vec<Outcome> {
    vec![Outcome::Failed, Outcome::Error]
}

impl Expected {
    /// Reads the list.
    ///
    /// # Errors
    /// When it cannot be read or makes no sense.
    pub fn read(path: &Path) -> Result<Self, TestsError> {
        let text = std::fs::read_to_string(path).map_err(TestsError::file("read", path))?;
        Self::parse(&text).map_err(|detail| TestsError::Input {
            what: "list of expected failures",
            path: path.to_owned(),
            detail,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if list.schema != SCHEMA {
            return Err(format!("its schema is {:?}, not {SCHEMA:?}", list.schema));
        }
        match list
            .reasons
            .iter()
            .find(|reason| reason.tests.is_empty() && reason.messages.is_empty())
        {
            // it would explain everything
            Some(reason) => Err(format!(
                "reason {} names neither tests nor messages",
                reason.name
            )),
            None => Ok(list),
        }
    }

    /// Why this test fails, if that is known; the first reason that matches.
    #[must_use]
    pub fn reason(&self, id: &str, outcome: Outcome, message: &str) -> Option<&Reason> {
        let name = id.split_once("::").map_or(id, |(_, name)| name);
        self.reasons.iter().find(|reason| {
            let by_test = reason.tests.iter().any(|pattern| matches(pattern, name));
            let by_message = reason.messages.iter().any(|part| message.contains(part));
            reason.outcomes.contains(&outcome)
                && (by_test || reason.tests.is_empty())
                && (by_message || reason.messages.is_empty())
        })
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(position) => rest = &rest[position + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        schema = "umpatch.expected-failures/1"
        [[reason]]
        name = "unexpected-success"
        why = "upstream expects a failure on real hardware"
        messages = ["Unexpected success"]
        [[reason]]
        name = "no-cpu-twin"
        why = "the kernel exists for Metal alone"
        tests = ["TestConsistencyCPU::test_output_*_float32", "TestMPS::test_one"]
        [[reason]]
        name = "too-large"
        why = "needs more memory than the cap"
        tests = ["TestMPS::test_large"]
        outcomes = ["crashed"]
    "#;

    fn name(id: &str, outcome: Outcome, message: &str) -> Option<String> {
        let list = Expected::parse(LIST).unwrap();
        list.reason(id, outcome, message)
            .map(|reason| reason.name.clone())
    }

    #[test]
    fn tests_messages_and_outcomes_are_matched() {
        use Outcome::{Crashed, Failed};
        assert_eq!(
            name("f.py::A::b", Failed, "Failed: Unexpected success").as_deref(),
            Some("unexpected-success")
        );
        assert_eq!(
            name(
                "f.py::TestConsistencyCPU::test_output_x_float32",
                Failed,
                ""
            )
            .as_deref(),
            Some("no-cpu-twin")
        );
        assert_eq!(name("f.py::TestMPS::test_one_more", Failed, ""), None);
        assert_eq!(name("f.py::TestMPS::test_large", Failed, ""), None);
        assert_eq!(
            name("f.py::TestMPS::test_large", Crashed, "").as_deref(),
            Some("too-large")
        );
    }

    #[test]
    fn a_reason_that_explains_everything_is_refused() {
        let text =
            "schema = \"umpatch.expected-failures/1\"\n[[reason]]\nname = \"a\"\nwhy = \"b\"\n";
        assert!(Expected::parse(text).unwrap_err().contains("neither"));
        assert!(Expected::parse("schema = \"other/1\"").is_err());
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("a*c", "abbc") && matches("*", "") && matches("a*", "a"));
        assert!(matches("*a*b*", "xaxbx") && matches("a", "a"));
        assert!(!matches("a*c", "abb") && !matches("a", "ab") && !matches("a*b*c", "acb"));
    }
}
