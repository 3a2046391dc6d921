//! Evidence that a person supplies.

use std::sync::{Arc, Mutex};

use rmcp::ClientLifecycleMode;
use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleClient};
use rmcp::{ClientServiceExt, model::CallToolResult, service::ServiceError};
use serde_json::{Value, json};

use crate::support::{EVALUATIONS, Held, Place, call, client, connect, content, serve};

/// A person who knows about entity `two` alone, declines to speak of `one`, and leaves the field
/// for `three` empty.
#[derive(Clone, Default)]
struct Person {
    asked: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let able = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(able, Implementation::new("person", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            panic!("no form");
        };
        let entity = ["one", "two", "three"]
            .into_iter()
            .find(|entity| message.contains(&format!("evidence on {entity} ")))
            .unwrap();
        self.asked.lock().unwrap().push(entity.to_owned());
        Ok(match entity {
            "two" => {
                let text = "disk was full, password=hunter2secret";
                ElicitResult::new(ElicitationAction::Accept).with_content(json!({"evidence": text}))
            }
            "three" => {
                ElicitResult::new(ElicitationAction::Accept).with_content(json!({"evidence": " "}))
            }
            _ => ElicitResult::new(ElicitationAction::Decline),
        })
    }
}

fn asking() -> Value {
    json!({"path": "incident", "ask": true})
}

/// What must come of it, however the person was asked.
async fn check(
    person: &Person,
    place: &Place,
    held: &Held,
    result: Result<CallToolResult, ServiceError>,
) {
    let mut asked = person.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["one", "three", "two"], "each is asked about once");
    let answer = content(result);
    assert_eq!(answer["without_evidence"], json!(["one", "three"]));
    // Once each and twice more, since no alert is explained; then entity two as often again.
    assert_eq!(answer["evaluations"], EVALUATIONS + 3, "entity two was judged again: {answer}");
    let ledger = std::fs::read_to_string(place.stored("inv-000001").join("ledger.jsonl")).unwrap();
    assert!(ledger.contains(r#""new_evidence":"two""#), "{ledger}");
    assert!(ledger.contains("said: disk was full") && ledger.contains(r#""source":"remark""#));
    assert!(!ledger.contains("hunter2secret"), "secrets are masked");

    // What was supplied is part of the investigation, and is not asked for again.
    let (again, _serving) = connect(&place.server(held), person.clone()).await;
    let id = json!({"investigation": "inv-000001", "ask": true});
    let resumed = content(again.call_tool(call("resume", id)).await);
    assert_eq!(resumed["without_evidence"], json!(["one", "three"]));
    assert_eq!(person.asked.lock().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_session_is_asked_in_the_call() {
    let (place, held, person) = (Place::new(), Held::free(), Person::default());
    let (client, _serving) = connect(&place.server(&held), person.clone()).await;
    let result = client.call_tool(call("investigate", asking())).await;
    check(&person, &place, &held, result).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_session_comes_back_with_the_answers() {
    let (place, held, person) = (Place::new(), Held::free(), Person::default());
    let (theirs, _serving) = serve(&place.server(&held));
    let mode =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = person.clone().serve_with_lifecycle(theirs, mode).await.unwrap();
    let result = client.call_tool(call("investigate", asking())).await;
    check(&person, &place, &held, result).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_cannot_or_need_not_ask_is_not_asked() {
    let (place, held, person) = (Place::new(), Held::free(), Person::default());
    let server = place.server(&held);
    let (asked, _serving) = connect(&server, person.clone()).await;
    content(asked.call_tool(call("investigate", crate::support::incident())).await);
    assert!(person.asked.lock().unwrap().is_empty());
    let (mute, _serving) = connect(&server, client()).await;
    let answer = content(mute.call_tool(call("investigate", asking())).await);
    assert_eq!(answer["without_evidence"], json!(["one", "three", "two"]));
}

/// A client comes back with answers about what it was never asked, under an id that it made up.
#[tokio::test(flavor = "multi_thread")]
async fn answers_to_nothing_are_refused() {
    let (place, held) = (Place::new(), Held::free());
    let (client, _serving) = connect(&place.server(&held), client()).await;
    let mut request = call("investigate", asking());
    request.request_state = Some("../../etc".to_owned());
    let refused = client.call_tool(request).await.unwrap();
    assert_eq!(refused.is_error, Some(true));
    assert!(crate::support::text(&refused).contains("there is no investigation"), "{refused:?}");

    content(client.call_tool(call("investigate", crate::support::incident())).await);
    let mut request = call("investigate", asking());
    request.request_state = Some("inv-000001".to_owned());
    let answer = json!({"action": "accept", "content": {"evidence": "made up"}});
    request.input_responses = Some([("another".to_owned(), answer)].into_iter().collect());
    let answer = content(client.call_tool(request).await);
    assert_eq!(answer["evaluations"], EVALUATIONS, "nothing is new: {answer}");
    assert!(!place.stored("inv-000001").join("people.json").exists());
}

/// A person speaks without being asked: before an investigation, and after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_says_unasked_reaches_the_policy() {
    let (place, held) = (Place::new(), Held::free());
    let (client, _serving) = connect(&place.server(&held), client()).await;
    let text = "checked it, password=hunter2secret";
    let said = json!([{"entity": "two", "verdict": "not_cause", "text": text}]);
    let arguments = json!({"path": "incident", "said": said});
    content(client.call_tool(call("investigate", arguments)).await);
    let ledger =
        || std::fs::read_to_string(place.stored("inv-000001").join("ledger.jsonl")).unwrap();
    assert!(ledger().contains("said: checked it") && ledger().contains(r#""source":"person""#));
    assert!(!ledger().contains("hunter2secret"), "secrets are masked");
    assert!(!ledger().contains(r#""source":"remark""#));

    let said = json!([{"entity": "one", "text": "it was restarted by hand"}]);
    let arguments = json!({"investigation": "inv-000001", "said": said});
    content(client.call_tool(call("resume", arguments)).await);
    assert!(ledger().contains(r#""new_evidence":"one""#), "{}", ledger());
    assert!(ledger().contains(r#""source":"remark""#));

    let wrong = [
        json!([{"entity": "two"}]),
        json!([{"entity": "two", "verdict": "maybe"}]),
        json!([{"entity": "two", "text": "a"}, {"entity": "two", "text": "b"}]),
    ];
    for said in wrong {
        let arguments = json!({"path": "incident", "said": said});
        let refused = client.call_tool(call("investigate", arguments)).await.unwrap();
        assert_eq!(refused.is_error, Some(true), "{said}");
    }
}
