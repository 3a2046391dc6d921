//! What a narrative is made of, gathered from an investigation once.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{
    Anomaly, Belief, Claim, ClaimEdge, Conclusion, Confidence, Controller, Digest, EntityId,
    EntryBody, EvidenceId, Finding, Label, LocalContext, OriginGroup, Topology, Window,
};

/// What an investigation knows, in the order in which it is told.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_prompts::Material;
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let material = Material::of(&Controller::new(Config::default(), case));
/// assert!(!material.is_diagnosed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Material {
    /// The window under investigation.
    pub window: Window,
    /// The declared dependency graph.
    pub topology: Topology,
    /// What must be explained.
    pub anomalies: Vec<Anomaly>,
    /// What follows from the beliefs.
    pub conclusion: Conclusion,
    /// Every belief.
    pub beliefs: BTreeMap<EntityId, Belief>,
    /// Every finding that a context or the start of the investigation held.
    pub findings: BTreeMap<EvidenceId, Finding>,
    /// Every live claim, by cause and effect. Both ends may make the same claim; the effect's own
    /// words come first.
    pub claims: Vec<Claim>,
    /// The live claims that follow from an explaining origin, one for each cause and effect.
    pub causal: Vec<Claim>,
    /// How many entities still wait to be evaluated.
    pub waiting: usize,
    /// Which findings each entity was judged with.
    seen: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
}

impl Material {
    /// What is known now. Linear in the ledger.
    pub fn of(controller: &Controller) -> Self {
        let conclusion = controller.conclusion();
        let mut findings = BTreeMap::new();
        let mut note = |finding: &Finding| {
            findings.entry(finding.id().clone()).or_insert_with(|| finding.clone());
        };
        let mut window = None;
        let mut contexts: BTreeMap<Digest, &LocalContext> = BTreeMap::new();
        let mut seen: BTreeMap<EntityId, BTreeSet<EvidenceId>> = BTreeMap::new();
        for entry in controller.ledger().entries() {
            if let EntryBody::Opened(opened) = &entry.body {
                window = Some(opened.case.window);
                opened.case.bootstrap.evidence.iter().for_each(&mut note);
            }
            let Some(evaluation) = entry.evaluation() else { continue };
            let Some(record) = &evaluation.context else { continue };
            if let Some(body) = &record.body {
                body.findings.iter().for_each(&mut note);
                contexts.insert(record.digest, body);
            }
            let findings = contexts.get(&record.digest).into_iter().flat_map(|c| &c.findings);
            let seen = seen.entry(evaluation.entity.clone()).or_default();
            seen.extend(findings.map(|finding| finding.id().clone()));
        }
        let beliefs: BTreeMap<EntityId, Belief> =
            controller.beliefs().map(|(entity, belief)| (entity.clone(), belief.clone())).collect();
        let claims = live_claims(&beliefs);
        let causal = causal_claims(&conclusion, &claims);
        Self {
            window: window.unwrap_or_else(|| unreachable!("every ledger opens with its case")),
            topology: controller.topology().clone(),
            anomalies: controller.anomalies().to_vec(),
            waiting: controller.active().count(),
            conclusion,
            beliefs,
            findings,
            claims,
            causal,
            seen,
        }
    }

    /// Whether an origin was found that explains at least one alert.
    pub fn is_diagnosed(&self) -> bool {
        self.conclusion.confidence != Confidence::Inconclusive
    }

    /// The groups of the frontier that explain something.
    pub fn causes(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| !group.covers.is_empty())
    }

    /// The group of the frontier that an entity explains something with.
    pub fn cause_of(&self, entity: &EntityId) -> Option<&OriginGroup> {
        self.causes().find(|group| group.origins.contains(entity))
    }

    /// The groups of the frontier that explain nothing.
    pub fn unlinked(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| group.covers.is_empty())
    }

    /// The findings that a belief cites, changes first, then by time.
    pub fn cited(&self, belief: &Belief) -> Vec<&Finding> {
        self.lookup(&belief.evidence)
    }

    /// The findings behind ids, changes first, then by time. Ids of findings that no context of
    /// this investigation held are left out.
    pub fn lookup<'i>(&self, ids: impl IntoIterator<Item = &'i EvidenceId>) -> Vec<&Finding> {
        let unique: BTreeSet<&EvidenceId> = ids.into_iter().collect();
        let mut findings: Vec<&Finding> =
            unique.into_iter().filter_map(|id| self.findings.get(id)).collect();
        findings.sort_by_key(|finding| (finding.kind, finding.time.start(), finding.id().clone()));
        findings
    }

    /// The groups that cover an anomaly.
    pub fn explained_by(&self, anomaly: usize) -> Vec<&OriginGroup> {
        self.causes().filter(|group| group.covers.contains(&anomaly)).collect()
    }

    /// Entities on a causal path, origins first, then by name.
    pub fn involved(&self) -> Vec<&EntityId> {
        let origins: BTreeSet<&EntityId> = self.causes().flat_map(|group| &group.origins).collect();
        let ends = self.causal.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
        let symptoms = self.beliefs.iter().filter(|(_, belief)| belief.label == Label::Symptom);
        let alerting = self.anomalies.iter().map(|anomaly| &anomaly.entity);
        let others: BTreeSet<&EntityId> =
            ends.chain(symptoms.map(|(entity, _)| entity)).chain(alerting).collect();
        origins.iter().copied().chain(others.difference(&origins).copied()).collect()
    }

    /// The entity of this name, if the investigation has one: declared, judged, claimed or alerting.
    pub fn entity(&self, name: &str) -> Option<EntityId> {
        let entity = EntityId::new(name).ok()?;
        let is_known = self.topology.contains(&entity)
            || self.beliefs.contains_key(&entity)
            || self.claims.iter().any(|c| c.cause == entity || c.effect == entity)
            || self.anomalies.iter().any(|anomaly| anomaly.entity == entity);
        is_known.then_some(entity)
    }

    /// Whether a finding is one of the entity itself: about it, or part of what it was judged with.
    pub(super) fn is_own(&self, entity: &EntityId, finding: &Finding) -> bool {
        finding.entity == *entity
            || self.seen.get(entity).is_some_and(|seen| seen.contains(finding.id()))
    }

    /// The live claim that one entity explains another, in the effect's own words if it has any.
    pub(super) fn claim(&self, edge: &ClaimEdge) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.edge() == *edge)
    }

    /// Everything that some entities reach over live claims, themselves included.
    pub(super) fn reached_from(
        &self,
        start: impl IntoIterator<Item = EntityId>,
    ) -> BTreeSet<EntityId> {
        closure(start, &self.claims)
    }
}

fn live_claims(beliefs: &BTreeMap<EntityId, Belief>) -> Vec<Claim> {
    let mut owned: Vec<(&EntityId, &Claim)> = beliefs
        .iter()
        .flat_map(|(owner, belief)| belief.claims.iter().map(move |claim| (owner, claim)))
        .collect();
    owned.sort_by_key(|(owner, claim)| (claim.edge(), claim.effect != **owner));
    owned.into_iter().map(|(_, claim)| claim.clone()).collect()
}

fn causal_claims(conclusion: &Conclusion, claims: &[Claim]) -> Vec<Claim> {
    let explaining = conclusion.frontier.iter().filter(|group| !group.covers.is_empty());
    let reached = closure(explaining.flat_map(|group| group.origins.clone()), claims);
    let mut causal: Vec<Claim> =
        claims.iter().filter(|claim| reached.contains(&claim.cause)).cloned().collect();
    causal.dedup_by_key(|claim| claim.edge());
    causal
}

/// Everything reached over claims, the start included.
fn closure(start: impl IntoIterator<Item = EntityId>, claims: &[Claim]) -> BTreeSet<EntityId> {
    let mut effects: BTreeMap<&EntityId, Vec<&EntityId>> = BTreeMap::new();
    for claim in claims {
        effects.entry(&claim.cause).or_default().push(&claim.effect);
    }
    let mut reached: BTreeSet<EntityId> = start.into_iter().collect();
    let mut queue: Vec<EntityId> = reached.iter().cloned().collect();
    while let Some(entity) = queue.pop() {
        for effect in effects.get(&entity).into_iter().flatten() {
            if reached.insert((*effect).clone()) {
                queue.push((*effect).clone());
            }
        }
    }
    reached
}
