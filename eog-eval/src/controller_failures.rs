//! Failures of the controller, as far as a ledger can tell them.
//!
//! The modes are those of MAST (UC Berkeley 2025; the paper's appendix C) that can happen to a
//! controller like ours, and plan abandonment, which the paper counts beside them. Modes that
//! cannot happen by construction are not counted: `docs/evaluation.md` says which and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog::belief::ClaimEdge;
use eog::ledger::{Look, RecordedAnswer, Refusal};
use eog::{Confidence, Digest, EntityId, Label};
use eog_session::controllers::AnyFinished;
use serde::Serialize;

use crate::investigation::Investigation;

/// A mode of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// MAST 1.1, disobey task specification: answers of no use, and parts of answers that break
    /// the rules of the contract (unknown ids or entities, claims without evidence or about
    /// others, origins that cite nothing of their own, texts too long, proposals made twice).
    DisobeyedTask,
    /// MAST 1.3, step repetition: the policy was asked again about a packet that it had already
    /// been asked about. Answers from memory do not count: nobody was asked.
    RepeatedStep,
    /// MAST 1.4, loss of history: entities that a message called on to look again and that were never
    /// judged with it. Under [`Wake::Contradicted`](eog::controller::Wake), the default, a message that
    /// contradicts nothing of what its receiver believes calls on nobody, and does not count.
    LostHistory,
    /// MAST 2.6, reasoning-action mismatch: entities labelled origins that reach an alert and that
    /// the conclusion does not name all the same, since the claims say that another origin explains
    /// them. Those whose judgement changed too often to be settled do not count.
    Mismatch,
    /// MAST 3.1, premature termination: entities that still waited when the investigation ended.
    PrematureEnd,
    /// MAST 3.3, incorrect verification: groups of origins called confirmed, none of which is a
    /// true cause.
    WrongVerification,
    /// Plan abandonment (appendix C of the paper, no mode of MAST): entities that a decision
    /// proposed or named as a cause, and that were never judged.
    PlanAbandoned,
}

impl FailureMode {
    /// All modes, in the order of MAST.
    pub const ALL: [Self; 7] = [
        Self::DisobeyedTask,
        Self::RepeatedStep,
        Self::LostHistory,
        Self::Mismatch,
        Self::PrematureEnd,
        Self::WrongVerification,
        Self::PlanAbandoned,
    ];

    /// What a column with its counts is called.
    pub fn column(self) -> &'static str {
        self.words()[0]
    }

    /// Its column, and its name with its number in MAST.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::DisobeyedTask => ["mast_1_1", "1.1 disobeyed the task"],
            Self::RepeatedStep => ["mast_1_3", "1.3 repeated a step"],
            Self::LostHistory => ["mast_1_4", "1.4 lost history"],
            Self::Mismatch => ["mast_2_6", "2.6 label against claims"],
            Self::PrematureEnd => ["mast_3_1", "3.1 ended too early"],
            Self::WrongVerification => ["mast_3_3", "3.3 confirmed the wrong one"],
            Self::PlanAbandoned => ["plan_abandoned", "-   abandoned a plan"],
        }
    }
}

impl fmt::Display for FailureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words()[1])
    }
}

/// How often each mode happened in one investigation. Every mode is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ControllerFailures(BTreeMap<FailureMode, usize>);

impl ControllerFailures {
    /// Counts the failures of an investigation. `is_cause` says which entities are true causes.
    pub fn of(investigation: &Investigation, is_cause: impl Fn(&EntityId) -> bool) -> Self {
        let Investigation { diagnosis, finished, .. } = investigation;
        let confirmed = diagnosis.conclusion.frontier.iter().filter(|group| {
            group.confidence == Confidence::Confirmed && !group.origins.iter().any(&is_cause)
        });
        let counted = |mode: FailureMode| match mode {
            FailureMode::DisobeyedTask => finished.looks().map(disobeyed).sum(),
            FailureMode::RepeatedStep => repeated(finished),
            FailureMode::LostHistory => diagnosis.conclusion.unread.len(),
            FailureMode::Mismatch => mismatches(investigation),
            FailureMode::PrematureEnd => diagnosis.waiting,
            FailureMode::WrongVerification => confirmed.clone().count(),
            FailureMode::PlanAbandoned => abandoned(finished),
        };
        Self(FailureMode::ALL.map(|mode| (mode, counted(mode))).into())
    }

    /// How often a mode happened.
    pub fn count(&self, mode: FailureMode) -> usize {
        self.0.get(&mode).copied().unwrap_or_default()
    }

    /// The counts as cells of a table, in the order of [`FailureMode::ALL`].
    pub(crate) fn cells(&self) -> impl Iterator<Item = String> {
        FailureMode::ALL.map(|mode| self.count(mode).to_string()).into_iter()
    }
}

/// Answers of no use count once, and so does every part that was refused for breaking a rule. What
/// only a bound refused is no disobedience: no policy can know the bounds.
pub(crate) fn disobeyed(look: Look<'_>) -> usize {
    let is_useless = |answer: &RecordedAnswer| matches!(answer, RecordedAnswer::Failed(f) if !f.kind.is_context());
    let breaks_a_rule = |refusal: &&Refusal| {
        matches!(
            refusal,
            Refusal::OriginWithoutLocalEvidence
                | Refusal::TextCut
                | Refusal::UnknownEvidence(_)
                | Refusal::ClaimWithoutEvidence(_)
                | Refusal::ClaimBetweenOthers(_)
                | Refusal::ClaimOnItself(_)
                | Refusal::ClaimOnUnknownEntity(_)
                | Refusal::ProposalUnknown(_)
                | Refusal::ProposalRepeated(_)
        )
    };
    let parts = look.refusals.iter().filter(breaks_a_rule).count();
    parts + usize::from(is_useless(look.answer))
}

fn repeated(finished: &AnyFinished) -> usize {
    let mut asked: BTreeSet<Digest> = BTreeSet::new();
    let mut again = 0;
    for look in finished.looks() {
        let Some(packet) = look.packet else { continue };
        if !matches!(look.answer, RecordedAnswer::Remembered { .. }) {
            again += usize::from(!asked.insert(packet));
        }
    }
    again
}

fn mismatches(investigation: &Investigation) -> usize {
    let diagnosis = &investigation.diagnosis;
    let claims = investigation.claims();
    let named = investigation.named();
    let alerting: BTreeSet<&EntityId> =
        diagnosis.anomalies.iter().map(|alert| &alert.entity).collect();
    let origins = diagnosis.beliefs.iter().filter(|(_, belief)| belief.label == Label::Origin);
    let settled = origins.filter(|(entity, _)| !diagnosis.conclusion.damped.contains(entity));
    let differs =
        |entity: &EntityId| !named.contains(entity) && reaches(entity, &claims, &alerting);
    settled.filter(|(entity, _)| differs(entity)).count()
}

/// Whether an entity is one of the targets, or some claims lead from it to one.
fn reaches(from: &EntityId, claims: &[ClaimEdge], targets: &BTreeSet<&EntityId>) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(entity) = open.pop() {
        if targets.contains(entity) {
            return true;
        }
        let effects = claims.iter().filter(|claim| claim.cause == *entity);
        open.extend(effects.map(|claim| &claim.effect).filter(|effect| seen.insert(*effect)));
    }
    false
}

fn abandoned(finished: &AnyFinished) -> usize {
    let mut planned: BTreeSet<&EntityId> = BTreeSet::new();
    let mut judged: BTreeSet<&EntityId> = BTreeSet::new();
    for look in finished.looks() {
        judged.insert(look.entity);
        let RecordedAnswer::Decided(decision) = look.answer else { continue };
        // Who is not known cannot be judged.
        let unknown: BTreeSet<&EntityId> = look
            .refusals
            .iter()
            .flat_map(|refusal| match refusal {
                Refusal::ProposalUnknown(entity) => vec![entity],
                Refusal::ClaimOnUnknownEntity(edge) => vec![&edge.cause, &edge.effect],
                _ => Vec::new(),
            })
            .collect();
        let proposed = decision.proposals.iter().map(|proposal| &proposal.entity);
        let blamed = look.belief.claims.iter().map(|claim| &claim.cause);
        planned.extend(proposed.chain(blamed).filter(|entity| !unknown.contains(entity)));
    }
    planned.difference(&judged).count()
}

/// How often each mode happened over many investigations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FailureTable {
    /// How many investigations.
    pub investigations: usize,
    /// For each mode how often, and in how many of them.
    pub modes: BTreeMap<FailureMode, FailureCount>,
}

/// How often a mode happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FailureCount {
    /// In all.
    pub times: usize,
    /// In how many investigations at least once.
    pub investigations: usize,
}

impl FailureTable {
    /// Sums up investigations.
    pub fn of<'a>(counted: impl IntoIterator<Item = &'a ControllerFailures>) -> Self {
        let mut table = Self {
            investigations: 0,
            modes: FailureMode::ALL.map(|mode| (mode, FailureCount::default())).into(),
        };
        for failures in counted {
            table.investigations += 1;
            for (mode, count) in &mut table.modes {
                let times = failures.count(*mode);
                count.times += times;
                count.investigations += usize::from(times > 0);
            }
        }
        table
    }
}

impl fmt::Display for FailureTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.investigations;
        writeln!(
            f,
            "controller failures by MAST category: how often, and in how many of {all} investigations"
        )?;
        for (mode, FailureCount { times, investigations }) in &self.modes {
            writeln!(f, "  {mode:<30}{times:>6}{investigations:>6}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use eog::controller::Wake;
    use eog::incident::Direction;
    use eog::{Budget, Case, Config, Decision, EvidenceId, Failure, Proposal};
    use eog_testkit::{
        MemoryContext, alert, deferred, entity, finding, healthy, hour, origin, policy_fn, run,
        symptom_of, topology, try_policy_fn,
    };

    use super::*;

    fn case() -> Case {
        let graph = topology("web calls app; app calls db; app calls cache");
        Case::from_anomalies(graph, hour(), vec![alert("web", "HttpErrors", "10:05")])
    }

    fn contract() -> MemoryContext {
        MemoryContext::default().with_all(["web", "app", "db", "cache"].map(finding))
    }

    fn counted(policy: &impl eog::AbductivePolicy, config: Config) -> BTreeMap<FailureMode, usize> {
        let ended = Investigation::of(case(), run(config, case(), &contract(), policy));
        let mut counts = ControllerFailures::of(&ended, |cause| *cause == entity("db")).0;
        counts.retain(|_, count| *count > 0);
        counts
    }

    fn usual(packet: &eog::ContextPacket) -> Decision {
        match packet.entity.as_str() {
            "web" => symptom_of(packet, "app"),
            "app" => symptom_of(packet, "db"),
            "db" => origin(packet),
            _ => healthy(packet),
        }
    }

    /// Nobody is asked more than once: no message wakes anybody, and nobody looks again.
    fn once() -> Config {
        Config { broadcast: false, widening: None, ..Config::default() }
    }

    fn towards(name: &str) -> Proposal {
        let reason = "worth a look".to_owned();
        Proposal { entity: entity(name), direction: Direction::Upstream, reason }
    }

    #[test]
    fn a_good_investigation_has_no_failures() {
        assert_eq!(counted(&policy_fn(usual), Config::default()), [].into());
    }

    #[test]
    fn answers_that_break_the_rules_are_counted_part_by_part() {
        let unknown = EvidenceId::try_from("log-00112233445566778899".to_owned()).unwrap();
        let policy = policy_fn(|packet| {
            let mut decision = usual(packet);
            if packet.entity == entity("db") {
                decision.evidence.push(unknown.clone());
                decision.proposals = vec![towards("nobody")];
            }
            decision
        });
        assert_eq!(counted(&policy, once()), [(FailureMode::DisobeyedTask, 2)].into());
        // A second opinion that breaks the same rules counts as well.
        let again = Config { broadcast: false, ..Config::default() };
        assert_eq!(counted(&policy, again), [(FailureMode::DisobeyedTask, 4)].into());
        let mute = try_policy_fn(|packet| match packet.entity.as_str() {
            "db" => Err(Failure::policy("no JSON")),
            _ => Ok(usual(packet)),
        });
        assert_eq!(counted(&mute, once()), [(FailureMode::DisobeyedTask, 1)].into());
    }

    #[test]
    fn asking_again_is_a_repetition_and_remembering_is_none() {
        // `app` repeats what `web` says, and `web` always says the other thing: for ever round.
        let policy = policy_fn(|packet| {
            let other = if packet.entity == entity("web") { "app" } else { "web" };
            let heard = packet.message_from(&entity(other)).map(|belief| belief.summary.as_str());
            let said = match (packet.entity.as_str(), heard) {
                ("web", Some("yes")) => "no",
                ("web", _) => "yes",
                (_, heard) => heard.unwrap_or("nothing"),
            };
            Decision { summary: said.to_owned(), ..healthy(packet) }
        });
        let graph = topology("web calls app");
        let case = Case::from_anomalies(graph, hour(), vec![alert("web", "HttpErrors", "10:05")]);
        let counted = |config| {
            let ended: AnyFinished = run(config, case.clone(), &contract(), &policy).into();
            (ended.spent(), repeated(&ended))
        };
        let (spent, again) = counted(Config::paper());
        assert!(again > 0 && spent.remembered == 0, "{again} of {spent:?}");
        let (spent, again_with_memory) =
            counted(Config { decision_memory: true, ..Config::paper() });
        assert_eq!((again_with_memory, spent.remembered as usize), (0, again));
    }

    #[test]
    fn a_budget_ends_too_early_and_leaves_plans_and_messages_behind() {
        let short = Config { budget: Budget::hops(1), ..Config::default() };
        let counts = counted(&policy_fn(usual), short);
        assert_eq!(
            counts,
            [(FailureMode::PrematureEnd, 1), (FailureMode::PlanAbandoned, 1)].into()
        );
        let visits = Config { max_visits: Some(1), ..Config::default() };
        // Messages that contradict nothing ask for no other look, and nothing is lost with them.
        assert_eq!(counted(&policy_fn(usual), visits.clone()), [].into());
        // `app` blames `db`, which is well: `app` cannot be judged with that any more.
        let denied = policy_fn(|packet| match packet.entity.as_str() {
            "db" => healthy(packet),
            _ => usual(packet),
        });
        assert_eq!(counted(&denied, visits), [(FailureMode::LostHistory, 1)].into());
    }

    #[test]
    fn labels_that_the_claims_contradict_are_mismatches() {
        // `cache` is an origin that reaches no alert: that is no contradiction.
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "app" => Decision { claims: usual(packet).claims, ..origin(packet) },
            "db" => Decision { proposals: vec![towards("cache")], ..origin(packet) },
            "cache" => origin(packet),
            _ => usual(packet),
        });
        let graph = topology("web calls app; app calls db; lone calls cache; db calls lone");
        let case = Case::from_anomalies(graph, hour(), vec![alert("web", "HttpErrors", "10:05")]);
        let ended = run(Config::default(), case.clone(), &contract(), &policy);
        let ended = Investigation::of(case, ended);
        assert_eq!(ended.diagnosis.belief(&entity("cache")).unwrap().label, Label::Origin);
        assert_eq!(mismatches(&ended), 1);
    }

    #[test]
    fn an_origin_that_changed_too_often_is_no_mismatch() {
        // `app` and `cache` find no fixed point, and the last word of `app` is that it is an origin. It reaches the alert,
        // but only `db` is named.
        let policy = policy_fn(|packet| {
            let hears_origin = |name: &str| {
                packet
                    .message_from(&entity(name))
                    .is_some_and(|belief| belief.label == Label::Origin)
            };
            match packet.entity.as_str() {
                "web" => Decision {
                    claims: [symptom_of(packet, "app"), symptom_of(packet, "db")]
                        .map(|decision| decision.claims)
                        .concat(),
                    ..symptom_of(packet, "app")
                },
                "app" if hears_origin("cache") => healthy(packet),
                "cache" if !hears_origin("app") => healthy(packet),
                _ => origin(packet),
            }
        });
        let graph = topology("web calls app; web calls db; app calls cache");
        let case = Case::from_anomalies(graph, hour(), vec![alert("web", "HttpErrors", "10:05")]);
        let case = case.with_seed(entity("cache"), "named by the test");
        let config =
            Config { wake: Wake::Visited, max_visits: None, widening: None, ..Config::default() };
        let ended = run(config, case.clone(), &contract(), &policy);
        let ended = Investigation::of(case, ended);
        let app = entity("app");
        assert_eq!(ended.diagnosis.belief(&app).unwrap().label, Label::Origin);
        assert!(ended.diagnosis.is_passed_over(&app));
        assert_eq!(ended.named(), [entity("db")].into());
        assert_eq!(mismatches(&ended), 0);
    }

    #[test]
    fn a_proposal_beyond_the_cap_that_nobody_takes_up_is_an_abandoned_plan() {
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => Decision {
                proposals: ["app", "db", "cache"].map(towards).into(),
                ..healthy(packet)
            },
            _ => deferred(packet),
        });
        let capped = |config| Config { max_proposals: Some(2), ..config };
        assert_eq!(counted(&policy, capped(once())), [(FailureMode::PlanAbandoned, 1)].into());
        // Looking further around the alert comes to it all the same.
        let wider = capped(Config { broadcast: false, ..Config::default() });
        assert_eq!(counted(&policy, wider), [].into());
    }

    #[test]
    fn counts_are_summed_up_by_times_and_investigations() {
        let of = |count| ControllerFailures([(FailureMode::RepeatedStep, count)].into());
        let table = FailureTable::of(&[of(3), of(0), of(1)]);
        assert_eq!(
            table.modes[&FailureMode::RepeatedStep],
            FailureCount { times: 4, investigations: 2 }
        );
        assert_eq!(table.investigations, 3);
    }
}
