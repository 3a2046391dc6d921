//! Incidents of made-up systems: equal seeds, equal bytes; what a knock-out takes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog_eval::EvalError;
use eog_eval::generated::{Kind, evaluate, incident};
use eog_eval::suite::Options;
use eog_sre::Stop;

const KINDS: [Kind; 2] = [Kind::Services, Kind::Pipeline];

#[test]
fn equal_seeds_give_equal_incidents_and_other_seeds_others() {
    for kind in KINDS {
        let [one, again, other] = [3, 3, 4].map(|seed| incident(kind, seed).unwrap());
        assert!(one.bundle == again.bundle && one.truth == again.truth);
        assert!(one.bundle != other.bundle);
    }
}

#[test]
fn an_alert_follows_the_cause_and_every_change_but_one_is_innocent() {
    for kind in KINDS {
        for seed in 1..=12 {
            let made = incident(kind, seed).unwrap();
            let since = made.truth.since.unwrap();
            assert!(made.bundle.alerts.iter().all(|alert| alert.onset > since), "{seed}");
            let cause = made.truth.causes.first().unwrap();
            let is_cause = |time, entity| time == since && entity == cause;
            let changes = &made.bundle.changes;
            let guilty = changes.iter().filter(|one| is_cause(one.time, &one.entity)).count();
            assert_eq!(guilty, usize::from(!made.truth.without_change), "{seed}");
            assert!(changes.len() > guilty, "{seed}");
        }
    }
}

#[test]
fn ledgers_are_kept_and_causes_taken_out() {
    let dir = tempfile::tempdir().unwrap();
    let out = Some(dir.path().join("ledgers"));
    let options = Options { knock_out: true, out, ..Options::runs(1) };
    let report = evaluate(Kind::Pipeline, 1..=3, &options, &mut |_, _, _| {}).unwrap();
    assert_eq!(report.cases.len(), 3, "{report}");
    assert!(report.cases.iter().all(|case| case.knocked_out.is_some()), "{report}");
    assert_eq!(std::fs::read_dir(dir.path().join("ledgers")).unwrap().count(), 6);
    assert!(report.calibration.unwrap().knocked_out.is_some());
}

#[test]
fn what_was_scored_stands_when_it_is_stopped() {
    let stopped_after = |cases: usize| {
        let done = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&done);
        let stop = Stop::when(move || seen.load(Ordering::Relaxed) >= cases);
        let options = Options { stop: Some(stop), ..Options::runs(1) };
        evaluate(Kind::Pipeline, 1..=9, &options, &mut |at, _, _| {
            // The one that is told of is still to come.
            done.store(at + 1, Ordering::Relaxed);
        })
    };
    let report = stopped_after(2).unwrap();
    assert_eq!((report.cases.len(), report.not_scored), (2, 7), "{report}");
    assert!(report.to_string().contains("stopped: 7 more cases are not scored"), "{report}");
    assert!(matches!(stopped_after(0), Err(EvalError::Stopped)));
}
