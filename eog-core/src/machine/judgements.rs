//! Judgements: beliefs on entities by the same checks, and with the same conclusion, as those of
//! [`Controller`](crate::Controller). For machines that choose for themselves what to evaluate.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::belief::{Belief, Label};
use crate::budget::Spent;
use crate::checks::check;
use crate::contract::Failure;
use crate::contract::packet::{
    CandidateScore, ContextPacket, Decision, LocalContext, Reach, Route,
};
use crate::controller::config::{Checks, Config};
use crate::diagnosis::conclude::{Conclusion, Ranked, conclude, rank};
use crate::diagnosis::{Diagnosis, Standing};
use crate::ids::EntityId;
use crate::incident::case::{Anomaly, Case};
use crate::incident::case_file::CaseFile;
use crate::incident::topology::Neighbour;
use crate::ledger::Ledger;
use crate::ledger::body::Body;
use crate::ledger::record::{Refusal, Warning};
use crate::state::State;
use crate::stop::StopReason;

/// What is believed of each entity that was judged, and what follows from it.
///
/// ```
/// use eog_core::{Case, Decision, EntityId, Label, Topology, Window};
/// use eog_core::controller::Checks;
/// use eog_core::machine::Judgements;
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let mut judgements = Judgements::new(&case, Checks::Full);
/// let cart = EntityId::new("cart")?;
/// judgements.learn(&cart, &Default::default(), 1);
/// // An origin must cite local evidence: the checks are those of every controller.
/// let judged = judgements.judge(&cart, None, &Decision::new(Label::Origin, "a guess"));
/// assert_eq!((judged.belief.label, judged.refusals.len()), (Label::Defer, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Judgements {
    state: State,
    /// Of which the checks alone count.
    config: Config,
    /// The routes in the contexts of each entity.
    routes: BTreeMap<EntityId, Vec<Route>>,
}

/// What was taken over from a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What is believed from now on.
    pub belief: Belief,
    /// What was taken out of the decision, and why.
    pub refusals: Vec<Refusal>,
    /// What was accepted with a doubt.
    pub warnings: Vec<Warning>,
}

impl From<Belief> for Judged {
    fn from(belief: Belief) -> Self {
        Self { belief, refusals: Vec::new(), warnings: Vec::new() }
    }
}

impl Judgements {
    /// No entity of a case has a belief yet.
    pub fn new(case: &Case, checks: Checks) -> Self {
        let config = Config { checks, ..Config::default() };
        Self { state: State::new(case), config, routes: BTreeMap::new() }
    }

    /// What stands out in the incident as a whole, if packets show it.
    pub fn case_file(&self) -> Option<Arc<CaseFile>> {
        self.state.case_file.clone()
    }

    /// Has packets show what stands out in the incident as a whole from now on.
    pub fn show(&mut self, case_file: Arc<CaseFile>) {
        self.state.show(case_file);
    }

    /// Records what the context of an entity holds and names. `entry` is the number of the
    /// ledger entry that records it.
    pub fn learn(&mut self, entity: &EntityId, context: &LocalContext, entry: u64) {
        self.state.named.extend(context.named());
        self.state.node(entity).remember_evidence(context, entry);
        if !context.routes.is_empty() {
            let routes = self.routes.entry(entity.clone()).or_default();
            routes.extend(context.routes.iter().cloned());
        }
    }

    /// Checks a decision on an entity whose context was [learnt](Self::learn), given the packet that it was made on. What is
    /// left of it takes the place of what was believed before.
    pub fn judge(
        &mut self,
        entity: &EntityId,
        packet: Option<&ContextPacket>,
        decision: &Decision,
    ) -> Judged {
        let routes = self.routes.get(entity).map_or(&[][..], Vec::as_slice);
        let checked = check(&self.config, &self.state, entity, packet, routes, decision);
        let belief = Belief {
            label: checked.label,
            summary: checked.summary,
            evidence: checked.evidence,
            claims: checked.claims,
            since: decision.since,
            explains: decision.explains.clone(),
            rule: decision.rule.clone(),
            measures: decision.measures.as_deref().cloned(),
        };
        self.adopt(entity, &belief, &decision.scores);
        Judged { belief, refusals: checked.refusals, warnings: checked.warnings }
    }

    /// Takes over a belief that was [judged](Self::judge) before, with the scores of its decision: for
    /// conclusions from some of the judgements that were made. The context of the entity was
    /// [learnt](Self::learn).
    pub fn adopt(&mut self, entity: &EntityId, belief: &Belief, scores: &[CandidateScore]) {
        for claim in &belief.claims {
            self.state.admitted.extend([claim.cause.clone(), claim.effect.clone()]);
            if !claim.outside {
                self.state.join(&claim.edge());
            }
        }
        let node = self.state.node(entity);
        node.visited = true;
        node.settled = true;
        node.stale = false;
        node.scores = scores.to_vec();
        self.believe(entity, Some(belief.clone()));
    }

    /// Records that there is no decision on an entity: it is `Defer` unless it has a belief
    /// already.
    pub fn fail(&mut self, entity: &EntityId, failure: &Failure) -> Judged {
        let node = self.state.node(entity);
        node.visited = true;
        node.stale = node.belief.is_some();
        let belief = node.belief.clone().unwrap_or_else(|| failure.as_belief());
        self.believe(entity, Some(belief.clone()));
        belief.into()
    }

    /// Forgets what is believed of an entity, with its claims.
    pub fn forget(&mut self, entity: &EntityId) {
        self.believe(entity, None);
    }

    fn believe(&mut self, entity: &EntityId, belief: Option<Belief>) {
        let claims = belief.as_ref().map(|belief| belief.claims.clone()).unwrap_or_default();
        let before = std::mem::replace(&mut self.state.node(entity).belief, belief);
        let before = before.map(|belief| belief.claims).unwrap_or_default();
        self.state.supersede(entity, &before, &claims);
    }

    /// Whether an entity is in the topology, a start, or named by any context so far.
    pub fn is_known(&self, entity: &EntityId) -> bool {
        self.state.is_known(entity)
    }

    /// The neighbours of an entity as a packet shows them, by name: declared ones, and those that a
    /// claim joined it with.
    pub fn neighbours(&self, entity: &EntityId) -> Vec<Neighbour> {
        self.state.neighbours(entity)
    }

    /// The anomalies of an entity, as a packet shows them.
    pub fn anomalies(&self, entity: &EntityId) -> Vec<Anomaly> {
        let own = self.state.anomalies.iter().filter(|anomaly| anomaly.entity == *entity);
        own.cloned().collect()
    }

    /// How an entity stands to the anomalies, as a packet shows it.
    pub fn reach(&self, entity: &EntityId) -> Reach {
        let alerting = self.state.anomalies.iter().map(|anomaly| &anomaly.entity).collect();
        self.state.reach(&alerting, entity)
    }

    /// The belief about one entity, if there is one.
    pub fn belief(&self, entity: &EntityId) -> Option<&Belief> {
        self.state.get(entity)?.belief.as_ref()
    }

    /// All beliefs, by entity name.
    pub fn beliefs(&self) -> impl Iterator<Item = (&EntityId, &Belief)> {
        self.state.nodes.iter().filter_map(|(entity, node)| Some((entity, node.belief.as_ref()?)))
    }

    /// Whether anything is believed an origin.
    pub fn has_origin(&self) -> bool {
        self.beliefs().any(|(_, belief)| belief.label == Label::Origin)
    }

    /// What follows from the beliefs held now: frontier, coverage, cover, ranking.
    pub fn conclusion(&self) -> Conclusion {
        conclude(&self.state)
    }

    /// All judged entities, by what speaks for each, independent of the conclusion.
    pub fn ranking(&self) -> Vec<Ranked> {
        rank(&self.state)
    }

    /// The data of reports and scores, with what the ledger of a machine holds. `waiting` is
    /// how many entities are still to be evaluated.
    pub fn diagnosis<B: Body>(
        &self,
        ledger: &Ledger<B>,
        waiting: usize,
        spent: Spent,
        stop: Option<StopReason>,
    ) -> Diagnosis {
        let beliefs: BTreeMap<EntityId, Belief> =
            self.beliefs().map(|(entity, belief)| (entity.clone(), belief.clone())).collect();
        Diagnosis::gather(
            ledger,
            Standing {
                topology: &self.state.topology,
                anomalies: &self.state.anomalies,
                beliefs,
                conclusion: self.conclusion(),
                ranking: rank(&self.state),
                waiting,
                spent,
                stop,
            },
        )
    }
}
