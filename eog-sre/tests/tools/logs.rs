//! `log_analysis`.

use std::collections::BTreeSet;
use std::fs;

use eog_sre::tools::Toolbox;
use serde_json::{Value, json};

use crate::golden::recordings;
use crate::support::Recording;
use crate::{call, opened, refusal};

const TOOL: &str = "log_analysis";

fn mine(toolbox: &Toolbox, arguments: Value) -> Value {
    call(toolbox, TOOL, arguments)
}

/// Each pattern with its number of lines.
fn counts(answer: &Value) -> Vec<(String, u64)> {
    let rows = answer["rows"].as_array().unwrap();
    let row =
        |row: &Value| (row["pattern"].as_str().unwrap().to_owned(), row["lines"].as_u64().unwrap());
    rows.iter().map(row).collect()
}

fn shop() -> Recording {
    let mut recording = Recording::new();
    for at in 0..6 {
        let shelf = ["books", "music", "films", "games", "tools", "plants"][at];
        let clock = format!("10:0{at}:00");
        recording.log(&clock, "ads", "INFO", &format!("offer requested for [{shelf}] today"));
        recording.log(&clock, "cart", "INFO", &format!("order {at} placed"));
    }
    recording.log("10:04:30", "cart", "ERROR", "order 4711 refused: no Answer from \"store\"");
    recording.log("10:05:30", "cart", "WARNING", "order 4712 refused: no answer from \"depot\"");
    recording
}

#[test]
fn lines_that_say_the_same_are_one_pattern() {
    let answer = mine(&opened(&shop()), json!({}));
    assert_eq!(answer["lines"], 14);
    assert_eq!(
        counts(&answer),
        [
            ("offer requested for [<*>] today".to_owned(), 6),
            ("order <*> placed".to_owned(), 6),
            ("order <*> refused: no Answer from <*>".to_owned(), 1),
            ("order <*> refused: no answer from <*>".to_owned(), 1),
        ]
    );
    let offers = &answer["rows"][0];
    assert_eq!(offers["percent"], 42.857);
    assert_eq!(offers["severities"], "info 6");
    assert_eq!(offers["services"], "ads 6");
    assert_eq!(offers["first"], "2026-01-01T10:00:00Z");
    assert_eq!(offers["last"], "2026-01-01T10:05:00Z");
    assert_eq!(offers["example"], "offer requested for [books] today");
}

#[test]
fn errors_are_never_put_together_with_other_lines() {
    let mut recording = Recording::new();
    for severity in ["INFO", "", "ERROR", "FATAL"] {
        recording.log("10:00:00", "cart", severity, "shelf 4711 is empty");
    }
    let answer = mine(&opened(&recording), json!({"columns": "lines,severities"}));
    assert_eq!(
        answer["rows"],
        json!([
            {"lines": 2, "severities": "info 1, unknown 1"},
            {"lines": 2, "severities": "fatal 1, error 1"}
        ])
    );
}

#[test]
fn conditions_pages_and_sorting_apply() {
    let toolbox = opened(&shop());
    let lines = |arguments: Value| mine(&toolbox, arguments)["lines"].as_u64().unwrap();
    let cases = [
        (json!({"severity": "ERROR"}), 1),
        (json!({"severity": "error, warning"}), 2),
        (json!({"service": "cart"}), 8),
        (json!({"service": "c*"}), 8),
        (json!({"entity": "shop/Service/cart"}), 8),
        (json!({"entity": "cart", "severity": ["info"]}), 6),
        (json!({"text": "no answer"}), 2),
        (json!({"text": "nothing of this"}), 0),
        (json!({"filters": {"text": "=~^order [0-9]+ placed$"}}), 6),
        (json!({"filters": {"severity": "!=info", "service": "cart"}}), 2),
        (json!({"window": "2026-01-01T10:05:00Z/"}), 3),
    ];
    for (arguments, expected) in cases {
        assert_eq!(lines(arguments.clone()), expected, "{arguments}");
    }
    let newest = mine(&toolbox, json!({"sort": "-first", "columns": "pattern,lines", "limit": 1}));
    assert_eq!(
        newest["rows"],
        json!([{"pattern": "order <*> refused: no answer from <*>", "lines": 1}])
    );
    assert_eq!(newest["total"], 4);
    assert_eq!(newest["left_out"], "3 more rows; continue with offset 1");
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let toolbox = opened(&shop());
    let cases = [
        (
            json!({"service": "carts"}),
            "service: no line comes from a service \"carts\"; did you mean cart?",
        ),
        (
            json!({"severity": "eror"}),
            "severity: there is no severity \"eror\"; did you mean error?",
        ),
        (
            json!({"filters": {"txt": "x"}}),
            "filters: there is no column \"txt\"; did you mean text?",
        ),
        (json!({"sort": "line"}), "sort: there is no column \"line\"; did you mean lines"),
    ];
    for (arguments, expected) in cases {
        let refused = refusal(&toolbox, TOOL, arguments);
        assert!(refused.starts_with(expected), "{refused}");
    }
    let nothing = mine(&opened(&Recording::new()), json!({}));
    assert_eq!(nothing, json!({"lines": 0, "rows": [], "total": 0, "offset": 0, "limit": 50}));
}

/// The answer of the reference tool to one call.
fn answer_of(number: &str) -> Option<Value> {
    let name = format!("upstream_tool_outputs/{number}_log_analysis.json");
    let file: Value = serde_json::from_slice(&fs::read(recordings()?.join(name)).unwrap()).unwrap();
    let output: Value = serde_json::from_str(file["output"].as_str().unwrap()).unwrap();
    Some(serde_json::from_str(output[0]["text"].as_str().unwrap()).unwrap())
}

fn patterns_of(answer: &Value) -> Vec<Value> {
    answer["patterns"].as_array().unwrap().clone()
}

/// What the reference tool said about one call, as pattern, lines and first line.
fn reference(number: &str) -> Option<Vec<(String, u64, String, String)>> {
    let patterns = patterns_of(&answer_of(number)?);
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let severity = row["example"]["severity"].as_str().unwrap();
        (
            text(&row["pattern"]),
            row["count"].as_u64().unwrap(),
            text(&row["example"]["body"]),
            severity.replace("nan", ""),
        )
    };
    Some(patterns.iter().map(row).collect())
}

/// The first lines that the reference shows, each as often as it says (at most 20 times), with
/// other numbers in them.
fn rewritten(number: &str) -> Option<Recording> {
    let mut recording = Recording::new();
    for (_, count, body, severity) in reference(number)? {
        for copy in 0..count.min(20) {
            let digit = char::from(b'1' + u8::try_from(copy % 9).unwrap());
            let other: String = body
                .trim()
                .chars()
                .map(|c| match c {
                    '\t' | '\n' | '\r' => ' ',
                    '2' => digit,
                    other => other,
                })
                .collect();
            recording.log("10:00:00", "any", &severity, &other);
        }
    }
    Some(recording)
}

#[test]
fn patterns_are_as_many_as_the_reference_finds_or_fewer() {
    // Number of the call, patterns of the reference, ours. Fewer where it keeps lists of ids apart
    // (32).
    for (number, theirs, ours) in [
        ("04", 1, 1),
        ("15", 3, 3),
        ("17", 11, 11),
        ("30", 1, 1),
        ("31", 14, 14),
        ("32", 30, 1),
        ("35", 7, 7),
    ] {
        let Some(recording) = rewritten(number) else { return };
        assert_eq!(reference(number).unwrap().len(), theirs);
        let answer = mine(&opened(&recording), json!({"limit": 0}));
        assert_eq!(answer["total"], ours, "{number}: {:#?}", counts(&answer));
    }
}

/// Every line that the reference shows as an example, once, under its service and severity.
fn shown() -> Option<Recording> {
    let mut recording = Recording::new();
    let mut known = BTreeSet::new();
    for number in ["04", "15", "17", "30", "31", "32", "35"] {
        for row in patterns_of(&answer_of(number)?) {
            let example = &row["example"];
            let text = |name: &str| example[name].as_str().unwrap().replace("nan", "");
            let body = text("body").trim().replace(['\t', '\n', '\r'], " ");
            let line = (text("service"), text("severity"), body);
            if known.insert(line.clone()) {
                recording.log("10:00:00", &line.0, &line.1, &line.2);
            }
        }
    }
    Some(recording)
}

#[test]
fn calls_choose_the_lines_that_the_reference_chooses() {
    // Number of the call, and the call in our words.
    let calls = [
        ("16", json!({"text": "cartFailure"})),
        ("24", json!({"severity": "error"})),
        ("25", json!({"severity": "warning"})),
        ("28", json!({"service": "ad", "text": "error"})),
        ("29", json!({"service": "ad"})),
    ];
    for (number, arguments) in calls {
        let (Some(recording), Some(theirs)) = (shown(), answer_of(number)) else { return };
        let ours = mine(&opened(&recording), arguments);
        let rows = |rows: &[Value], bodies: fn(&Value) -> &Value| {
            let body = |row: &Value| bodies(row).as_str().unwrap().trim().to_owned();
            rows.iter().map(body).collect::<BTreeSet<String>>()
        };
        assert_eq!(
            rows(ours["rows"].as_array().unwrap(), |row| &row["example"]),
            rows(&patterns_of(&theirs), |row| &row["example"]["body"]),
            "{number}"
        );
        let none = theirs["total_count"] == 0;
        assert_eq!(ours["lines"] == 0, none, "{number}");
        // One line of each pattern is at hand.
        assert_eq!(ours["total"], theirs["pattern_count"].as_u64().unwrap_or(0), "{number}");
    }
}

#[test]
fn patterns_read_like_those_of_the_reference() {
    let Some(recording) = rewritten("31") else { return };
    let found = counts(&mine(&opened(&recording), json!({})));
    let wanted = [
        "GetCartAsync called with userId=<*>",
        "AddItemAsync called with userId=<*>, productId=<*>, quantity=<*>",
        "EmptyCartAsync called with userId=<*>",
        "Application is shutting down...",
        "Overriding HTTP_PORTS <*> and HTTPS_PORTS <*>. Binding to values defined by URLS instead <*>.",
    ];
    for pattern in wanted {
        assert!(found.iter().any(|(text, _)| text == pattern), "{pattern} in {found:#?}");
    }
}
