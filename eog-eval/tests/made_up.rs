//! Incidents of made-up systems as they are investigated: ledgers, knock-outs, an early end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog_eval::EvalError;
use eog_eval::generated::{Kind, evaluate};
use eog_eval::suite::Options;
use eog_sre::Stop;

#[test]
fn ledgers_are_kept_and_causes_taken_out() {
    let dir = tempfile::tempdir().unwrap();
    let out = Some(dir.path().join("ledgers"));
    let options = Options { knock_out: true, out, ..Options::runs(1) };
    let report = evaluate(Kind::Pipeline, 1..=3, &options, &mut |_, _, _| {}).unwrap();
    assert_eq!(report.cases.len(), 3, "{report}");
    // No change caused the first incident.
    let knocked_out: Vec<_> = report.cases.iter().map(|case| case.knocked_out.is_some()).collect();
    assert_eq!(knocked_out, [false, true, true], "{report}");
    assert_eq!(std::fs::read_dir(dir.path().join("ledgers")).unwrap().count(), 5);
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
            // The one that is announced is still to come.
            done.store(at + 1, Ordering::Relaxed);
        })
    };
    let report = stopped_after(2).unwrap();
    assert_eq!((report.cases.len(), report.not_scored), (2, 7), "{report}");
    assert!(report.to_string().contains("stopped: 7 more cases are not scored"), "{report}");
    assert!(matches!(stopped_after(0), Err(EvalError::Stopped)));
}
