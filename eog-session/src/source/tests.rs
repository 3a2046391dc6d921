use std::path::Path;

use eog_sre::tools::{BundleToolbox, ToolError, ToolInfo, tools};
use serde_json::json;

use super::*;

/// The shipped example.
fn flash_sale() -> Opened {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    open_folder(&folder, &ReadOptions::default()).unwrap()
}

/// Questions to a tool that bundles answer. Together they bring whatever an answer may leave out.
fn questions(tool: &str) -> Vec<Value> {
    let database = || json!({"entity": "database"});
    match tool {
        "get_context_contract" => vec![database(), json!({"entity": "gateway", "page": 2})],
        "metric_analysis" => vec![
            json!({}),
            json!({"group_by": "entity", "aggregates": "mean,p95", "bucket": "10m"}),
        ],
        "get_metric_anomalies" => vec![
            json!({"sort": "onset"}),
            json!({"window": "2026-03-20T12:00:00Z/2026-03-20T12:10:00Z", "entity": "database"}),
        ],
        "build_topology" => vec![json!({}), json!({"counts_only": true}), json!({"limit": 1})],
        "topology_analysis" => {
            vec![database(), json!({"entity": "database", "mode": "callers", "limit": 1})]
        }
        "log_analysis" => vec![json!({}), json!({"severity": "fatal,no level", "limit": 1})],
        _ => vec![
            json!({}),
            json!({"limit": 1}),
            json!({"group_by": "entity", "window": "2026-03-20T00:00:00Z/"}),
        ],
    }
}

/// In what an answer differs from what its tool says of it.
fn wrong(info: &ToolInfo, answer: &Value) -> Vec<String> {
    let schema = jsonschema::validator_for(&info.answer_schema()).unwrap();
    let describe = |error: jsonschema::ValidationError<'_>| {
        format!("{}: {}: {error}", info.name, error.instance_path())
    };
    schema.iter_errors(answer).map(describe).collect()
}

#[test]
fn what_a_bundle_answers_has_the_form_of_the_tool() {
    let bundle = flash_sale();
    let mut answered = 0;
    for info in tools() {
        if BundleToolbox::arguments(info.name).is_none() {
            let refused = bundle.ask(info.name, json!({})).unwrap_err();
            assert!(
                matches!(&refused, AskError::Tool(ToolError::OfSnapshots { tool, .. }) if tool == info.name),
                "{refused}"
            );
            continue;
        }
        answered += 1;
        for question in questions(info.name) {
            let text = bundle.ask(info.name, question.clone());
            let text = text.unwrap_or_else(|error| panic!("{} {question}: {error}", info.name));
            let mut answer: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(wrong(info, &answer), Vec::<String>::new(), "{question}: {text}");
            // The form says something: without its first member it is another.
            let members = answer.as_object_mut().unwrap();
            let required = info.answer_schema()["required"][0].as_str().unwrap().to_owned();
            assert!(members.remove(&required).is_some(), "{}: {required}", info.name);
            assert_ne!(wrong(info, &answer), Vec::<String>::new(), "{}", info.name);
        }
    }
    assert_eq!(answered, 9);
}

#[test]
fn what_wraps_a_bundle_answers_as_it_does() {
    let later = Later::new(flash_sale()).unwrap();
    let question = json!({"group_by": "entity,reason"});
    let answer = flash_sale().ask("event_analysis", question.clone()).unwrap();
    assert!(answer.contains("OutOfMemory"), "{answer}");
    assert_eq!(later.ask("event_analysis", question).unwrap(), answer);
    let unknown = later.ask("event_analisys", json!({})).unwrap_err().to_string();
    assert!(unknown.contains("did you mean event_analysis?"), "{unknown}");
}

#[test]
fn who_has_no_tools_says_so() {
    /// Gives contexts alone.
    struct Contexts(Opened);

    impl Source for Contexts {
        fn incident(&self) -> &Incident {
            self.0.incident()
        }

        fn context<'a>(
            &'a self,
            request: &'a ContextRequest,
        ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
            self.0.context(request)
        }
    }

    let refused = Contexts(flash_sale()).ask("event_analysis", json!({})).unwrap_err();
    assert!(matches!(refused, AskError::NoTools), "{refused}");
}
