//! The rules, one in each file.

mod a_persons_word;
pub(super) mod accounted_for_by_nobody;
mod accounted_for_upstream;
mod cause_not_found;
mod changed_next_door;
mod changed_upstream;
mod crowded;
pub(super) mod crowds_out;
mod degraded_upstream;
mod demand_enters_here;
mod demand_from_outside;
pub(super) mod does_not_answer;
mod ended_by_an_answer;
mod errors_begin_here;
mod errors_passed_on;
mod failing_callee;
mod failure_of_a_part;
pub(super) mod far_upstream;
pub(super) mod first_in_trouble;
mod gets_nothing_done;
mod holds_up_callers;
mod its_answers_end_requests;
mod less_arrives;
mod no_findings;
pub(super) mod no_longer_available;
mod no_part_in_it;
mod nothing_unusual;
mod on_the_path;
mod own_change;
pub(super) mod own_failure;
mod rests_on_what_fails;
pub(super) mod source_of_demand;
mod stops_short;
pub(super) mod traffic_amplification;
mod turned_away;

use super::rule::{Nature, Rule};

/// What an origin rests on that a rule of this name found.
pub(super) fn nature_of(rule: Option<&str>) -> Nature {
    let found = RULES.iter().find(|one| Some(one.name) == rule);
    found.map_or(Nature::Other, |rule| rule.nature)
}

/// All rules, the more specific first. The order decides only between explanations that are equal
/// otherwise. The last always proposes something.
pub(super) const RULES: [Rule; 35] = [
    no_part_in_it::RULE,
    demand_from_outside::RULE,
    own_change::RULE,
    source_of_demand::RULE,
    crowds_out::RULE,
    crowded::RULE,
    traffic_amplification::RULE,
    gets_nothing_done::RULE,
    own_failure::RULE,
    failing_callee::RULE,
    accounted_for_upstream::RULE,
    errors_passed_on::RULE,
    failure_of_a_part::RULE,
    no_longer_available::RULE,
    holds_up_callers::RULE,
    demand_enters_here::RULE,
    changed_upstream::RULE,
    ended_by_an_answer::RULE,
    its_answers_end_requests::RULE,
    errors_begin_here::RULE,
    accounted_for_by_nobody::RULE,
    degraded_upstream::RULE,
    on_the_path::RULE,
    rests_on_what_fails::RULE,
    turned_away::RULE,
    less_arrives::RULE,
    changed_next_door::RULE,
    stops_short::RULE,
    first_in_trouble::RULE,
    does_not_answer::RULE,
    a_persons_word::RULE,
    far_upstream::RULE,
    cause_not_found::RULE,
    nothing_unusual::RULE,
    no_findings::RULE,
];
