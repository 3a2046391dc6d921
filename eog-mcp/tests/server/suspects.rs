//! What to check next, beside a cause that may be wrong.

use std::sync::Arc;

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure, Label};
use eog_mcp::server::{Alone, ForRun, Judge, JudgeError, Policies, Server};
use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::json;

use crate::support::{Place, call, client, connect, content, incident};

/// One that names `one` and puts off all others.
#[derive(Clone)]
struct NamesOne;

impl Policies for NamesOne {
    fn name(&self) -> String {
        "names one".to_owned()
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(Alone(self.clone())))
    }
}

impl AbductivePolicy for NamesOne {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        let decision = match packet.entity.as_str() {
            "one" => Decision::new(Label::Origin, "it fails").citing(&packet.context.findings),
            _ => Decision::new(Label::Defer, "nothing is known"),
        };
        Box::pin(async move { Ok(decision.into()) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_cause_that_may_be_wrong_answer_and_report_say_what_to_check_next() {
    let place = Place::new();
    let server = Server::open(place.settings(), Arc::new(NamesOne)).unwrap();
    let (client, _serving) = connect(&server, client()).await;
    let found = content(client.call_tool(call("investigate", incident())).await);
    assert_eq!(found["confidence"], "likely", "{found}");
    assert_eq!(found["origins"][0]["entities"][0]["entity"], "one", "{found}");
    let predicted = found["predictions"][0].as_str().unwrap();
    assert!(predicted.starts_with("If one is the cause, "), "{found}");
    let unknown =
        |entity| json!({ "entity": entity, "label": "defer", "summary": "nothing is known" });
    assert_eq!(found["next_suspects"], json!([unknown("three"), unknown("two")]), "{found}");
    let address = found["resources"]["report"].as_str().unwrap();
    let read = client.read_resource(ReadResourceRequestParams::new(address)).await.unwrap();
    let [ResourceContents::TextResourceContents { text, .. }] = &read.contents[..] else {
        panic!("{read:?}");
    };
    let below = text.split("Next suspects").nth(1).unwrap_or_default();
    let mut below = below.lines().skip(1).filter(|line| !line.is_empty());
    let line = below.next().unwrap();
    assert!(
        line.starts_with("1. three (score ") && line.ends_with("): nothing is known"),
        "{text}"
    );
    let line = below.next().unwrap();
    assert!(line.starts_with("2. two (score ") && line.ends_with("): nothing is known"), "{text}");
}
