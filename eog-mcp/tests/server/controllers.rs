//! Investigations by another controller than EoG's.

use serde_json::json;

use crate::support::{Held, Place, call, client, connect, content, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_linear_investigation_is_made_resumed_and_compared() {
    let (place, held) = (Place::new(), Held::free());
    let (client, _serving) = connect(&place.server(&held), client()).await;
    let linear = json!({"path": "incident", "controller": "linear"});
    let made = content(client.call_tool(call("investigate", linear.clone())).await);
    assert_eq!((&made["evaluations"], &made["investigation"]), (&json!(3), &json!("inv-000001")));
    let ledger = std::fs::read_to_string(place.stored("inv-000001").join("ledger.jsonl")).unwrap();
    assert!(ledger.lines().next().unwrap().contains("\"linear_opened\""), "{ledger}");

    let first = json!({"investigation": "inv-000001"});
    let resumed = content(client.call_tool(call("resume", first)).await);
    assert_eq!(resumed["evaluations"], json!(3));
    let again = content(client.call_tool(call("investigate", linear)).await);
    assert_eq!(again["investigation"], json!("inv-000002"));
    let both = json!({"first": "inv-000001", "second": "inv-000002"});
    assert_eq!(content(client.call_tool(call("diff", both)).await)["equal"], json!(true));

    let label = json!({"investigation": "inv-000001", "entity": "one"});
    let explained = content(client.call_tool(call("explain", label)).await);
    assert_eq!(explained["evaluations"].as_array().unwrap().len(), 1, "{explained}");
    let unknown = json!({"investigation": "inv-000001", "entity": "on"});
    let paper = json!({"path": "incident", "controller": "linear", "profile": "paper"});
    for (tool, arguments, reason) in [
        ("explain", unknown, "there is no entity on"),
        ("investigate", paper, "profile: has no effect with the controller linear"),
    ] {
        let refused = client.call_tool(call(tool, arguments)).await.unwrap();
        assert_eq!(refused.is_error, Some(true), "{tool}");
        assert!(text(&refused).contains(reason), "{}", text(&refused));
    }
}
