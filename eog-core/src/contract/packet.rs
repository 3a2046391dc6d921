//! What a policy sees of one entity, and what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::belief::{Belief, Claim, Explained, Label, Measures, Message};
use crate::evidence::{EvidenceKind, Finding};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::Anomaly;
use crate::incident::case_file::CaseFile;
use crate::incident::onset::Onset;
use crate::incident::topology::{Direction, Neighbour, Topology};
use crate::incident::window::Window;

/// Bounded local evidence on one entity, as a context contract returns it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocalContext {
    /// The findings, strongest first.
    pub findings: Vec<Finding>,
    /// Entities that the evidence names beyond the peers of the findings.
    #[serde(default)]
    pub mentions: Vec<EntityId>,
    /// What the bounds left out, in words. Empty when nothing was.
    #[serde(default)]
    pub omitted: Vec<String>,
    /// The routes that findings describe, hop by hop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// What was recorded at all, if the source knows: where nothing was found, this says whether
    /// anything could have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// How many pages there are after this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pages_left: u32,
}

/// A way on which effects travel, to an entity or from it, according to a finding of its context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Route {
    /// The finding that states it.
    pub finding: EvidenceId,
    /// From where the effects begin to where they show, both included.
    pub hops: Vec<EntityId>,
}

impl Route {
    /// Whether one hop of it leads from a cause right to an effect.
    pub fn leads(&self, cause: &EntityId, effect: &EntityId) -> bool {
        self.hops.windows(2).any(|hop| hop[0] == *cause && hop[1] == *effect)
    }
}

/// Which kinds of evidence were recorded. Kinds that it does not list were recorded of no entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Recorded of the entity.
    pub own: Vec<EvidenceKind>,
    /// Recorded of others, and not of the entity.
    pub others: Vec<EvidenceKind>,
}

impl Coverage {
    /// Whether no measurements of a kind were recorded of the entity. Alerts and notes are not recorded as such.
    pub fn lacks(&self, kind: EvidenceKind) -> bool {
        !matches!(kind, EvidenceKind::Alert | EvidenceKind::Note) && !self.own.contains(&kind)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl LocalContext {
    /// Every entity that the context names. Named entities are known to the controller.
    pub fn named(&self) -> BTreeSet<EntityId> {
        let peers = self.findings.iter().filter_map(|finding| finding.peer.as_ref());
        let of_findings = self.findings.iter().map(|finding| &finding.entity);
        let on_routes = self.routes.iter().flat_map(|route| &route.hops);
        let named = peers.map(|peer| &peer.entity).chain(of_findings).chain(on_routes);
        named.chain(&self.mentions).cloned().collect()
    }

    /// These pages and the one after them, as one context. What both hold is in it once, and what was
    /// left out is taken from the last one.
    #[must_use]
    pub fn followed_by(mut self, next: Self) -> Self {
        let Self { findings, mentions, omitted, routes, coverage, pages_left } = next;
        let held: BTreeSet<EvidenceId> = self.findings.iter().map(|it| it.id().clone()).collect();
        self.findings.extend(findings.into_iter().filter(|it| !held.contains(it.id())));
        for mention in mentions {
            if !self.mentions.contains(&mention) {
                self.mentions.push(mention);
            }
        }
        for route in routes {
            if !self.routes.contains(&route) {
                self.routes.push(route);
            }
        }
        self.coverage = coverage.or(self.coverage);
        Self { omitted, pages_left, ..self }
    }

    /// This context with the answer to a query. Its pages are still to come, and what it left out stays left
    /// out.
    #[must_use]
    pub fn with_found(self, found: Self) -> Self {
        let (mut omitted, pages_left) = (self.omitted.clone(), self.pages_left);
        for left_out in &found.omitted {
            if !omitted.contains(left_out) {
                omitted.push(left_out.clone());
            }
        }
        let coverage = self.coverage.clone();
        Self { omitted, coverage, pages_left, ..self.followed_by(found) }
    }
}

/// A search in what was recorded of one entity, for evidence that contexts leave out: what is as usual, or of an entity that
/// is not asked about.
///
/// ```
/// use eog_core::{EntityId, EvidenceKind};
/// use eog_core::contract::EvidenceQuery;
/// let query = EvidenceQuery { entity: EntityId::new("db")?, kind: EvidenceKind::Log, text: "Lock".into() };
/// assert!(query.matches("could not get the lock"));
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceQuery {
    /// The entity whose records are searched.
    pub entity: EntityId,
    /// Findings of this kind.
    pub kind: EvidenceKind,
    /// Findings that hold this text, in any case of letters; all of them where it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl EvidenceQuery {
    /// Most findings in an answer.
    pub const MAX_FOUND: usize = 12;

    /// Whether a text holds what is searched for.
    pub fn matches(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text.to_lowercase())
    }

    /// The answer, given all findings on the entity, strongest first, and what was recorded of it, where that is known: the
    /// first [`MAX_FOUND`](Self::MAX_FOUND) findings of the kind that hold the text in their excerpt or query. `omitted` says
    /// how many there are, because findings that were shown before do not show up again.
    pub fn answer(
        &self,
        findings: impl IntoIterator<Item = Finding>,
        coverage: Option<Coverage>,
    ) -> LocalContext {
        let of_kind: Vec<Finding> =
            findings.into_iter().filter(|it| it.kind == self.kind).collect();
        // Without records, finding nothing is no evidence.
        let unrecorded =
            of_kind.is_empty() && coverage.as_ref().is_some_and(|it| it.lacks(self.kind));
        let holds_text = |it: &Finding| self.matches(&it.excerpt) || self.matches(&it.query);
        let mut found: Vec<Finding> = of_kind.into_iter().filter(holds_text).collect();
        let left_out = found.len().saturating_sub(Self::MAX_FOUND);
        found.truncate(Self::MAX_FOUND);
        let result = match (found.len(), left_out) {
            (0, _) if unrecorded => format!("no {}s of it were recorded", self.kind.name()),
            (0, _) => "nothing found".into(),
            (shown, 0) => format!("{shown} found"),
            (shown, more) => format!("{shown} found, {more} more left out"),
        };
        let omitted = vec![format!("{self}: {result}")];
        LocalContext { findings: found, omitted, coverage, ..LocalContext::default() }
    }
}

impl std::fmt::Display for EvidenceQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { entity, kind, text } = self;
        write!(f, "search in {}s of {entity}", kind.name())?;
        if text.is_empty() { Ok(()) } else { write!(f, " for {text:?}") }
    }
}

/// The bounded input of one policy call. Holds no visit number, sequence number or clock, so that
/// equal situations are equal questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextPacket {
    /// The entity in question.
    pub entity: EntityId,
    /// The window under investigation.
    pub window: Window,
    /// Local evidence.
    pub context: LocalContext,
    /// Declared and claimed neighbours, sorted by name.
    pub neighbours: Vec<Neighbour>,
    /// The latest message of each neighbour, sorted by sender.
    pub inbox: Vec<Message>,
    /// What must be explained of the entity itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anomalies: Vec<Anomaly>,
    /// Why the entity is evaluated again although nothing about it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// What was believed of the entity before, if it was judged before and there is news or a notice:
    /// else the question is the one that was asked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerBelief>,
    /// What is known of neighbours before they are evaluated. Neighbours without any are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// Findings of others that messages rest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quoted: Vec<Finding>,
    /// Which anomalies effects of the entity can reach, if packets include it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// What stands out in the incident as a whole, if the case states it ([`Case::case_file`](crate::Case::case_file)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_file: Option<Arc<CaseFile>>,
    /// How many more [queries](Decision::query) may be asked about the entity.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queries_left: u32,
}

/// How an entity relates to the anomalies, over declared directions of effects and, in an investigation, over
/// claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reach {
    /// How many entities with anomalies its effects can reach, itself included.
    pub reached: u32,
    /// How many entities have anomalies.
    pub alerting: u32,
    /// Hops to the nearest of them: 0 for an entity that has one itself; `None` where none is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
}

impl Reach {
    /// How an entity relates to anomalies on these entities. Linear in what effects of the entity can
    /// reach.
    ///
    /// ```
    /// use eog_core::contract::Reach;
    /// use eog_core::incident::EffectDirection;
    /// use eog_core::{EntityId, Topology};
    /// let (web, db) = (EntityId::new("web")?, EntityId::new("db")?);
    /// let mut topology = Topology::default();
    /// topology.connect(&web, "calls", &db, EffectDirection::TargetToSource);
    /// let alerting = [&web].into();
    /// let reach = Reach::of(&topology, &alerting, &db);
    /// assert_eq!((reach.reached, reach.alerting, reach.hops), (1, 1, Some(1)));
    /// # Ok::<(), eog_core::InvalidId>(())
    /// ```
    pub fn of(topology: &Topology, alerting: &BTreeSet<&EntityId>, entity: &EntityId) -> Self {
        Self::over(alerting, entity, |from| {
            let edges = topology.edges_at(from);
            let others = edges
                .map(|edge| (edge, if edge.source == *from { &edge.target } else { &edge.source }));
            others.filter(|(edge, to)| edge.carries(from, to)).map(|(_, to)| to.clone()).collect()
        })
    }

    /// The same, given what effects of an entity reach directly.
    pub(crate) fn over(
        alerting: &BTreeSet<&EntityId>,
        entity: &EntityId,
        affected: impl Fn(&EntityId) -> Vec<EntityId>,
    ) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (mut reached, mut nearest, mut hops) = (0, None, 0);
        let mut seen = BTreeSet::from([entity.clone()]);
        let mut ring = vec![entity.clone()];
        while !ring.is_empty() {
            let found = ring.iter().filter(|entity| alerting.contains(*entity)).count();
            reached += found;
            nearest = nearest.or_else(|| (found > 0).then_some(hops));
            hops += 1;
            let next = ring.iter().flat_map(&affected).filter(|to| seen.insert(to.clone()));
            ring = next.collect();
        }
        Self { reached: count(reached), alerting: count(alerting.len()), hops: nearest }
    }
}

/// What the last judgement of an entity was, and what has changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormerBelief {
    /// What was believed.
    pub belief: Belief,
    /// The senders of messages that are new since then, by name.
    #[serde(rename = "heard")]
    pub new_from: Vec<EntityId>,
}

/// What is known of a neighbour before it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hint {
    /// The neighbour.
    pub entity: EntityId,
    /// How many anomalies are observed on it.
    pub anomalies: u32,
    /// How many changes to it are on record before the end of the window.
    pub changes: u32,
}

/// Why an entity is evaluated again before an investigation ends. With it, the evaluation asks a
/// different question than the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// What it is asked for.
    pub reason: NoticeReason,
    /// How many such evaluations there were, with this one.
    pub count: u32,
    /// The anomalies that nothing explains, each with its entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexplained: Vec<(EntityId, String)>,
    /// Other origins that explain what this one does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<EntityId>,
    /// All origins that would be named, but this one and those of its group, by name, the first 16; filled in
    /// if so configured (`Widening::others_named`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<NamedOrigin>,
    /// Origins that explain no anomaly so far although effects can reach from them, over declared directions: at a dead
    /// end the entity, at a second opinion an anomaly that it explains. Left out are those that surely began after all
    /// onsets of what is unexplained, or of what the entity explains. By name, the first 16; filled in if so configured
    /// (`Widening::unlinked_named`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlinked: Vec<NamedOrigin>,
}

/// An origin that was found elsewhere, and how.
///
/// ```
/// use eog_core::EntityId;
/// use eog_core::contract::{NamedOrigin, Notice, NoticeReason};
///
/// let rule = Some("own failure".to_owned());
/// let entity = EntityId::new("certificate")?;
/// let other = NamedOrigin { entity, rule, since: None, log_odds: None, until: None };
/// let reason = NoticeReason::SecondOpinion;
/// let (unexplained, rivals, others, unlinked) = (vec![], vec![], vec![other], vec![]);
/// let notice = Notice { reason, count: 1, unexplained, rivals, others, unlinked };
/// assert!(notice.others.iter().any(|other| other.rule.as_deref() == Some("own failure")));
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedOrigin {
    /// The origin.
    pub entity: EntityId,
    /// The rule that found it ([`Belief::rule`]), where its policy states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Since when it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Onset>,
    /// How strongly the evidence speaks for it ([`Measures::log_odds`](crate::belief::Measures)), where its policy states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_odds: Option<i32>,
    /// Until when it was seen: the end of the latest local evidence that it cites. Only in [`Notice::unlinked`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// What a repeated evaluation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum NoticeReason {
    /// What explains an anomaly leads to no origin: here the search ends.
    DeadEnd,
    /// The entity is about to be named as an origin.
    SecondOpinion,
}

impl ContextPacket {
    /// The message of one sender, if it has sent any.
    pub fn message_from(&self, sender: &EntityId) -> Option<&Belief> {
        self.inbox.iter().find(|message| message.sender == *sender).map(|message| &message.belief)
    }
}

/// An entity worth evaluating next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proposal {
    /// The entity.
    pub entity: EntityId,
    /// Where it stands, seen from the evaluated entity.
    pub direction: Direction,
    /// Why to evaluate it.
    pub reason: String,
}

/// How likely a candidate is the origin, by the policy's own judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateScore {
    /// The candidate.
    pub entity: EntityId,
    /// 0 (not at all) to 1000 (certain). Larger values count as 1000.
    pub score: u16,
}

/// The output of a policy for one packet (paper §4.1).
///
/// ```
/// use eog_core::{Decision, Label};
/// let decision = Decision::new(Label::Healthy, "nothing unusual in the window");
/// assert!(decision.claims.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The explanatory role of the entity.
    pub label: Label,
    /// One or two sentences that say why.
    pub summary: String,
    /// The evidence for the label, by id.
    #[serde(default)]
    pub evidence: Vec<EvidenceId>,
    /// What explains what. Each claim touches the entity.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Which entities to evaluate next, best first.
    #[serde(default)]
    pub proposals: Vec<Proposal>,
    /// Optional strength of candidates, used only to rank when no origin is found.
    #[serde(default)]
    pub scores: Vec<CandidateScore>,
    /// Since when the entity's harm is known to be there; for an origin, since when its condition
    /// holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Onset>,
    /// Which of its own anomalies an origin explains; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<Vec<Explained>>,
    /// The rule that decided, if the policy uses named rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The numbers behind the judgement, if the policy weighs evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Box<Measures>>,
    /// What the log-odds of [`measures`](Self::measures) are the sum of, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    /// Explanations that were weighed and rejected, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// Whether to read the next page of the context before judging. The rest of the decision then
    /// counts only if there is no further page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub next_page: bool,
    /// What to search for before judging. The rest of the decision then counts only if no more queries may be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Box<EvidenceQuery>>,
}

/// One weight of evidence for or against an entity as an origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Term {
    /// The name of the term.
    pub name: String,
    /// What it adds: thousandths of natural log-odds.
    pub log_odds: i32,
    /// What was observed, in a few words.
    pub text: String,
    /// The evidence, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}

/// An explanation of an entity that was weighed and rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alternative {
    /// What the entity would be.
    pub label: Label,
    /// The rule that proposes it, if the policy uses named rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The entity that would explain this one, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EntityId>,
    /// What it says.
    pub summary: String,
    /// Why it was rejected.
    pub lost: String,
    /// The evidence, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}

/// The [rule](Decision::rule) of decisions that the evidence policy made because a model gave no usable answer.
pub const FALLBACK_RULE: &str = "the evidence policy";

impl Decision {
    /// A decision without evidence, claims or proposals.
    pub fn new(label: Label, summary: impl Into<String>) -> Self {
        Self {
            label,
            summary: summary.into(),
            evidence: Vec::new(),
            claims: Vec::new(),
            proposals: Vec::new(),
            scores: Vec::new(),
            since: None,
            explains: None,
            rule: None,
            measures: None,
            terms: Vec::new(),
            alternatives: Vec::new(),
            next_page: false,
            query: None,
        }
    }

    /// Adds evidence for the label.
    #[must_use]
    pub fn citing<'a>(mut self, findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        self.evidence.extend(findings.into_iter().map(|finding| finding.id().clone()));
        self
    }

    /// Adds a claim.
    #[must_use]
    pub fn claiming(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }

    /// Adds a proposal.
    #[must_use]
    pub fn proposing(
        mut self,
        entity: EntityId,
        direction: Direction,
        reason: impl Into<String>,
    ) -> Self {
        self.proposals.push(Proposal { entity, direction, reason: reason.into() });
        self
    }
}
