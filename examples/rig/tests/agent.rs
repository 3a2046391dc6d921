//! An agent of rig that is asked about an incident, and calls eog. The model is rig's mock.

use eog_example_rig::Investigate;
use rig_agent::AgentBuilder;
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use serde_json::json;

/// What an agent says in the end, and what its model was asked last.
async fn ask(turns: impl IntoIterator<Item = MockTurn>) -> (String, String) {
    let model = MockCompletionModel::from_turns(turns);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let agent = AgentBuilder::new(model.clone())
        .preamble("You help whoever is on call.")
        .tool(Investigate::new(examples))
        .default_max_turns(3)
        .build();
    let answer = agent.prompt("What caused the flash sale incident?").await.unwrap();

    let requests = model.requests();
    assert_eq!(requests[0].tools[0].name.as_str(), "investigate");
    let arguments = &requests[0].tools[0].parameters;
    assert_eq!(arguments["required"], json!(["incident"]), "{arguments}");
    let last = serde_json::to_string(&requests.last().unwrap().chat_history).unwrap();
    (answer.output(), last)
}

fn investigate(incident: &str) -> MockTurn {
    MockTurn::tool_call("call-1", "investigate", json!({ "incident": incident }))
}

#[tokio::test]
async fn an_agent_gets_the_causes_and_their_evidence() {
    let answer = "The frontend's deployment.";
    let (said, asked) = ask([investigate("flash-sale"), MockTurn::text(answer)]).await;
    assert!(said.contains(answer), "{said}");
    assert!(asked.contains("confirmed: frontend"), "{asked}");
    assert!(asked.contains("chg-"), "a change is cited by its id: {asked}");
}

#[tokio::test]
async fn a_wrong_name_is_told_so_that_the_model_can_mend_it() {
    let turns = [investigate("../flash-sale"), MockTurn::text("I cannot read it.")];
    let (_, asked) = ask(turns).await;
    assert!(asked.contains("letters, digits, - and _ alone"), "{asked}");
    let turns = [investigate("no-such-thing"), MockTurn::text("There is none.")];
    let (_, asked) = ask(turns).await;
    assert!(asked.contains("no-such-thing"), "{asked}");
}
