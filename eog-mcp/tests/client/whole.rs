//! Whole investigations with evidence from another process.

use std::path::PathBuf;
use std::sync::Arc;

use eog::{Config, Engine, Finished};
use eog_core::ContextContract;
use eog_core::contract::FailureKind;
use eog_core::controller::EntryBody;
use eog_core::ledger::RecordedAnswer;
use eog_evidence::{EvidencePolicy, Incident, open_case};
use eog_mcp::client::{McpConfig, McpContext, McpSource};
use eog_sre::tools::Toolbox;
use eog_sre::{ReadOptions, Snapshot};

use crate::misbehaving::Scripted;
use crate::support::{open, program, quoted, repository};

/// A source whose server gives whole contexts, and what else the request says.
fn direct(arguments: &[String]) -> String {
    format!(
        "[context]\nserver = 'own'\ntool = 'get_context'\n[context.arguments]\n\
         entity_id = '{{entity}}'\nstart_time = '{{start}}'\nend_time = '{{end}}'\n\
         page = '{{page}}'\nvisit = '{{visit}}'\nchanged_neighbours = '{{changed_neighbours}}'\n{}",
        server(arguments)
    )
}

fn server(arguments: &[String]) -> String {
    format!(
        "[servers.own]\ncommand = {}\nargs = [{}]\nstartup_seconds = 300\n",
        quoted(program("context-server")),
        arguments.join(", ")
    )
}

pub(crate) async fn investigate(incident: &Incident, contract: impl ContextContract) -> Finished {
    let case = open_case(incident, None).unwrap();
    Engine::new(contract, EvidencePolicy::default()).investigate(Config::default(), case).await
}

async fn context(text: &str, incident: &Incident) -> McpContext {
    let config = McpConfig::parse(text, "test.toml".as_ref()).unwrap();
    McpSource::context(config, incident).await.unwrap()
}

#[tokio::test]
async fn an_investigation_goes_on_when_its_server_dies() {
    let server = Scripted::new("");
    let alerts = ["cart", "other"].map(|entity| {
        serde_json::json!({"name": "ErrorRate", "entity": entity, "signal": "errors",
            "onset": "2026-01-01T10:04:00Z"})
    });
    let manifest = serde_json::json!({"format": "eog-bundle", "version": 1, "name": "two alerts",
        "topology": {"entities": ["cart", "other"], "edges": []}});
    let bundle = tempfile::tempdir().unwrap();
    std::fs::write(bundle.path().join("bundle.json"), manifest.to_string()).unwrap();
    std::fs::write(bundle.path().join("alerts.json"), serde_json::json!(alerts).to_string())
        .unwrap();
    let text = format!("bundle = {}\n{}", quoted(bundle.path()), server.config("dies", ""));

    let (incident, contract) = open(&text).await.unwrap();
    let finished = investigate(&incident, contract).await;
    let answers = |entity: &str| {
        let entries = finished.ledger().entries().iter();
        let evaluations = entries.filter_map(|entry| match &entry.body {
            EntryBody::Evaluated(evaluation) => Some(evaluation),
            _ => None,
        });
        let own = evaluations.filter(|evaluation| evaluation.entity.as_str() == entity);
        own.map(|evaluation| evaluation.answer.clone()).collect::<Vec<_>>()
    };
    // Its alert stays unexplained, so it is tried twice more before the end, and no oftener.
    let failed = answers("cart");
    assert_eq!(failed.len(), 3, "{failed:?}");
    for answer in &failed {
        let RecordedAnswer::Failed(failure) = answer else { panic!("answered: {answer:?}") };
        assert_eq!(failure.kind, FailureKind::ContextFailed);
        assert!(failure.message.contains("exit status: 3"), "{failure}");
        assert!(failure.message.contains("password=[masked] refused by the database"), "{failure}");
    }
    let judged = answers("other");
    assert!(!judged.is_empty(), "not judged");
    for answer in &judged {
        let RecordedAnswer::Decided(decision) = answer else { panic!("not judged: {answer:?}") };
        assert!(!decision.evidence.is_empty(), "{decision:?}");
    }
}

/// A real recording and its architecture, where there is one beside the checkout.
fn recording() -> Option<(PathBuf, PathBuf)> {
    let data = repository().join("../shared/data/itbench");
    let data = std::env::var_os("EOG_RECORDINGS").map_or(data, PathBuf::from);
    let found = (data.join("scenario-2-partial"), data.join("architecture.json"));
    if found.0.is_dir() && found.1.is_file() {
        return Some(found);
    }
    eprintln!("skipped: no recording at {}", data.display());
    None
}

#[tokio::test]
async fn a_real_recording_over_mcp_gives_the_same_conclusions() {
    let Some((snapshot, architecture)) = recording() else { return };
    let options =
        ReadOptions { architecture: Some(architecture.clone()), ..ReadOptions::default() };
    let toolbox = Toolbox::new(Arc::new(Snapshot::open(&snapshot, &options).unwrap()));
    let incident = toolbox.snapshot().incident(toolbox.graph());
    let here = investigate(&incident, toolbox.context()).await;
    assert!(!here.conclusion().frontier.is_empty());

    // A server that gives all that the contract is asked for: the same to the byte.
    let arguments = ["'context'".to_owned(), quoted(&snapshot), quoted(&architecture)];
    let contract = context(&direct(&arguments), &incident).await;
    let over_mcp = investigate(&incident, contract).await;
    assert_eq!(over_mcp.ledger().entries(), here.ledger().entries());

    // What `eog mcp serve` offers to agents: its tool does not take the neighbours whose messages
    // are new, so that details of further visits may differ.
    let state = tempfile::tempdir().unwrap();
    let arguments =
        ["'own'".to_owned(), quoted(&snapshot), quoted(state.path()), quoted(&architecture)];
    let text = format!(
        "[context]\nserver = 'own'\ntool = 'get_context_contract'\n[context.arguments]\n\
         entity = '{{entity}}'\nwindow = '{{start}}/{{end}}'\npage = '{{page}}'\n{}\
         call_seconds = 300\n",
        server(&arguments)
    );
    let contract = context(&text, &incident).await;
    let over_mcp = investigate(&incident, contract).await.conclusion();
    let here = here.conclusion();
    assert_eq!(over_mcp.frontier, here.frontier);
    assert_eq!(over_mcp.unexplained, here.unexplained);
    assert_eq!(over_mcp.confidence, here.confidence);
}
