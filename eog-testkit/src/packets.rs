//! Packets of a test, to ask a policy about one situation without an engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog::contract::{FormerBelief, Hint, Reach, Route};
use eog::incident::{CaseFile, Direction, Neighbour};
use eog::{
    Belief, Claim, ContextPacket, EntityId, Finding, Label, LocalContext, Message, Topology, Window,
};

use crate::names::{entity, hour};

/// A belief without evidence or claims, as the content of a message. Its fields are public.
///
/// ```
/// use eog::Label;
/// assert_eq!(eog_testkit::belief(Label::Origin, "it ran out of memory").label, Label::Origin);
/// ```
pub fn belief(label: Label, summary: &str) -> Belief {
    Belief::new(label, summary)
}

/// Begins the packet of an entity: no evidence, no neighbours, an empty inbox, the window of
/// [`hour`](crate::hour).
///
/// # Panics
/// When a name is not valid; the methods likewise.
///
/// ```
/// use eog::Label;
/// use eog::evidence::Signal;
/// use eog_testkit::{finding, packet};
/// let packet = packet("S4")
///     .finding(finding("S4").signal(Signal::Exhaustion))
///     .caller("S3")
///     .message("S3", Label::Symptom, "time-outs when calling S4")
///     .build();
/// assert_eq!(packet.neighbours[0].entity, packet.inbox[0].sender);
/// ```
#[track_caller]
pub fn packet(name: &str) -> PacketBuilder {
    PacketBuilder {
        entity: entity(name),
        window: hour(),
        context: LocalContext::default(),
        neighbours: Vec::new(),
        inbox: BTreeMap::new(),
        former: None,
        hints: BTreeMap::new(),
        quoted: Vec::new(),
        reach: None,
        in_case_file: Vec::new(),
    }
}

/// A packet in the making; see [`packet`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct PacketBuilder {
    entity: EntityId,
    window: Window,
    context: LocalContext,
    neighbours: Vec<Neighbour>,
    inbox: BTreeMap<EntityId, Belief>,
    former: Option<FormerBelief>,
    hints: BTreeMap<EntityId, Hint>,
    quoted: Vec<Finding>,
    reach: Option<Reach>,
    in_case_file: Vec<Finding>,
}

impl PacketBuilder {
    /// The window under investigation.
    pub fn window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Adds local evidence, below what was added before.
    pub fn finding(mut self, finding: impl Into<Finding>) -> Self {
        self.context.findings.push(finding.into());
        self
    }

    /// Adds an entity that the evidence mentions.
    #[track_caller]
    pub fn mention(mut self, name: &str) -> Self {
        self.context.mentions.push(entity(name));
        self
    }

    /// Says what the bounds of the context left out.
    pub fn omitted(mut self, what: &str) -> Self {
        self.context.omitted.push(what.to_owned());
        self
    }

    /// Takes the neighbours that the entity has in a topology.
    pub fn within(mut self, topology: &Topology) -> Self {
        self.neighbours.extend(topology.neighbours(&self.entity));
        self
    }

    /// Adds a neighbour that calls the entity: effects go to it.
    #[track_caller]
    pub fn caller(self, name: &str) -> Self {
        self.neighbour(name, "calls", false, Direction::Downstream)
    }

    /// Adds a neighbour that the entity calls: effects come from it.
    #[track_caller]
    pub fn callee(self, name: &str) -> Self {
        self.neighbour(name, "calls", true, Direction::Upstream)
    }

    /// Adds a neighbour; `outgoing` when the entity is the source of the relation.
    #[track_caller]
    pub fn neighbour(
        mut self,
        name: &str,
        relation: &str,
        outgoing: bool,
        direction: Direction,
    ) -> Self {
        let relation = relation.to_owned();
        self.neighbours.push(Neighbour { entity: entity(name), relation, outgoing, direction });
        self
    }

    /// Adds a message without evidence or claims. A later one of the same sender takes its place.
    #[track_caller]
    pub fn message(self, sender: &str, label: Label, summary: &str) -> Self {
        self.message_of(sender, belief(label, summary))
    }

    /// Adds a message that carries one claim of its sender.
    #[track_caller]
    pub fn message_claiming(self, sender: &str, label: Label, claim: Claim) -> Self {
        let summary = claim.condition.clone();
        self.message_of(sender, Belief { claims: vec![claim], ..belief(label, &summary) })
    }

    /// Adds a message with this whole belief.
    #[track_caller]
    pub fn message_of(mut self, sender: &str, belief: Belief) -> Self {
        self.inbox.insert(entity(sender), belief);
        self
    }

    /// Sets how many anomalies and changes are known of a neighbour before it is evaluated.
    #[track_caller]
    pub fn hint(mut self, name: &str, anomalies: u32, changes: u32) -> Self {
        let entity = entity(name);
        self.hints.insert(entity.clone(), Hint { entity, anomalies, changes });
        self
    }

    /// Adds a finding of another entity that a message rests on.
    pub fn quoting(mut self, finding: impl Into<Finding>) -> Self {
        self.quoted.push(finding.into());
        self
    }

    /// Adds a finding, of whatever entity, that stands out in the incident as a whole.
    pub fn in_case_file(mut self, finding: impl Into<Finding>) -> Self {
        self.in_case_file.push(finding.into());
        self
    }

    /// Says what was believed of the entity before, and whose messages are new since then.
    #[track_caller]
    pub fn formerly(mut self, belief: Belief, new_from: &[&str]) -> Self {
        let new_from = new_from.iter().map(|name| entity(name)).collect();
        self.former = Some(FormerBelief { belief, new_from });
        self
    }

    /// Adds local evidence that states the way on which effects travel, hop by hop.
    #[track_caller]
    pub fn route(mut self, finding: impl Into<Finding>, hops: &[&str]) -> Self {
        let finding = finding.into();
        let hops = hops.iter().map(|name| entity(name)).collect();
        self.context.routes.push(Route { finding: finding.id().clone(), hops });
        self.finding(finding)
    }

    /// Says which of the entities with alerts the effects of the entity reach over a topology.
    #[track_caller]
    pub fn reaching(mut self, topology: &Topology, alerting: &[&str]) -> Self {
        let alerting: Vec<EntityId> = alerting.iter().map(|name| entity(name)).collect();
        self.reach = Some(Reach::of(topology, &alerting.iter().collect(), &self.entity));
        self
    }

    /// Says how many further pages of the context there are.
    pub fn pages_left(mut self, pages: u32) -> Self {
        self.context.pages_left = pages;
        self
    }

    /// The packet, with neighbours and messages sorted as the controller sorts them.
    pub fn build(mut self) -> ContextPacket {
        self.neighbours.sort();
        self.neighbours.dedup();
        let case_file = CaseFile { findings: self.in_case_file, ..CaseFile::default() };
        let case_file = (!case_file.findings.is_empty()).then(|| Arc::new(case_file));
        ContextPacket {
            entity: self.entity,
            window: self.window,
            context: self.context,
            neighbours: self.neighbours,
            inbox: self
                .inbox
                .into_iter()
                .map(|(sender, belief)| Message { sender, belief })
                .collect(),
            anomalies: Vec::new(),
            notice: None,
            former: self.former,
            hints: self.hints.into_values().collect(),
            quoted: self.quoted,
            reach: self.reach,
            case_file,
            queries_left: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use eog::Config;

    use super::*;
    use crate::{
        MemoryContext, Recorder, finding, healthy, policy_fn, run, seeded, symptom_of, topology,
    };

    /// A built packet must equal the one the controller makes of the same situation.
    #[test]
    fn a_built_packet_equals_that_of_a_run() {
        let graph = topology("b calls a; a calls c; a feeds d ->");
        let contract = MemoryContext::default().with(finding("a")).with(finding("b"));
        let policy = Recorder::new(policy_fn(|packet| match packet.entity.as_str() {
            "b" => symptom_of(packet, "a"),
            _ => healthy(packet),
        }));
        let case = seeded(graph.clone(), ["b"]);
        let ended = run(Config::default(), case, &contract, &policy);

        let from_b = ended.machine.belief(&entity("b")).expect("b was evaluated").clone();
        let built = packet("a")
            .finding(finding("a"))
            .within(&graph)
            .reaching(&graph, &[])
            .message("b", Label::Healthy, "an earlier one")
            .message_of("b", from_b)
            .quoting(finding("b"))
            .build();
        assert_eq!(policy.packets_of("a"), std::slice::from_ref(&built));

        let by_hand = packet("a")
            .finding(finding("a"))
            .neighbour("d", "feeds", true, Direction::Downstream)
            .caller("b")
            .callee("c")
            .build();
        assert_eq!(by_hand.neighbours, built.neighbours);
    }

    #[test]
    fn messages_may_carry_claims() {
        let packet = packet("S4")
            .mention("S9")
            .omitted("7 older events")
            .message_claiming("S3", Label::Symptom, crate::claim("S3", "S4", []))
            .build();
        let belief = packet.message_from(&entity("S3")).expect("S3 has sent one");
        assert_eq!(belief.claims[0].effect, entity("S4"));
        assert_eq!(packet.context.mentions, [entity("S9")]);
        assert_eq!(packet.context.omitted, ["7 older events"]);
    }
}
