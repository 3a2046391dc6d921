//! What budgets count of earlier runs.

use std::time::Duration;

use eog::Usage;
use eog::side::{RunStart, SideRecord, SideRecords};

use crate::making::{cost, evaluation, outside, records, run, second, stopped};

fn of(records: Vec<SideRecord>) -> SideRecords {
    SideRecords { records, cut: None }
}

#[test]
fn every_cost_counts_once() {
    let expected = Usage { model_calls: 3, tokens_in: 2700, tokens_out: 240, cost_micro_usd: 1290 };
    assert_eq!(of(records()).usage_so_far(), expected, "an outside call, an evaluation, waste");
    assert_eq!(of(vec![]).usage_so_far(), Usage::default());
    let huge = Usage { tokens_in: u64::MAX, ..cost(1) };
    let wasted = SideRecord::Wasted { calls: 1, usage: huge };
    assert_eq!(of(vec![wasted.clone(), wasted]).usage_so_far().tokens_in, u64::MAX);
}

#[test]
fn the_time_between_runs_does_not_count() {
    let ms = |number| Duration::from_millis(number);
    assert_eq!(of(vec![]).wall_so_far(), ms(0));
    assert_eq!(of(records()).wall_so_far(), ms(3000), "what its end says");
    // Killed: up to its last figure.
    let killed = vec![run(0, RunStart::Began, 0), evaluation(1, 700), evaluation(2, 1800)];
    assert_eq!(of(killed.clone()).wall_so_far(), ms(1800));
    // A day later: a call before the run says so, one within it, and its end.
    let day = 86_400;
    let later = vec![
        outside(day, &1),
        run(day + 1, RunStart::Resumed, 3),
        outside(day + 2, &2),
        stopped(day + 5, 3, 4000),
    ];
    assert_eq!(of([killed, later].concat()).wall_so_far(), ms(1800 + 500 + 4000));
    // Calls at the same time.
    let mut same = vec![outside(1, &1), outside(1, &2)];
    assert_eq!(of(same.clone()).wall_so_far(), ms(500));
    let SideRecord::Outside { took_us, at, .. } = &mut same[1] else { unreachable!() };
    (*took_us, *at) = (u64::MAX, second(0));
    assert!(of(same).wall_so_far() > ms(500), "no sum is too large");
}

#[test]
fn an_outside_answer_is_found_by_its_key() {
    let found = of(vec![outside(1, &"one"), outside(2, &"two"), outside(2, &"again")]);
    assert_eq!(found.outside(&eog::Digest::of(&2_i64)), Some(&"two".into()));
    assert_eq!(found.outside(&eog::Digest::of(&3_i64)), None);
}
