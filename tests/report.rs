//! Reports as people and CI systems meet them: the formats of two recorded runs, hostile text, sizes, the schema, and the
//! command.
#![allow(clippy::unwrap_used)]
#[path = "report/large.rs"]
mod large;

use assert_cmd::Command;
use large::large;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use umpatch::report::document::{
    Ablation, AblationRow, CellFigures, Fault, Finding, FindingState, Measure, MemoryStep, Reason,
    Report, RunState, SettingVerdict, Subset, Verdict,
};
use umpatch::report::{self, Format};

const FORMATS: [Format; 5] = [
    Format::Html,
    Format::Markdown,
    Format::Json,
    Format::Junit,
    Format::Terminal,
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/reports")
        .join(name)
}

fn recorded(name: &str) -> Report {
    report::read(&fixture(name).join(report::DATA_FILE)).unwrap()
}

fn rendered(name: &str, format: Format) -> String {
    report::render(&recorded(name), &fixture(name), format).unwrap()
}

#[test]
fn terminal_of_a_pass() {
    insta::assert_snapshot!(rendered("pass", Format::Terminal));
}

#[test]
fn terminal_of_a_regression() {
    insta::assert_snapshot!(rendered("regression", Format::Terminal));
}

#[test]
fn markdown_of_a_pass() {
    insta::assert_snapshot!(rendered("pass", Format::Markdown));
}

#[test]
fn markdown_of_a_regression() {
    insta::assert_snapshot!(rendered("regression", Format::Markdown));
}

#[test]
fn junit_of_a_regression() {
    insta::assert_snapshot!(rendered("regression", Format::Junit));
}

#[test]
fn the_page_needs_nothing_but_itself_and_says_the_verdict_first() {
    for name in ["pass", "regression"] {
        let page = rendered(name, Format::Html);
        for loads in [" src=", "<link", "@import", "url(", "<iframe", "<base"] {
            assert!(!page.contains(loads), "{name}: {loads}");
        }
        let report = recorded(name);
        let body = page.find("<body>").unwrap();
        let decided = page[body..].find(
            report.reasons[0]
                .text
                .split('[')
                .next()
                .unwrap()
                .split(';')
                .next()
                .unwrap(),
        );
        let scenarios = page[body..].find("id=\"scenarios\"");
        assert!(decided.unwrap() < scenarios.unwrap(), "{name}");
        assert!(page.contains("Trust: simulated."), "{name}");
        assert!(page.contains("This does not prove"), "{name}");
        for scenario in &report.scenarios {
            assert!(page.contains(&scenario.command), "{}", scenario.id);
        }
    }
}

#[test]
fn every_table_has_headers_and_every_plot_a_name() {
    let page = rendered("regression", Format::Html);
    assert_eq!(
        page.matches("<table").count(),
        page.matches("<thead").count()
    );
    assert_eq!(
        page.matches("<th ").count(),
        page.matches("<th scope=").count()
    );
    assert_eq!(page.matches("<svg").count(), 4);
    for plot in page.split("aria-labelledby=\"plot-").skip(1) {
        let number: String = plot.chars().take_while(char::is_ascii_digit).collect();
        assert!(page.contains(&format!("<figcaption id=\"plot-{number}\"")));
    }
}

#[test]
fn public_reports_are_links_and_our_own_checks_say_so() {
    let mut report = recorded("pass");
    report.scenarios[1].reproduces = "ours".to_owned();
    let page = report::render(&report, &fixture("pass"), Format::Html).unwrap();
    assert!(page.contains("issues/167940\">"));
    assert!(page.contains("no public report: a check of our own"));
}

#[test]
fn plots_show_both_arms_apart_without_colour() {
    let page = rendered("regression", Format::Html);
    let plot = &page[page.find("<svg").unwrap()..page.find("</svg>").unwrap()];
    let lines = |with: &dyn Fn(&str) -> bool| {
        plot.split('<')
            .filter(|element| element.starts_with("polyline") && with(element))
            .count()
    };
    assert!(lines(&|line| line.contains("#B35400") && line.contains("stroke-dasharray")) >= 2);
    assert!(lines(&|line| line.contains("#1F5FA8") && !line.contains("stroke-dasharray")) >= 2);
    for text in [
        "driver memory (MiB)",
        "step",
        "stock (5 processes)",
        "patched (5 processes)",
    ] {
        assert!(plot.contains(text), "{text}");
    }
}

#[test]
fn missing_curves_are_named_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let page = report::render(&recorded("pass"), folder.path(), Format::Html).unwrap();
    assert!(!page.contains("<svg"));
    assert!(page.contains("steady-steps.stock.1.csv: "));
}

#[test]
fn a_run_cut_off_says_so_in_every_format_for_people() {
    let mut report = recorded("pass");
    report.state = RunState::Partial;
    report.verdict = Verdict::Inconclusive;
    report.exit_code = 130;
    for format in [Format::Html, Format::Markdown, Format::Terminal] {
        let text = report::render(&report, &fixture("pass"), format).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            words.join(" ").contains("in progress or was cut off"),
            "{format:?}"
        );
        assert!(text.contains("INCONCLUSIVE"), "{format:?}");
    }
    let junit = report::render(&report, &fixture("pass"), Format::Junit).unwrap();
    let read = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    assert_eq!(read.failures, 1, "a run without a conclusion is not green");
}

#[test]
fn a_run_that_failed_before_anything_ran_has_a_report() {
    let mut report = recorded("pass");
    report.verdict = Verdict::Failed;
    report.exit_code = 4;
    report.scenarios.clear();
    report.goals.clear();
    report.reasons = vec![Reason {
        verdict: Verdict::Failed,
        subject: String::new(),
        text: "the patched tree does not build: MPSAllocator.mm:12: expected ';'".to_owned(),
    }];
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let text = report::render(&report, folder.path(), format).unwrap();
        assert!(text.contains("MPSAllocator.mm:12"), "{format:?}");
        assert!(!text.contains("NaN"), "{format:?}");
    }
    report.reasons.clear();
    for format in FORMATS {
        report::render(&report, folder.path(), format).unwrap();
    }
}

#[test]
fn a_full_disk_or_a_read_only_folder_names_the_file_and_keeps_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let error = report::write_all(&recorded("pass"), &folder.path().join("absent")).unwrap_err();
    assert!(error.to_string().contains("report.json"), "{error}");
    let page = folder.path().join("report.html");
    fs::create_dir(&page).unwrap();
    report::write_all(&recorded("pass"), folder.path()).unwrap_err();
    assert!(folder.path().join("report.json").is_file());
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(
        left, 4,
        "the page's folder and three files, nothing temporary"
    );
}

/// What would do harm in one of the formats if it were taken at its word.
const HOSTILE: &str = "\x1b[2J\x1b]0;owned\x07\u{0}\u{8}\u{202e}\"'><script>alert(1)</script><img src=x onerror=alert(2)>\
    {{ 7*7 }}]]></details></summary>|`` ` ```\n\n# heading\n\n~~~\n[link](http://example.invalid) <b>@somebody</b> #12 \
    pytorch/pytorch#1 www.example.invalid &amp; ![image](x)\n- [ ] item\n";

/// Replaces every text that a program, a test or a path may have put into the report.
fn poison(value: &mut Value, key: &str, poison_text: &str) {
    const OURS: [&str; 10] = [
        "measure",
        "schema",
        "bearing",
        "verdict",
        "state",
        "trust",
        "class",
        "step",
        "curves",
        "exit_code",
    ];
    match value {
        Value::String(text) if !OURS.contains(&key) => text.push_str(poison_text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| poison(item, key, poison_text)),
        Value::Object(fields) => {
            let free_keys = ["counters", "settings", "parts"].contains(&key);
            let old = std::mem::take(fields);
            for (name, mut value) in old {
                if name != "curves" {
                    poison(
                        &mut value,
                        if free_keys { "free" } else { &name },
                        poison_text,
                    );
                }
                let name = if free_keys {
                    format!("{name}{poison_text}")
                } else {
                    name
                };
                fields.insert(name, value);
            }
        }
        _ => {}
    }
}

/// The recorded regression with what no recorded run has.
fn fuller() -> Report {
    let mut report = recorded("regression");
    report.compared.patched.titles = vec!["Do it".to_owned()];
    report.scenarios[1].patched.steps = vec![MemoryStep {
        at: 500.0,
        bytes: 8_388_608.0,
    }];
    let figures = |mib: f64| CellFigures {
        peak_bytes: Some(mib * 1_048_576.0),
        slope_bytes_per_step: Some(1.0),
        faults: 0,
        counters: [("blocking_waits".to_owned(), 3.0)].into(),
    };
    let rows = report.scenarios.iter().map(|scenario| AblationRow {
        scenario: scenario.id.clone(),
        findings: vec![
            Some(Finding {
                state: FindingState::Regression,
                text: "+1 MiB a step".to_owned(),
            }),
            None,
        ],
        measure: Measure::Peak,
        stock: figures(64.0),
        figures: vec![Some(figures(128.0)), None],
    });
    let verdict = |setting: &str| SettingVerdict {
        setting: setting.to_owned(),
        verdict: Verdict::Regression,
        scenarios: 3,
        reason: "it grows".to_owned(),
    };
    report.by_setting = vec![verdict(""), verdict("mode=eager-retire")];
    report.ablation = Some(Ablation {
        rows: rows.collect(),
        verdicts: vec![report.by_setting.clone(), vec![verdict("")]],
        subsets: ["alone", "without"]
            .map(|name| Subset {
                name: name.to_owned(),
                patches: vec!["one".to_owned()],
                series: "rival".to_owned(),
            })
            .to_vec(),
    });
    report
}

#[test]
fn which_patch_does_what_and_where_memory_stepped_are_shown() {
    let show = |format| report::render(&fuller(), &fixture("regression"), format).unwrap();
    let page = show(Format::Html);
    assert!(page.contains("Which patch does what"));
    assert!(page.contains("<code>described</code> Do it"));
    assert!(page.contains("step +8.00 MiB"));
    let text = show(Format::Markdown);
    assert!(
        text.contains("| `steady-steps` | 64.0 MiB | ✘ regression 2.00 × |  |"),
        "{text}"
    );
    assert!(page.contains("Under each assumption about Metal"));
}

fn poisoned() -> Report {
    poisoned_with(HOSTILE)
}

fn poisoned_with(poison_text: &str) -> Report {
    let mut value = serde_json::to_value(fuller()).unwrap();
    poison(&mut value, "", poison_text);
    let mut report: Report = serde_json::from_value(value).unwrap();
    // a class that this version does not know, as a newer one may write
    report.tests.as_mut().unwrap().changes[0].class = poison_text.to_owned();
    report
}

fn assert_no_controls(text: &str, format: Format) {
    let bad = text.chars().find(|character| {
        (character.is_control() && *character != '\n' && *character != '\t')
            || ('\u{202a}'..='\u{202e}').contains(character)
    });
    assert_eq!(bad, None, "{format:?}");
}

#[test]
fn hostile_text_is_harmless_on_the_page() {
    let page = report::render(&poisoned(), &fixture("regression"), Format::Html).unwrap();
    assert_no_controls(&page, Format::Html);
    assert_eq!(page.matches("<script").count(), 1);
    for element in ["<img", "<b>@", "owned"] {
        let clean = report::render(&fuller(), &fixture("regression"), Format::Html).unwrap();
        assert_eq!(
            page.matches(element).count(),
            clean.matches(element).count(),
            "{element}"
        );
    }
    for (open, close) in [
        ("<details", "</details>"),
        ("<summary", "</summary>"),
        ("<table", "</table>"),
    ] {
        assert_eq!(
            page.matches(open).count(),
            page.matches(close).count(),
            "{open}"
        );
    }
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(page.contains("{{ 7*7 }}"));
}

#[test]
fn hostile_text_is_harmless_in_markdown() {
    let text = report::render(&poisoned(), &fixture("regression"), Format::Markdown).unwrap();
    assert_no_controls(&text, Format::Markdown);
    let mut code_depth = 0;
    let mut headings = 0;
    for event in Parser::new_ext(
        &text,
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH,
    ) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code_depth += 1,
            Event::End(TagEnd::CodeBlock) => code_depth -= 1,
            Event::Start(Tag::Heading { .. }) => headings += 1,
            Event::Start(tag @ (Tag::Link { .. } | Tag::Image { .. })) => panic!("{tag:?}"),
            Event::TaskListMarker(_) => panic!("a task list"),
            Event::Html(html) | Event::InlineHtml(html) => {
                let mut rest = html.replace("<details>", "").replace("</details>", "");
                rest = rest.replace("<summary>", "").replace("</summary>", "");
                assert!(!rest.contains('<'), "{html}");
            }
            Event::Text(text) if code_depth == 0 => {
                for sign in ["@", "#1", "www.", "://"] {
                    assert!(!text.contains(sign), "{text}");
                }
            }
            _ => {}
        }
    }
    let clean = report::render(&fuller(), &fixture("regression"), Format::Markdown).unwrap();
    let expected = clean.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(headings, expected);
}

#[test]
fn hostile_text_is_harmless_in_junit() {
    let text = report::render(&poisoned(), &fixture("regression"), Format::Junit).unwrap();
    assert_no_controls(&text, Format::Junit);
    let read = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!(read.test_suites.len(), 3);
    assert!(!text.contains("<script"));
}

#[test]
fn hostile_text_is_harmless_in_a_terminal() {
    let text = report::terminal(&poisoned());
    assert_no_controls(&text, Format::Terminal);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
}

/// Pieces of what each format gives a meaning to, in any order, among any other characters.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<script>"),
        Just("</script>"),
        Just("<!--"),
        Just("-->"),
        Just("]]>"),
        Just("<a href=x>"),
        Just("\" onload=x "),
        Just("```\n"),
        Just("~~~\n"),
        Just("`"),
        Just("|"),
        Just("\n\n# "),
        Just("\n- "),
        Just("]("),
        Just("![x](y)"),
        Just("<details>"),
        Just("</details>"),
        Just("@me"),
        Just("#1"),
        Just("\x1b["),
        Just("\x1b]8;;"),
        Just("\u{9b}2J"),
        Just("\r"),
        Just("\0"),
        Just("\u{202e}"),
        Just("\u{2028}"),
        Just("{% raw %}"),
        Just("{{"),
        Just("&#60;"),
        Just("\\"),
    ];
    let any = any::<char>().prop_map(String::from);
    let one = prop_oneof![3 => piece.prop_map(str::to_owned), 1 => any];
    prop::collection::vec(one, 1..30).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_text_is_harmless_in_every_format(text in hostile()) {
        let report = poisoned_with(&text);
        let show = |format| report::render(&report, &fixture("regression"), format).unwrap();
        for format in [Format::Html, Format::Markdown, Format::Junit, Format::Terminal] {
            assert_no_controls(&show(format), format);
        }
        let page = show(Format::Html);
        prop_assert_eq!(page.matches("<script").count(), 1);
        prop_assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
        prop_assert!(!page.contains("<a href=x") && !page.contains("<!--"));
        quick_junit::Report::deserialize_from_str(&show(Format::Junit)).unwrap();
        let again: Report = serde_json::from_str(&show(Format::Json)).unwrap();
        prop_assert_eq!(again.scenarios.len(), report.scenarios.len());
        let markdown = show(Format::Markdown);
        let mut folded = 0_i32;
        for event in Parser::new_ext(&markdown, Options::ENABLE_TABLES) {
            match event {
                Event::Start(tag @ (Tag::Link { .. } | Tag::Image { .. })) => prop_assert!(false, "{:?}", tag),
                Event::Html(html) | Event::InlineHtml(html) => {
                    folded += html.matches("<details>").count() as i32 - html.matches("</details>").count() as i32;
                    let rest = ["<details>", "</details>", "<summary>", "</summary>"]
                        .iter()
                        .fold(html.to_string(), |rest, tag| rest.replace(tag, ""));
                    prop_assert!(!rest.contains('<'), "{}", html);
                }
                _ => {}
            }
        }
        prop_assert_eq!(folded, 0);
    }
}

#[test]
fn invalid_utf8_in_a_recorded_report_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(fixture("pass").join(report::DATA_FILE)).unwrap();
    let at = bytes
        .windows(11)
        .position(|window| window == b"small-loade")
        .unwrap();
    bytes[at] = 0xff;
    let path = folder.path().join(report::DATA_FILE);
    fs::write(&path, bytes).unwrap();
    let read = report::read(&path).unwrap();
    assert!(
        read.scenarios
            .iter()
            .any(|scenario| scenario.id == "\u{fffd}mall-loader")
    );
}

#[test]
fn ten_thousand_tests_and_thirty_scenarios_render_fast_and_small() {
    let folder = tempfile::tempdir().unwrap();
    let report = large(
        recorded("regression"),
        folder.path(),
        &"AssertionError: Tensor-likes are not close!\n".repeat(40),
    );
    // an unoptimised build has no speed to keep
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
    let (mut all, mut html) = (Duration::ZERO, String::new());
    for format in FORMATS {
        let begin = Instant::now();
        let text = report::render(&report, folder.path(), format).unwrap();
        let took = begin.elapsed();
        println!(
            "{format:?}: {} bytes in {} ms",
            text.len(),
            took.as_millis()
        );
        all += took;
        assert!(
            text.len() < 5_000_000 || format == Format::Json,
            "{format:?}: {} bytes",
            text.len()
        );
        match format {
            Format::Html => html = text,
            Format::Markdown => assert!(text.chars().count() <= 65_536),
            _ => {}
        }
    }
    assert!(all < limit, "{all:?}");
    assert_eq!(html.matches("<svg").count(), 30);
    assert!(html.contains("operator_9999_"));
}

#[test]
fn a_line_of_ten_megabytes_says_how_much_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = recorded("regression");
    let long = format!("begins {} ends", "\u{1b}[31m<&|`@é".repeat(800_000));
    report.reasons.insert(
        0,
        Reason {
            verdict: Verdict::Regression,
            subject: long.clone(),
            text: long.clone(),
        },
    );
    report.notes.push(long.clone());
    report.scenarios[0].patched.faults = vec![Fault {
        kind: long.clone(),
        count: 1,
        detail: long.clone(),
        bytes: 0,
    }];
    report.scenarios[0].id = long.clone();
    report.scenarios[0].relative.text = long.clone();
    let changes = &mut report.tests.as_mut().unwrap().changes;
    changes[1].id = long.clone();
    changes[1].excerpt = long;
    for format in FORMATS {
        let text = report::render(&report, folder.path(), format).unwrap();
        assert!(
            text.len() < 1_000_000 || format == Format::Json,
            "{format:?}: {}",
            text.len()
        );
        assert!(
            text.contains("MiB cut]") || text.contains("MiB cut\\]"),
            "{format:?}"
        );
        if format == Format::Markdown {
            assert!(text.chars().count() <= 65_536);
        }
    }
}

#[test]
fn the_schema_describes_every_field_of_a_report_and_nothing_else() {
    let mut schema: Value = serde_json::from_str(report::JSON_SCHEMA).unwrap();
    close(&mut schema);
    let mut compiler = boon::Compiler::new();
    let mut schemas = boon::Schemas::new();
    compiler.add_resource("umpatch.json", schema).unwrap();
    let compiled = compiler.compile("umpatch.json", &mut schemas).unwrap();
    for name in ["pass", "regression"] {
        let document: Value = serde_json::from_str(&rendered(name, Format::Json)).unwrap();
        if let Err(error) = schemas.validate(&document, compiled) {
            panic!("{name}: {error:#}");
        }
        for (path, wrong) in [
            ("/verdict", json!("good")),
            ("/scenarios/0/baseline/peak_bytes", json!(-1)),
            ("/scenarios/0/relative/state", json!("worse")),
            ("/fingerprint", json!({})),
            ("/exit_code", json!(7)),
        ] {
            let mut broken = document.clone();
            *broken.pointer_mut(path).unwrap() = wrong;
            assert!(schemas.validate(&broken, compiled).is_err(), "{path}");
        }
    }
}

/// Forbids fields that the schema does not name, so that a field added to the document has to be described.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.remove("$id");
            fields.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn json_round_trips() {
    for name in ["pass", "regression"] {
        let again: Report = serde_json::from_str(&rendered(name, Format::Json)).unwrap();
        assert_eq!(again, recorded(name));
    }
}

fn umpatch() -> Command {
    let mut command = Command::cargo_bin("umpatch").unwrap();
    command.env_clear().env("UMPATCH_CACHE", "/nonexistent");
    command
}

/// A run folder that can be written to, as `runs/NAME` of a cache.
fn run_in(cache: &Path, name: &str) -> PathBuf {
    let folder = cache.join("runs").join(name);
    fs::create_dir_all(folder.join("curves")).unwrap();
    for file in walkdir::WalkDir::new(fixture(name)) {
        let file = file.unwrap();
        if file.file_type().is_file() {
            let relative = file.path().strip_prefix(fixture(name)).unwrap();
            fs::copy(file.path(), folder.join(relative)).unwrap();
        }
    }
    folder
}

#[test]
fn the_command_writes_every_format_into_the_run_folder() {
    let cache = tempfile::tempdir().unwrap();
    let folder = run_in(cache.path(), "regression");
    let output = umpatch().arg("report").arg(&folder).assert().success();
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(
        stdout.trim_end(),
        rendered("regression", Format::Terminal).trim_end()
    );
    for format in FORMATS {
        if let Some(name) = format.file_name() {
            let written = fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(
                written,
                report::render(&recorded("regression"), &folder, format).unwrap()
            );
        }
    }
    let left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn the_command_finds_the_last_run_and_prints_one_format() {
    let cache = tempfile::tempdir().unwrap();
    let old = run_in(cache.path(), "pass").join(report::DATA_FILE);
    let hour = Duration::from_secs(3600);
    fs::File::options()
        .write(true)
        .open(old)
        .unwrap()
        .set_modified(std::time::SystemTime::now() - hour)
        .unwrap();
    run_in(cache.path(), "regression");
    let output = umpatch()
        .env("UMPATCH_CACHE", cache.path())
        .args(["report", "last", "--format", "markdown"])
        .assert()
        .success();
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(
        stdout.trim_end(),
        rendered("regression", Format::Markdown).trim_end()
    );
}

#[test]
fn the_command_writes_to_a_named_file_in_the_format_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    umpatch()
        .arg("report")
        .arg(fixture("pass").join("report.json"))
        .arg("--output")
        .arg(&page)
        .assert()
        .success()
        .stdout("");
    assert_eq!(
        fs::read_to_string(page).unwrap(),
        rendered("pass", Format::Html)
    );
}

#[test]
fn json_is_one_document_with_its_schema() {
    let output = umpatch()
        .args(["--json", "report", "--format", "html"])
        .arg(fixture("pass"))
        .assert()
        .success();
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(document["schema"], "umpatch.report/1");
    assert_eq!(document["report"]["schema"], "umpatch.verify/1");
}

#[test]
fn what_is_no_report_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("report.json");
    for (text, expected) in [
        ("{\"schema\": \"umpatch.verify/2\"}", "umpatch.verify/2"),
        (
            "{\"schema\": \"umpatch.verify/1\"}",
            "is no report of umpatch verify",
        ),
        ("not json", "is no report of umpatch verify"),
    ] {
        fs::write(&broken, text).unwrap();
        umpatch()
            .arg("report")
            .arg(&broken)
            .assert()
            .code(2)
            .stderr(predicates::str::contains(expected))
            .stderr(predicates::str::contains("hint: "));
    }
    for absent in ["last", "/nonexistent/run"] {
        umpatch()
            .args(["report", absent])
            .assert()
            .code(2)
            .stderr(predicates::str::contains("no report at"));
    }
}

#[test]
fn a_run_cut_off_is_rebuilt_from_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let header = json!({
        "at": "2026-01-02T03:04:05Z", "event": "run-start", "schema": "umpatch.journal/1", "umpatch": "0.1.0",
        "fingerprint": {"key": "ab".repeat(32), "parts": {"device": "simulated"}},
        "trust": "simulated", "require_hardware": false, "command": "umpatch verify --suite quick",
    });
    // the machine went down in the middle of a line
    let text = format!("{header}\n{{\"at\": \"2026-01-02T03:04:06Z\", \"event\": \"phase-st");
    fs::write(folder.path().join("journal.ndjson"), text).unwrap();
    let output = umpatch()
        .arg("report")
        .arg(folder.path())
        .assert()
        .success();
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(stdout.contains("in progress or was cut off"), "{stdout}");
    assert!(!stdout.contains("PASS"), "{stdout}");
    let written = report::read(&folder.path().join(report::DATA_FILE)).unwrap();
    assert_eq!(written.state, RunState::Partial);
    assert_eq!(written.command, "umpatch verify --suite quick");
    assert!(folder.path().join("report.html").is_file());
    // tests that only the written report knows are not lost
    let mut with_tests = written;
    with_tests.tests = recorded("regression").tests;
    let text = serde_json::to_string(&with_tests).unwrap();
    fs::write(folder.path().join(report::DATA_FILE), text).unwrap();
    umpatch()
        .arg("report")
        .arg(folder.path())
        .assert()
        .success();
    let again = report::read(&folder.path().join(report::DATA_FILE)).unwrap();
    assert_eq!(again.tests, with_tests.tests);
}
