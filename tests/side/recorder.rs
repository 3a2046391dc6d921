//! Calls outside the loop: asked once, by one process after another, and never used unstored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog::controller::Concurrency;
use eog::side::{Durability, RecordError, SideError, SideFile, SideRecord};
use eog::{
    AbductivePolicy, Answer, BoxFuture, CallRecorder, Config, ContextPacket, Engine, Failure,
    StopReason, Usage,
};
use eog_testkit::{Call, Faulty, MemoryContext, SimDisk, healthy, policy_fn, seeded, topology};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::making::{cost, evaluation, folder, second};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Window {
    start: String,
    share: f64,
}

fn window() -> Window {
    Window { start: "10:00".to_owned(), share: 0.1 + 0.2 }
}

fn never<T>() -> impl AsyncFnOnce() -> Result<(T, Usage), Failure> {
    async || panic!("it is asked again")
}

#[tokio::test]
async fn what_one_process_asked_the_next_takes_from_the_file() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let (recorder, found) = CallRecorder::beside(&journal).unwrap();
    assert_eq!(found.records, []);
    let recorder = recorder.with_clock(|| second(7));
    let asked = recorder.call("window", &("web", 5), async || Ok((window(), cost(30)))).await;
    assert_eq!(asked.unwrap(), window());
    assert_eq!((recorder.take_usage(), recorder.take_usage()), (cost(30), Usage::default()));
    drop(recorder);

    let (recorder, found) = CallRecorder::beside(&journal).unwrap();
    let again = recorder.call("window", &("web", 5), never::<Window>()).await;
    assert_eq!(again.unwrap(), window());
    assert_eq!(recorder.take_usage(), Usage::default(), "it was paid for before");
    assert_eq!(found.usage_so_far(), cost(30));
    let key = CallRecorder::key("window", &("web", 5)).unwrap();
    assert_eq!(found.outside(&key), Some(&json!({ "start": "10:00", "share": 0.1 + 0.2 })));
    let SideRecord::Outside { at, name, .. } = &found.records[0] else { panic!("{found:?}") };
    assert_eq!((*at, name.as_str()), (second(7), "window"));
    // Another name or content is another call.
    for (name, number) in [("filter", 5), ("window", 6)] {
        let other = recorder.call(name, &("web", number), async || Ok((1, cost(1)))).await;
        assert_eq!(other.unwrap(), 1);
    }
    assert_eq!(recorder.take_usage().cost_micro_usd, 2);
}

#[tokio::test]
async fn without_a_file_it_remembers_as_long_as_it_lives() {
    let recorder = CallRecorder::in_memory();
    let asked = recorder.call("window", &1, async || Ok((window(), cost(3)))).await;
    assert_eq!(asked.unwrap(), window());
    let again = recorder.clone().call("window", &1, never::<Window>()).await;
    assert_eq!(again.unwrap(), window());
    recorder.append(&[evaluation(1, 100)], Durability::Lazy).unwrap();
    let fresh = CallRecorder::in_memory().call("window", &1, async || Ok((2, cost(3)))).await;
    assert_eq!(fresh.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn equal_calls_at_the_same_time_ask_once() {
    let disk = SimDisk::new();
    let (side, found) = SideFile::on(disk.clone()).unwrap();
    let recorder = CallRecorder::on(side, &found);
    let asked = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let (recorder, asked) = (recorder.clone(), Arc::clone(&asked));
            tokio::spawn(async move {
                let ask = async || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    Ok((n % 2, cost(1)))
                };
                recorder.call("part", &(n % 2), ask).await
            })
        })
        .collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap().unwrap(), n % 2);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert_eq!(recorder.take_usage().cost_micro_usd, 2);
    assert_eq!(recorder.wall(), Duration::from_secs(3), "both at the same time");
    assert_eq!(disk.bytes().iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_or_is_dropped_is_asked_again() {
    let (side, found) = SideFile::on(SimDisk::new()).unwrap();
    let recorder = CallRecorder::on(side, &found);
    let failing = async || Err(Failure { usage: cost(5), ..Failure::policy("no reply") });
    let error = recorder.call::<u32, _>("finalize", &1, failing).await.unwrap_err();
    assert_eq!(error.to_string(), "the call \"finalize\" failed: no decision: no reply");
    assert_eq!(recorder.take_usage(), cost(5), "it is paid for all the same");

    let slow = async || {
        tokio::time::sleep(Duration::from_secs(9)).await;
        Ok((1, cost(1)))
    };
    let dropped = recorder.call("finalize", &1, slow);
    assert!(tokio::time::timeout(Duration::from_secs(2), dropped).await.is_err());
    assert_eq!(recorder.wall(), Duration::from_secs(2));
    let answer = recorder.call("finalize", &1, async || Ok((3, cost(1)))).await;
    assert_eq!(answer.unwrap(), 3);
}

#[tokio::test]
async fn the_cost_of_a_failure_outlives_the_process() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let (recorder, _) = CallRecorder::beside(&journal).unwrap();
    let failing = async || Err(Failure { usage: cost(5), ..Failure::policy("no reply") });
    recorder.call::<u32, _>("finalize", &1, failing).await.unwrap_err();
    let found = SideFile::read(SideFile::path_beside(&journal)).unwrap();
    assert_eq!(found.records, [SideRecord::Wasted { calls: 1, usage: cost(5) }]);
}

#[tokio::test]
async fn an_answer_that_is_not_stored_is_not_used_and_no_more_are_paid_for() {
    let disk = SimDisk::new();
    let (side, found) = SideFile::on(disk.clone()).unwrap();
    let recorder = CallRecorder::on(side, &found);
    disk.fail_sync();
    let error = recorder.call("window", &1, async || Ok((1, cost(4)))).await.unwrap_err();
    assert!(matches!(error, RecordError::NotStored(SideError::NotWritten { .. })), "{error}");
    assert_eq!(recorder.take_usage(), cost(4));
    let error = recorder.call::<u32, _>("window", &1, never()).await.unwrap_err();
    assert!(matches!(error, RecordError::NotStored(SideError::Poisoned { .. })), "{error}");
    disk.crash(1);
    let (_, found) = SideFile::on(disk).unwrap();
    assert_eq!(found.records, []);
}

#[tokio::test]
async fn an_answer_is_on_disk_before_it_is_used() {
    let disk = SimDisk::new();
    let (side, found) = SideFile::on(disk.clone()).unwrap();
    let recorder = CallRecorder::on(side, &found);
    recorder.append(&[evaluation(1, 100)], Durability::Lazy).unwrap();
    recorder.call("window", &1, async || Ok((window(), cost(4)))).await.unwrap();
    disk.crash(3);
    let (side, found) = SideFile::on(disk).unwrap();
    assert_eq!(found.records.len(), 2);
    let again = CallRecorder::on(side, &found).call("window", &1, never::<Window>()).await;
    assert_eq!(again.unwrap(), window());
}

#[tokio::test]
async fn an_answer_of_another_type_is_named() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let (recorder, _) = CallRecorder::beside(&journal).unwrap();
    recorder.call("window", &1, async || Ok(("ten".to_owned(), cost(1)))).await.unwrap();
    let key = CallRecorder::key("window", &1).unwrap();
    let assert_named = async |recorder: &CallRecorder| {
        let error = recorder.call::<Window, _>("window", &1, never()).await.unwrap_err();
        let RecordError::Unreadable { name, key: found, reason } = &error else {
            panic!("{error}");
        };
        assert_eq!((name.as_str(), *found), ("window", key));
        assert!(reason.contains("expected struct Window"), "{error}");
    };
    assert_named(&recorder).await;
    drop(recorder);
    assert_named(&CallRecorder::beside(&journal).unwrap().0).await;
}

#[tokio::test]
async fn what_is_no_json_is_an_error_and_not_a_panic() {
    let recorder = CallRecorder::in_memory();
    let key = BTreeMap::from([((1, 2), 3)]);
    let error = recorder.call::<u32, _>("window", &key, never()).await.unwrap_err();
    assert!(matches!(error, RecordError::NotJson { what: "key", .. }), "{error}");
    let answer = async || Ok((BTreeMap::from([((1, 2), 3)]), cost(1)));
    let error = recorder.call("window", &1, answer).await.unwrap_err();
    assert!(matches!(error, RecordError::NotJson { what: "answer", .. }), "{error}");
    // JSON has no such number: it would come back as something else.
    let error = recorder.call("share", &1, async || Ok((f64::NAN, cost(1)))).await.unwrap_err();
    assert!(matches!(error, RecordError::Unreadable { .. }), "{error}");
}

/// Found by the fault simulator: the budget forgot what was spent before the engine began.
#[tokio::test]
async fn what_was_spent_outside_counts_when_the_file_takes_no_more() {
    let disk = SimDisk::new();
    let (side, records) = SideFile::on(disk.clone()).unwrap();
    let recorder = CallRecorder::on(side, &records);
    recorder.call("window", &1, async || Ok((1, cost(30)))).await.unwrap();
    disk.cut_power_after(0);
    let ended = Engine::new(MemoryContext::default(), policy_fn(healthy))
        .with_recorder(recorder, Usage::default())
        .investigate(Config::default(), seeded(topology("a"), ["a"]))
        .await;
    assert!(ended.side_error.is_some());
    assert_eq!(ended.spent().usage, cost(30));
}

struct Priced;

impl AbductivePolicy for Priced {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Ok(Answer { usage: cost(30), ..healthy(packet).into() }) })
    }
}

/// Found by the fault simulator: `b` is answered and waits for `a`, which never is. What `b` cost
/// must be known to the next process, which asks again.
#[tokio::test(start_paused = true)]
async fn what_a_cancelled_evaluation_cost_is_in_the_file() {
    let disk = SimDisk::new();
    let (side, records) = SideFile::on(disk.clone()).unwrap();
    let (handle, controls) = eog::handle();
    let window = Concurrency::Window(2.try_into().unwrap());
    let engine = Engine::new(MemoryContext::default(), Faulty::new(Priced).hang(Call::of("a")))
        .with_recorder(CallRecorder::on(side, &records), Usage::default())
        .with_controls(controls);
    let config = Config { concurrency: window, ..Config::default() };
    let investigation = engine.investigate(config, seeded(topology("a; b"), ["a", "b"]));
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.cancel();
    };
    let (ended, ()) = tokio::join!(investigation, cancel);
    assert_eq!((ended.stop, ended.spent().usage), (StopReason::Cancelled, cost(30)));
    let (_, records) = SideFile::on(disk).unwrap();
    assert_eq!(records.usage_so_far(), cost(30));
}
