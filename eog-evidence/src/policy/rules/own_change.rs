//! The rule *own change*.

use eog_core::evidence::Signal;
use eog_core::incident::Onset;
use eog_core::{Decision, EntityId, EvidenceId, EvidenceKind, Finding, Label, Timestamp};

use crate::effect_map::ABOUT_AS_NEAR;
use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::books::own_part;
use crate::policy::delay::{LONG_BEFORE, shows_a_delay};
use crate::policy::elsewhere::{begins_late, fails_by_itself_elsewhere};
use crate::policy::explanation::{Explanation, Standing};
use crate::policy::facts::{Facts, begins_after};
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};
use crate::policy::rules::{first_in_trouble, nature_of};
use crate::policy::times::{Delay, first_of, made, surely_before};
use crate::signs::is_executed_experiment;

/// At most this many own changes are cited.
const MAX_CHANGES: usize = 3;

/// Why a change is doubted where somebody upstream does worse.
const NOT_AT_ONCE: &str = "the harm did not follow the change at once";

/// Longest quotation of what a change explains, in characters: it names the whole path.
const MAX_IMPACT: usize = 400;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "own change",
    when: "an own change that is no restart, with what it can explain: an impact; without a route an accusation; or harm that begins after it and that no route fits better",
    decides: "`origin`; itself → next hop of the first impact, else → the accuser",
    nature: Nature::Other,
    propose,
};

/// **Own change.** A change of the entity explains what follows it: an anomaly that it reaches (an
/// impact note), a neighbour that names the entity as its cause, or harm to the entity.
///
/// Changes of one entity are rivals of each other. The one nearest before the harm comes first;
/// another that fits alike is cited beside it, so that nothing is certain then. Changes made at one
/// time are one act.
///
/// A change of demand needs traffic of the entity that rises with it or later. A fault experiment
/// that is only defined needs an event that says it ran. A restart is an effect (paper B.6, "what
/// changed").
fn propose(facts: &Facts<'_>) -> Vec<Explanation> {
    let mut backed: Vec<Backed<'_>> =
        facts.changes.iter().filter_map(|change| Backed::by(change, facts)).collect();
    backed.sort_by(|a, b| {
        let order = |one: &Backed<'_>| (std::cmp::Reverse(one.standing), one.delay.least);
        let impact = |one: &Backed<'_>| (one.impacts.is_empty(), one.change.id().clone());
        order(a).cmp(&order(b)).then_with(|| impact(a).cmp(&impact(b)))
    });
    let mut explanations: Vec<Explanation> = Vec::new();
    let mut told: Vec<Onset> = Vec::new();
    for one in &backed {
        if told.contains(&one.made) {
            continue;
        }
        let mut explanation = one.explanation(&backed, facts);
        if let Some(best) = backed.first().filter(|_| !told.is_empty())
            && explanation.doubt.is_none()
        {
            explanation.doubt = Some(if best.fits_alike(one) {
                "another change fits alike, and nothing tells them apart".to_owned()
            } else {
                "another change lies much nearer before the harm".to_owned()
            });
        }
        explanations.push(explanation);
        told.push(one.made);
    }
    explanations
}

/// A change together with what it explains.
struct Backed<'a> {
    change: &'a Finding,
    made: Onset,
    /// Anomalies that follow and are reached.
    impacts: Vec<&'a Finding>,
    accused: bool,
    /// The first own harm that follows.
    harm: Option<&'a Finding>,
    /// What shows that the change took effect, where that is not certain from the change alone.
    witness: Option<&'a Finding>,
    delay: Delay,
    standing: Standing,
    doubt: Option<String>,
}

impl<'a> Backed<'a> {
    fn by(change: &'a Finding, facts: &Facts<'a>) -> Option<Self> {
        let at = change.time.start();
        let witness = match change.signal {
            Signal::Demand => Some(*facts.surges.iter().find(|surge| surge.time.start() >= at)?),
            Signal::Experiment => {
                let ran = |f: &&Finding| is_executed_experiment(f) && f.time.start() >= at;
                Some(facts.findings().iter().find(ran)?)
            }
            _ => None,
        };
        // A note names one change for each anomaly; the others that precede it are its rivals.
        let of_own = |impact: &Finding| {
            facts
                .changes
                .iter()
                .any(|own| own.change == impact.change && own.signal != Signal::Demand)
                && change.signal != Signal::Demand
        };
        let follows = |impact: &&&Finding| {
            (impact.change == change.change || of_own(impact)) && begins_after(impact, at)
        };
        let made = made(change);
        // The next hop suffers from something that was there before.
        let passed_by = |impact: &&&Finding| {
            let next = impact.peer.as_ref().and_then(|peer| facts.message(&peer.entity));
            // What it does by itself is not owed to somebody else's change.
            let by_itself = next.is_some_and(|belief| {
                belief.label == Label::Origin && nature_of(belief.rule.as_deref()).is_by_itself()
            });
            if by_itself {
                return true;
            }
            let since = next.filter(|belief| belief.label == Label::Symptom);
            let since = since.and_then(|belief| belief.since);
            since.is_some_and(|since| surely_before(&since, &made))
        };
        let followed = facts.impacts.iter().filter(follows);
        let impacts: Vec<&Finding> =
            followed.filter(|impact| !passed_by(impact)).copied().collect();
        // A change elsewhere that reached here and that an anomaly followed passes through here.
        let accused = facts.routes.is_empty() && !facts.accusations.is_empty();
        let harm = if impacts.is_empty() { harm_of(at, facts) } else { facts.first_harm_after(at) };
        if impacts.is_empty() && !accused && harm.is_none() {
            return None;
        }
        let told = harm.or(impacts.first().copied()).map_or(at, |sign| sign.time.start());
        let since = explained_since(&impacts, facts);
        let delay = Delay::to(&made, since, told);
        let mut backed = Self {
            change,
            made,
            impacts,
            accused,
            harm,
            witness,
            delay,
            standing: Standing::Possible,
            doubt: None,
        };
        backed.doubt(since, facts);
        Some(backed)
    }

    /// What speaks against the change.
    fn doubt(&mut self, since: Option<Onset>, facts: &Facts<'_>) {
        let doubt = if since.is_some_and(|since| surely_before(&since, &self.made)) {
            (Standing::Refuted, "the harm was there before the change was made".to_owned())
        } else if self.harm.is_none()
            && self.change.signal != Signal::Demand
            && !facts.is_injected()
            && facts.works_as_usual()
        {
            (Standing::Refuted, "what is measured of its work is all as usual".to_owned())
        } else if self.witness.is_none()
            && !facts.is_stated()
            && let Some(other) = fails_by_itself_elsewhere(since, Some(&self.made), facts)
        {
            let doubt = format!("{other} fails by itself, whatever was changed here");
            (Standing::Refuted, doubt)
        } else if self.witness.is_none()
            && !facts.is_stated()
            && let Some(host) = in_trouble_beneath(since, facts)
        {
            let doubt = format!("{host}, on which it runs, is in trouble by itself");
            (Standing::Doubtful, doubt)
        } else if let Some(other) = earlier_upstream(&self.made, facts) {
            let doubt = format!("{other} upstream did worse before the change was made");
            (Standing::Doubtful, doubt)
        } else if self.delay.is_long()
            && self.change.signal != Signal::Demand
            && !shows_a_delay(&self.made, facts)
        {
            // An alert may be told late; a measured beginning is not.
            let is_measured = facts.harm_since().is_some();
            let standing = if is_measured { Standing::Refuted } else { Standing::Doubtful };
            (standing, LONG_BEFORE.to_owned())
        } else if self.change.signal != Signal::Demand
            && !facts.is_injected()
            && !self.is_followed_at_once(since)
            && let Some(other) = trouble_upstream(facts)
        {
            let doubt = format!("{other} upstream does worse, and {NOT_AT_ONCE}");
            (Standing::Doubtful, doubt)
        } else {
            return;
        };
        (self.standing, self.doubt) = (doubt.0, Some(doubt.1));
    }

    /// Whether harm here is measured to have begun within what cannot be told from at once. Whoever works in runs may
    /// have been changed any time before the run that shows it.
    fn is_followed_at_once(&self, since: Option<Onset>) -> bool {
        let by = |harm: Onset| harm.latest().duration_since(self.made.latest());
        since.is_some_and(|since| by(since) <= ABOUT_AS_NEAR)
    }

    fn fits_alike(&self, other: &Self) -> bool {
        self.standing == other.standing && self.delay.fits_alike(&other.delay)
    }

    /// This change first, then what was changed with it, then what fits alike.
    fn explanation(&self, all: &[Self], facts: &Facts<'_>) -> Explanation {
        let with = all.iter().filter(|other| other.made == self.made);
        let rival = all.iter().find(|other| other.made != self.made && self.fits_alike(other));
        let with = std::iter::once(self.change).chain(with.map(|other| other.change));
        let mut changes: Vec<&Finding> = Vec::new();
        for change in with {
            if changes.iter().all(|known| known.id() != change.id()) {
                changes.push(change);
            }
        }
        changes.truncate(MAX_CHANGES - usize::from(rival.is_some()));
        changes.extend(rival.map(|rival| rival.change));

        let signs = self.impacts.iter().copied().take(2).chain(self.witness).chain(self.harm);
        let mut summary = format!("own change: {}; {}", quote(self.change), self.explains(facts));
        if let Some(rival) = rival {
            summary.push_str(&format!("; another change fits as well: {}", quote(rival.change)));
        }
        let mut decision = decide(Label::Origin, &summary, changes.into_iter().chain(signs));
        rate(&mut decision, facts.entity, self.score());
        decision = self.claim(decision, facts);
        if self.change.signal == Signal::Demand {
            decision = claim_exhausted_callees(decision, facts);
        }
        let doubt = self.doubt.clone();
        Explanation { decision, standing: self.standing, doubt, share: own_part(facts) }
    }

    fn claim(&self, decision: Decision, facts: &Facts<'_>) -> Decision {
        let mut next =
            self.impacts.iter().filter_map(|impact| Some((*impact, impact.peer.as_ref()?)));
        if let Some((impact, peer)) = next.next() {
            let ids: [&EvidenceId; 2] = [self.change.id(), impact.id()];
            let observed = crate::text::shorten(&impact.excerpt, MAX_IMPACT);
            let ends: (&EntityId, &EntityId) = (facts.entity, &peer.entity);
            return decision.claiming(claim(ends, quote(self.change), observed, ids));
        }
        let Some((_, accused)) = facts.accusations.first() else { return decision };
        let ids = std::iter::once(self.change.id()).chain(&accused.evidence);
        let ends = (facts.entity, &accused.effect);
        decision.claiming(claim(ends, quote(self.change), accused.observed.clone(), ids))
    }

    fn score(&self) -> u16 {
        if !self.impacts.is_empty() {
            900
        } else if self.accused {
            800
        } else {
            700
        }
    }

    fn explains(&self, facts: &Facts<'_>) -> String {
        if let Some(impact) = self.impacts.first() {
            return crate::text::shorten(&impact.excerpt, MAX_IMPACT);
        }
        if let Some((sender, _)) = facts.accusations.first() {
            return format!("{sender} names it as its cause");
        }
        self.harm.map_or_else(String::new, |harm| format!("harm follows: {}", quote(harm)))
    }
}

/// Since when there is what an own change would explain: the harm of the entity itself, else that of
/// the next hop that it reaches, else that of those who name it.
fn explained_since(impacts: &[&Finding], facts: &Facts<'_>) -> Option<Onset> {
    let says = |other: &EntityId| {
        let belief = facts.message(other).filter(|belief| belief.label == Label::Symptom)?;
        belief.since
    };
    let reached = || {
        let next = impacts.iter().filter_map(|impact| impact.peer.as_ref());
        first_of(next.filter_map(|peer| says(&peer.entity)))
    };
    let accusers = || first_of(facts.accusations.iter().filter_map(|(sender, _)| says(sender)));
    facts.harm_since().or_else(reached).or_else(accusers)
}

/// The host of the entity, where it was in trouble by itself before anybody else that it knows of, and no later than what is to
/// be explained here.
fn in_trouble_beneath<'a>(since: Option<Onset>, facts: &Facts<'a>) -> Option<&'a EntityId> {
    let is_origin = |other: &EntityId| {
        facts.message(other).is_some_and(|belief| {
            belief.label == Label::Origin
                && belief.rule.as_deref() == Some(first_in_trouble::RULE.name)
                && belief.since.is_some_and(|begun| !begins_late(begun, since, facts))
        })
    };
    facts.hosts().find(|other| is_origin(other))
}

/// Somebody upstream whose trouble was surely there before a change was made here. The time of an
/// origin by a change is that of the change, so it tells nothing of trouble.
fn earlier_upstream<'a>(made: &Onset, facts: &Facts<'a>) -> Option<&'a EntityId> {
    facts.degraded_upstream().into_iter().find(|other| {
        facts.message(other).is_some_and(|belief| {
            let by_change = belief.label == Label::Origin
                && belief.evidence.iter().any(|id| id.kind() == EvidenceKind::Change);
            !by_change && belief.since.is_some_and(|since| surely_before(&since, made))
        })
    })
}

/// Somebody upstream who does worse, as far as is known here: a callee, by what is seen of it or by its own word, or who is
/// hit hardest. A part of the entity, such as its pod, may do so because of the change, and whom the entity calls more often
/// for each request may do so for that.
fn trouble_upstream<'a>(facts: &Facts<'a>) -> Option<&'a EntityId> {
    let is_not_well = |other: &&EntityId| {
        facts.label_of(other) != Some(Label::Healthy) && !facts.is_sent_more(other)
    };
    let callees = facts.failing_callees().into_iter().map(|(callee, _)| callee);
    let hit = facts.hit_upstream().map(|(other, _)| other);
    let degraded = facts.degraded_upstream().into_iter().filter(|other| facts.calls(other));
    callees.chain(degraded).chain(hit).find(is_not_well)
}

/// The first harm that an own change at `at` explains although no alert that it reaches follows.
///
/// With a change elsewhere that has a path here, only where the own change lies nearer before all
/// harm: not in trouble that was there already, and not much farther away.
fn harm_of<'a>(at: Timestamp, facts: &Facts<'a>) -> Option<&'a Finding> {
    let after = facts.first_harm_after(at)?;
    let elsewhere = || facts.routes.iter().map(|route| route.time.start());
    let in_trouble = facts.harms.iter().any(|harm| harm.time.start() <= at);
    let nearer = |time: Timestamp| time.duration_since(at) > ABOUT_AS_NEAR;
    let passes_through =
        facts.is_injected() || elsewhere().any(|time| in_trouble && time <= at || nearer(time));
    (!passes_through).then_some(after)
}
