//! What several tests of prompts need: shipped incidents, packets of them, and prompts of a pack.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::sync::Arc;

use eog_core::{Case, ContextPacket, ContextRequest, EntityId, Message};
use eog_evidence::{Bundle, BundleContext, open_case};
use eog_prompts::{ChatModel, ChatRequest, LlmPolicy, MockModel, Pack, Prompter, Role};

/// A shipped incident.
pub(crate) fn shipped(name: &str) -> (Case, BundleContext) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    let bundle = Bundle::read(&folder).unwrap();
    let case = open_case(&bundle.incident(), None).unwrap();
    (case, BundleContext::new(bundle))
}

/// The packet of one entity of a shipped incident on its second visit.
pub(crate) fn packet_of(
    case: &Case,
    context: &BundleContext,
    name: &str,
    inbox: Vec<Message>,
) -> ContextPacket {
    let entity = EntityId::new(name).unwrap();
    let request = ContextRequest {
        entity: entity.clone(),
        window: case.window,
        page: 1,
        visit: 2,
        changed_neighbours: [].into(),
        query: None,
    };
    ContextPacket {
        context: context.local_context(&request),
        neighbours: case.topology.neighbours(&entity),
        entity,
        window: case.window,
        inbox,
        anomalies: Vec::new(),
        notice: None,
        former: None,
        hints: Vec::new(),
        quoted: Vec::new(),
        reach: None,
        case_file: None,
        queries_left: 0,
    }
}

/// A policy with this pack that asks one model.
pub(crate) fn policy(pack: Pack, model: &Arc<MockModel>) -> LlmPolicy {
    let model = Arc::clone(model) as Arc<dyn ChatModel>;
    LlmPolicy::new(Prompter::new(Arc::new(pack), vec![model]))
}

/// A request as a reader sees it.
pub(crate) fn shown(request: &ChatRequest) -> String {
    let messages = request.messages.iter().map(|message| {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        format!("=== {role} ===\n{}\n", message.text)
    });
    messages.collect()
}

/// The entity that an explore prompt asks about.
pub(crate) fn subject(request: &ChatRequest) -> &str {
    let line = request.messages[1].text.lines().find_map(|line| line.strip_prefix("# Entity: "));
    line.unwrap_or_default()
}

/// The number of the first piece of evidence whose line has this text.
pub(crate) fn number(request: &ChatRequest, text: &str) -> Option<u32> {
    let lines = request.messages[1].text.lines();
    let mut numbered = lines.filter_map(|line| line.strip_prefix('[')?.split_once("] "));
    let (number, _) = numbered.find(|(_, line)| line.contains(text))?;
    number.parse().ok()
}
