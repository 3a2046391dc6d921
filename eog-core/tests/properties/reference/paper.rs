//! Algorithm 1 of the paper (§4.3.2, lines 1–34) with the visit limit and the cooldown of B.3.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::belief::ClaimEdge;
use eog_core::{Belief, Case, Claim, Config, ContextPacket, EntityId, Label};

use super::History;
use super::history::Ended;
use crate::drive::Answers;

/// What the algorithm leaves behind.
pub(crate) struct Run {
    /// Each evaluation with the belief it led to.
    pub(crate) ledger: Vec<(EntityId, Belief)>,
    pub(crate) beliefs: BTreeMap<EntityId, Belief>,
    /// `E_S`.
    pub(crate) edges: BTreeSet<ClaimEdge>,
    /// Whether the active set was empty at the end.
    pub(crate) converged: bool,
}

/// Runs the algorithm. `config` gives `k_thresh`, `k_max`, `k_cool` and the hops.
pub(crate) fn run(config: &Config, case: &Case, answers: &mut impl Answers) -> Run {
    let mut history = History::new(case);
    let mut active: Vec<EntityId> = Vec::new();
    let mut flips: BTreeMap<EntityId, u32> = BTreeMap::new();
    let mut run = Run {
        ledger: Vec::new(),
        beliefs: BTreeMap::new(),
        edges: BTreeSet::new(),
        converged: false,
    };
    for seed in &case.seeds {
        if !active.contains(&seed.entity) {
            active.push(seed.entity.clone());
        }
    }
    let mut budget = config.budget.hops.unwrap_or(u64::MAX);

    while !active.is_empty() && budget > 0 {
        let v = active.remove(next(&active, &history, config));
        // 1. Fetch context.
        let request = history.request(&v, 1);
        let inbox = history.inbox(&v);
        let neighbours = history.neighbours(&v);
        let context = answers.context(&request).expect("nothing fails here");
        history.learn(&v, &context);
        let window = case.window;
        let packet = ContextPacket {
            entity: v.clone(),
            window,
            context,
            neighbours,
            inbox,
            anomalies: Vec::new(),
            notice: None,
            former: None,
            hints: Vec::new(),
            quoted: Vec::new(),
            reach: None,
            case_file: None,
            queries_left: 0,
        };
        // 2. Execute policy.
        let decision = answers.decide(&packet).expect("nothing fails here");
        let known =
            |claim: &&Claim| history.is_known(&claim.cause) && history.is_known(&claim.effect);
        let claims: Vec<Claim> = decision.claims.iter().filter(known).cloned().collect();
        let old = run.beliefs.get(&v).cloned();
        let mut new = Belief {
            label: decision.label,
            summary: decision.summary,
            evidence: decision.evidence,
            claims: claims.clone(),
            since: None,
            explains: None,
            rule: None,
            measures: None,
        };
        let again = |claim: &&Claim| claims.iter().any(|new| new.edge() == claim.edge());
        if let Some(old) = &old {
            new.claims.extend(old.claims.iter().filter(|claim| !again(claim)).cloned());
        }
        // 3. Damping.
        if flips.get(&v).copied().unwrap_or(0) > config.flip_threshold {
            new.label = Label::Defer;
        }
        if old.as_ref().is_some_and(|old| old.label != new.label) {
            *flips.entry(v.clone()).or_default() += 1;
        }
        // 4. Update state.
        run.ledger.push((v.clone(), new.clone()));
        run.beliefs.insert(v.clone(), new.clone());
        run.edges.extend(claims.iter().map(Claim::edge));
        history.join(&claims);
        history.finish(&v, Ended::Judged);
        let unvisited = |u: &EntityId| history.visits(u) == 0;
        let causes: BTreeSet<EntityId> = claims.iter().map(|claim| claim.cause.clone()).collect();
        let mut wanted: Vec<EntityId> = causes.into_iter().filter(&unvisited).collect();
        // 5. Propagation.
        let changed = old.is_none_or(|old| old.label != new.label || old.summary != new.summary);
        let notified = if changed { history.adjacent(&v) } else { BTreeSet::new() };
        wanted.extend(notified.iter().cloned());
        // 6. Propose.
        let proposed = decision.proposals.into_iter().map(|proposal| proposal.entity);
        wanted.extend(proposed.filter(|u| history.is_known(u) && unvisited(u)));
        for u in &notified {
            history.arrive(&v, u, &new, true);
        }
        for u in wanted {
            let spent = config.max_visits.is_some_and(|k_max| history.visits(&u) >= k_max);
            if !active.contains(&u) && !spent {
                active.push(u);
            }
        }
        budget -= 1;
    }
    run.converged = active.is_empty();
    run
}

/// The first in line that has cooled down; else the one that will have cooled down first.
fn next(active: &[EntityId], history: &History, config: &Config) -> usize {
    let others = |u: &EntityId| history.others_since(u);
    let cooled = |u: &EntityId| others(u).is_none_or(|others| others >= config.cooldown as usize);
    active.iter().position(cooled).unwrap_or_else(|| {
        let most = active.iter().map(others).max().flatten();
        active.iter().position(|u| others(u) == most).expect("the active set is not empty")
    })
}
