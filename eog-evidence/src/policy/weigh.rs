//! The comparison of explanations.

use eog_core::contract::Alternative;
use eog_core::{Decision, Label};

use super::accounts::{accounts_for_the_alert, cite_what_dates_the_harm, complete};
use super::books::{has_lesser_part, is_minor};
use super::elsewhere;
use super::explanation::{Explanation, Standing};
use super::facts::Facts;
use super::rule::Nature;
use super::rules::RULES;
use super::second_look;
use crate::signs::MAJORITY;
use crate::text::shorten;

/// At most this many explanations are told beside the one taken.
const MAX_ALTERNATIVES: usize = 5;

/// Longest text of an alternative, in characters.
const MAX_TEXT: usize = 300;

/// At most this many ids for an alternative.
const MAX_CITED: usize = 4;

/// Why an explanation is passed over at a dead end.
const TRIED: &str = "what it names was tried, and leads nowhere";

/// Why an entity is no origin that measurably has next to nothing of the trouble.
const TOO_LITTLE: &str = "next to nothing of what alerts show can come from here";

/// Why an entity is no origin beside others that measurably has the lesser part of the trouble.
const LESSER_PART: &str =
    "less than half of what any alert shows can come from here, and other origins are found";

/// A proposed explanation, with what it is compared by.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) explanation: Explanation,
    pub(super) rule: &'static str,
    merit: Merit,
}

/// What explanations are compared by: the first difference decides, the greater is better. Each is
/// a fact about the packet; nothing is added up, so that no weights are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    /// Agrees with what is known of time, and with what people said.
    standing: Standing,
    /// Speaks of a kind of trouble that leads to what the alert speaks of.
    accounts_for_the_alert: bool,
    /// Accounts for most of the harm, or how much is not known.
    accounts_for_most: bool,
    /// Names, at a second opinion, an origin with a change where the entity has none.
    yields_to_a_rival: bool,
}

impl Weighed {
    /// All explanations of a packet, best first. Of equals the one of the more specific rule comes
    /// first, which is the order of the rules; of one rule the one that fits better.
    pub(super) fn all(facts: &Facts<'_>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for rule in &RULES {
            for mut explanation in (rule.propose)(facts) {
                complete(&mut explanation, facts);
                // By what it rests on alone, not by what dates the harm.
                let accounts_for_the_alert = accounts_for_the_alert(&explanation, facts);
                cite_what_dates_the_harm(&mut explanation.decision, facts);
                heed(&mut explanation, rule.nature, facts);
                explanation.decision.rule = Some(rule.name.to_owned());
                let merit = Merit {
                    standing: explanation.standing,
                    accounts_for_the_alert,
                    accounts_for_most: explanation.share.is_none_or(|share| share >= MAJORITY),
                    yields_to_a_rival: second_look::yields_to_a_rival(&explanation, facts),
                };
                all.push(Self { explanation, rule: rule.name, merit });
            }
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.merit));
        all
    }

    /// Why another explanation is better.
    fn lost_to(&self, better: &Self) -> String {
        let (own, other) = (self.merit, better.merit);
        if own.standing < other.standing {
            let doubt = || match own.standing {
                Standing::Unexplained => "it explains nothing",
                _ => "it is less certain",
            };
            return self.explanation.doubt.clone().unwrap_or_else(|| doubt().to_owned());
        }
        if own.accounts_for_the_alert != other.accounts_for_the_alert {
            return "it speaks of another kind of trouble than the alert".to_owned();
        }
        if own.accounts_for_most != other.accounts_for_most {
            return "it accounts for less than half of the harm".to_owned();
        }
        if own.yields_to_a_rival != other.yields_to_a_rival {
            return "a rival that was changed explains as much".to_owned();
        }
        match self.explanation.doubt.clone() {
            Some(doubt) => doubt,
            None => format!("{} is the more specific explanation", better.rule),
        }
    }

    fn alternative(&self, lost: &str, facts: &Facts<'_>) -> Alternative {
        let Decision { label, summary, evidence, .. } = &self.explanation.decision;
        let mut causes = self.explanation.causes(facts.entity).into_iter();
        let cause = causes.next().filter(|cause| *cause != facts.entity).cloned();
        Alternative {
            label: *label,
            rule: Some(self.rule.to_owned()),
            cause,
            summary: shorten(summary, MAX_TEXT),
            lost: shorten(lost, MAX_TEXT),
            evidence: evidence.iter().take(MAX_CITED).cloned().collect(),
        }
    }
}

/// What people say of the entity counts for what it says, and who has no part in the trouble is not its
/// origin.
fn heed(explanation: &mut Explanation, nature: Nature, facts: &Facts<'_>) {
    if explanation.decision.label != Label::Origin {
        return;
    }
    if facts.is_cleared() {
        explanation.lower(Standing::Refuted, "a person says that it is not the cause");
    } else if is_minor(facts) {
        explanation.lower(Standing::Refuted, TOO_LITTLE);
    } else if elsewhere::tells_of_others(facts) && has_lesser_part(facts) {
        explanation.lower(Standing::Refuted, LESSER_PART);
    } else if let Some(other) = elsewhere::found_instead(nature, facts) {
        let doubt = format!("{other} failed, or takes what others need, and can be the cause");
        explanation.lower(Standing::Refuted, doubt);
    } else if facts.is_stated() && explanation.standing > Standing::Unexplained {
        explanation.standing = Standing::Stated;
    }
}

/// The decision by the best explanation, with the others beside it.
pub(super) fn decide(facts: &Facts<'_>) -> Option<Decision> {
    let all = Weighed::all(facts);
    if !facts.still_ends && second_look::still_ends(&all, facts) {
        return decide(&Facts { still_ends: true, ..facts.clone() });
    }
    let taken = second_look::taken(&all, facts);
    let best = all.get(taken)?;
    let mut decision = best.explanation.decision.clone();
    let others = all
        .iter()
        .enumerate()
        .filter(|(place, other)| *place != taken && other.merit.standing != Standing::Unexplained);
    let told = others.take(MAX_ALTERNATIVES).map(|(place, other)| {
        // What stands before the one taken was passed over at a dead end.
        let lost = if place < taken { TRIED.to_owned() } else { other.lost_to(best) };
        other.alternative(&lost, facts)
    });
    decision.alternatives = told.collect();
    Some(decision)
}
