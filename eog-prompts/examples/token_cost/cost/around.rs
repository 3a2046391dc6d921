//! The questions before and after the exploration: window, events, changes, seeds (B.5), and the report
//! (B.7). Prompts alone are counted.

use std::sync::Arc;

use eog_core::ledger::RecordedAnswer;
use eog_core::{Anomaly, Config, EntityId, Finding};
use eog_evidence::open_case;
use eog_prompts::{ChatModel, ChatRequest, Finalizer, MockModel, Opening, Prompter, Reply};
use eog_testkit::try_run;
use serde::Serialize;
use serde_json::{Value, json};

use super::exchange::{Cost, Exchanges};
use super::incidents::Incident;
use super::run::TOKENIZER;
use super::{Failed, instructions, literal};

/// How many events or changes the paper's manner shows on a page: as many as ours does.
const PAGE_ITEMS: usize = 100;

/// How many it keeps of a page: as many as ours may.
const KEPT: usize = 15;

/// What the questions around an exploration take: the paper's manner, and ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// Window, events, changes, seeds; nothing for incidents that are given with their seeds.
    pub(crate) opening: Option<[Cost; 2]>,
    /// The report.
    pub(crate) report: [Cost; 2],
}

/// Asks the questions around an exploration.
pub(crate) fn around(incident: &Incident) -> Result<Around, Failed> {
    let opening = match &incident.source {
        Some(source) => Some([opening_literal(source)?, opening_ours(incident, source)?]),
        None => None,
    };
    Ok(Around { opening, report: [report_literal(incident)?, report_ours(incident)?] })
}

fn opening_literal(source: &eog_evidence::Incident) -> Result<Cost, Failed> {
    let exchanges = Exchanges::new(TOKENIZER);
    let alerts = serde_json::to_string_pretty(&source.anomalies)?;
    let edges: Vec<Value> = (source.topology.edges())
        .map(|edge| json!({ "source": edge.source, "relation": edge.relation, "target": edge.target }))
        .collect();
    let architecture = serde_json::to_string(&edges)?;
    let window = [("alerts", alerts.as_str()), ("architecture", architecture.as_str())];
    exchanges.note(&literal::asking(instructions::WINDOW, &window), "");
    let case = open_case(source, None)?;
    let alerts = serde_json::to_string_pretty(&case.anomalies)?;
    let filter = |instructions, findings: Vec<&Finding>| -> Result<Vec<Finding>, Failed> {
        let mut kept = Vec::new();
        for page in findings.chunks(PAGE_ITEMS) {
            let items = serde_json::to_string_pretty(page)?;
            let parts = [("alerts", alerts.as_str()), ("items", items.as_str())];
            exchanges.note(&literal::asking(instructions, &parts), "");
            kept.extend(page.iter().take(KEPT).map(|finding| (*finding).clone()));
        }
        Ok(kept)
    };
    let inside = |finding: &&Finding| case.window.contains(finding.time.start());
    let before_end = |finding: &&Finding| finding.time.start() < case.window.end();
    let events = filter(instructions::EVENTS, source.failures.iter().filter(inside).collect())?;
    let changes =
        filter(instructions::CHANGES, source.changes.iter().filter(before_end).collect())?;
    let events = serde_json::to_string_pretty(&events)?;
    let changes = serde_json::to_string_pretty(&changes)?;
    let parts = [("alerts", alerts.as_str()), ("events", &events), ("spec_changes", &changes)];
    exchanges.note(&literal::asking(instructions::BOOTSTRAP, &parts), "");
    Ok(exchanges.cost())
}

fn opening_ours(incident: &Incident, source: &eog_evidence::Incident) -> Result<Cost, Failed> {
    let copy = source.clone();
    let model = MockModel::new("mock/opener")
        .answering(move |request| Some(Reply::from(opened(request, &copy)?)));
    let model = Arc::new(model);
    let chain = vec![Arc::clone(&model) as Arc<dyn ChatModel>];
    let prompter = Prompter::new(Arc::new(incident.pack.clone()), chain);
    let opening = Opening::new(Arc::new(prompter));
    let opened = tokio::runtime::Builder::new_current_thread()
        .build()?
        .block_on(opening.open(source, None))?;
    if let Some(fallback) = opened.fallbacks.first() {
        let (name, phase, reason) = (&incident.name, fallback.phase, &fallback.reason);
        return Err(format!("{name}: {phase} was not answered: {reason}").into());
    }
    Ok(counted(&model.requests()))
}

/// Answers that are taken: the window that the rules choose, the first lines, the first alert.
fn opened(request: &ChatRequest, source: &eog_evidence::Incident) -> Option<Value> {
    let text = &request.messages.get(1)?.text;
    let (_, alerts) = text.split_once("<data alerts>\n")?;
    let anchor = alerts.lines().find(|line| line.contains('*')).or(alerts.lines().next())?;
    let number = anchor.split([' ', '*']).next()?;
    match request.phase.as_str() {
        "select_investigation_window" => {
            let window = open_case(source, None).ok()?.window;
            Some(json!({
                "anchors": [number], "start": window.start().to_string(),
                "end": window.end().to_string(), "reasoning": "the alerts begin",
            }))
        }
        "bootstrap" => {
            let is_named =
                |alert: &&Anomaly| anchor.split(' ').any(|word| word == alert.entity.as_str());
            let entity = &source.anomalies.iter().find(is_named)?.entity;
            let candidate = json!({
                "entity": entity, "strength": "alert_alone", "evidence": [], "explains": [number],
                "reason": "it alerts",
            });
            Some(json!({ "candidates": [candidate], "ignored": [], "reasoning": "it alerts" }))
        }
        _ => {
            let shown = text.lines().filter(|line| line.starts_with('[')).count();
            let kept = shown.min(KEPT);
            let relevant: Vec<Value> =
                (1..=kept).map(|number| json!({ "number": number, "part": "context" })).collect();
            Some(json!({ "relevant": relevant, "total_relevant": kept, "reasoning": "the first" }))
        }
    }
}

fn counted(requests: &[ChatRequest]) -> Cost {
    let exchanges = Exchanges::new(TOKENIZER);
    requests.iter().for_each(|request| exchanges.note(request, ""));
    exchanges.cost()
}

/// The paper gives graph, frontier and the whole ledger to the last question.
fn report_literal(incident: &Incident) -> Result<Cost, Failed> {
    #[derive(Serialize)]
    struct Step<'l> {
        entity: &'l EntityId,
        answer: &'l RecordedAnswer,
    }
    let ended = finished(incident, Config::paper())?;
    let steps: Vec<Step<'_>> = (ended.ledger().evaluations())
        .map(|evaluation| Step { entity: &evaluation.entity, answer: &evaluation.answer })
        .collect();
    let controller = &ended.machine;
    let beliefs: Vec<Value> = (controller.beliefs())
        .map(|(entity, belief)| json!({ "entity": entity, "belief": belief }))
        .collect();
    let (graph, frontier, ledger, alerts) = (
        serde_json::to_string(&beliefs)?,
        serde_json::to_string(&ended.conclusion().frontier)?,
        serde_json::to_string(&steps)?,
        serde_json::to_string(controller.anomalies())?,
    );
    let parts = [
        ("graph", graph.as_str()),
        ("frontier", &frontier),
        ("ledger", &ledger),
        ("alerts", &alerts),
    ];
    Ok(counted(&[literal::asking(instructions::FINALIZE, &parts)]))
}

fn report_ours(incident: &Incident) -> Result<Cost, Failed> {
    let ended = finished(incident, Config::default())?;
    let chain = vec![Arc::new(MockModel::new("mock/writer")) as Arc<dyn ChatModel>];
    let prompter = Prompter::new(Arc::new(incident.pack.clone()), chain);
    let request = Finalizer::new(prompter).prompt(&ended.diagnosis())?;
    Ok(counted(&[request]))
}

fn finished(incident: &Incident, config: Config) -> Result<eog::Finished, Failed> {
    let last_onset = incident.last_onset();
    let policy = eog_testkit::try_policy_fn(|packet| incident.judge.decide(packet, last_onset));
    Ok(try_run(config, incident.case.clone(), &incident.contract, &policy)?)
}
