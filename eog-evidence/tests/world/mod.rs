//! A small world of dated findings, and its investigation.

use std::collections::BTreeMap;

use eog_core::evidence::{
    ChangeDetail, EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend,
};
use eog_core::incident::{EffectDirection, Onset};
use eog_core::machine::Inquiry;
use eog_core::{
    AbductivePolicy, Anomaly, Belief, Config, ContextContract, Controller, EntityId, EvidenceId,
    EvidenceKind, Finding, InMemoryContext, Input, Output, Timestamp, Topology,
};
use eog_evidence::{EffectMap, EvidencePolicy, Incident, open_case};

/// Entities, edges, and what is known of them. Names are given a prefix that differs with the seed;
/// what is read back has it taken off.
pub(crate) struct World {
    state: u64,
    start: i64,
    prefix: String,
    topology: Topology,
    findings: Vec<Finding>,
    changes: Vec<Finding>,
    anomalies: Vec<Anomaly>,
    innocent: Vec<EvidenceId>,
}

/// What an investigation ended with, by the names of the test.
pub(crate) struct Ended {
    pub(crate) frontier: Vec<String>,
    pub(crate) beliefs: BTreeMap<String, Belief>,
    pub(crate) innocent: Vec<EvidenceId>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut world = Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed),
            start: 0,
            prefix: String::new(),
            topology: Topology::default(),
            findings: Vec::new(),
            changes: Vec::new(),
            anomalies: Vec::new(),
            innocent: Vec::new(),
        };
        world.start = 1_774_000_800 + world.pick(0, 86_400);
        // Which entity comes first by name must not matter.
        world.prefix = ["", "z", "m", "a"][seed as usize % 4].to_owned();
        world
    }

    /// A number from `least` to `most`, the next one of the seed (`SplitMix64`).
    pub(crate) fn pick(&mut self, least: i64, most: i64) -> i64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let range = (most - least + 1).unsigned_abs();
        least + i64::try_from((mixed ^ (mixed >> 31)) % range).unwrap()
    }

    /// The second at which the trouble starts, of the world's own count.
    pub(crate) fn harm(&self) -> i64 {
        4_000
    }

    /// Two to four workers.
    pub(crate) fn workers(&self) -> Vec<String> {
        (0..2 + self.start % 3).map(|number| format!("worker-{number}")).collect()
    }

    pub(crate) fn calls(&mut self, caller: &str, callee: &str) {
        let (caller, callee) = (self.id(caller), self.id(callee));
        self.topology.connect(&caller, "calls", &callee, EffectDirection::TargetToSource);
    }

    pub(crate) fn affects(&mut self, cause: &str, relation: &str, effect: &str) {
        let (cause, effect) = (self.id(cause), self.id(effect));
        self.topology.connect(&cause, relation, &effect, EffectDirection::SourceToTarget);
    }

    pub(crate) fn change(&mut self, entity: &str, second: i64) -> EvidenceId {
        let mut content = self.content(entity, EvidenceKind::Change, Signal::Configuration, second);
        content.trend = Trend::Steady;
        content.onset = Some(Onset::at(self.at(second)));
        let path = format!("image-{second}");
        content.change = Some(ChangeDetail { path, old: None, new: None });
        let change = Finding::new(content);
        let id = change.id().clone();
        self.changes.push(change.clone());
        self.findings.push(change);
        id
    }

    /// A change that does no harm.
    pub(crate) fn innocent(&mut self, entity: &str, second: i64) {
        let id = self.change(entity, second);
        self.innocent.push(id);
    }

    pub(crate) fn harmed(&mut self, entity: &str, signal: Signal, second: i64) {
        self.measured(entity, signal, Trend::Rising, second);
    }

    pub(crate) fn measured(&mut self, entity: &str, signal: Signal, trend: Trend, second: i64) {
        let mut content = self.content(entity, EvidenceKind::Metric, signal, second);
        content.trend = trend;
        self.findings.push(Finding::new(content));
    }

    pub(crate) fn event(&mut self, entity: &str, signal: Signal, second: i64) {
        let content = self.content(entity, EvidenceKind::Event, signal, second);
        self.findings.push(Finding::new(content));
    }

    pub(crate) fn failing_call(&mut self, caller: &str, callee: &str, signal: Signal, second: i64) {
        let mut content = self.content(caller, EvidenceKind::Span, signal, second);
        content.peer = Some(Peer { entity: self.id(callee), role: PeerRole::Callee });
        self.findings.push(Finding::new(content));
    }

    /// What a caller sees of an entity that tells nothing itself.
    pub(crate) fn failing_for(&mut self, entity: &str, caller: &str, second: i64) {
        let mut content = self.content(entity, EvidenceKind::Span, Signal::Errors, second);
        content.peer = Some(Peer { entity: self.id(caller), role: PeerRole::Caller });
        self.findings.push(Finding::new(content));
    }

    pub(crate) fn called_more(&mut self, entity: &str, caller: &str, second: i64) {
        let mut content = self.content(entity, EvidenceKind::Span, Signal::Traffic, second);
        content.peer = Some(Peer { entity: self.id(caller), role: PeerRole::Caller });
        let unit = "1/s".to_owned();
        content.quantity = Some(Quantity { observed: 90.0, baseline: Some(20.0), unit });
        self.findings.push(Finding::new(content));
    }

    pub(crate) fn alert(&mut self, entity: &str, signal: Signal, second: i64) {
        let mut content = self.content(entity, EvidenceKind::Alert, signal, second);
        content.onset = None;
        self.findings.push(Finding::new(content));
        self.anomalies.push(Anomaly {
            name: format!("{signal:?}"),
            entity: self.id(entity),
            signal,
            onset: self.at(second),
            renewed: vec![],
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        });
    }

    pub(crate) fn investigate(&self) -> Ended {
        let incident = Incident {
            topology: self.topology.clone(),
            anomalies: self.anomalies.clone(),
            changes: self.changes.clone(),
            ..Incident::default()
        };
        let map = EffectMap::new(&self.topology, &self.changes, &self.anomalies);
        let notes = self.topology.entities().flat_map(|entity| map.notes(entity).findings);
        let context: InMemoryContext = self.findings.iter().cloned().chain(notes).collect();
        let case = open_case(&incident, None).unwrap();
        let controller = run(Controller::new(Config::default(), case), &context);
        let bare = |entity: &EntityId| entity.as_str()[self.prefix.len()..].to_owned();
        let groups = controller.conclusion().frontier;
        let mut frontier: Vec<String> =
            groups.iter().flat_map(|group| group.origins.iter().map(bare)).collect();
        frontier.sort();
        let beliefs =
            controller.beliefs().map(|(entity, belief)| (bare(entity), self.bare(belief)));
        Ended { frontier, beliefs: beliefs.collect(), innocent: self.innocent.clone() }
    }

    /// A belief whose summary has the names of the test.
    fn bare(&self, belief: &Belief) -> Belief {
        let mut belief = belief.clone();
        for entity in self.topology.entities() {
            let name = &entity.as_str()[self.prefix.len()..];
            belief.summary = belief.summary.replace(entity.as_str(), name);
        }
        belief
    }

    /// A finding whose beginning is known to within some seconds.
    fn content(
        &mut self,
        entity: &str,
        kind: EvidenceKind,
        signal: Signal,
        second: i64,
    ) -> FindingContent {
        let width = self.pick(0, 1);
        let onset = Onset::between(self.at(second - width), self.at(second));
        FindingContent {
            entity: self.id(entity),
            kind,
            signal,
            trend: Trend::Rising,
            time: EvidenceTime::At(self.at(second)),
            onset: Some(onset),
            quantity: None,
            change: None,
            peer: None,
            source: "world".into(),
            query: String::new(),
            excerpt: format!("{kind:?} {signal:?} on {entity} from {second}"),
        }
    }

    fn id(&self, name: &str) -> EntityId {
        EntityId::new(format!("{}{name}", self.prefix)).unwrap()
    }

    fn at(&self, second: i64) -> Timestamp {
        Timestamp::from_second(self.start + second).unwrap()
    }
}

/// Drives a controller to its end.
fn run(mut controller: Controller, context: &InMemoryContext) -> Controller {
    let policy = EvidencePolicy::default();
    loop {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                Input::context(ticket, now(context.get_context(&request)).unwrap())
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                let answer = now(policy.decide(&packet)).unwrap();
                Input::decision(ticket, answer.decision, answer.usage)
            }
            Output::Done(_) => return controller,
            other => panic!("a sequential run never waits: {other:?}"),
        };
        controller.handle(input).unwrap();
    }
}

/// The answer of a future that is ready at once.
fn now<T>(mut future: eog_core::BoxFuture<'_, T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("memory and policy answer at once"),
    }
}
