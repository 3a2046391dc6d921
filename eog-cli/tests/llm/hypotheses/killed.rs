//! `kill -9` while several specialists are asked at once.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{HYPOTHESES, undisturbed};
use crate::llm::crash::times;
use crate::llm::detective::{detect, specialist};
use crate::llm::lab::{Lab, flash_sale};
use crate::llm::server::{Asked, Reply, Server};

/// Which requests have no answer before the kill.
type Held = fn(&Asked) -> bool;

fn acts(asked: &Asked, before: usize) -> bool {
    asked.phase() == "search_investigate" && asked.said().len() == before
}

/// Model calls whose answers are stored beside the journal.
fn stored(lab: &Lab) -> usize {
    let text = std::fs::read_to_string(lab.path("run.journal.side.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.contains("\"outside\"") && line.contains("\"chat ")).count()
}

/// Three lanes are under way. What was answered is stored, what was not is all that is asked again.
#[test]
fn killed_amid_three_lanes_it_repeats_what_had_no_answer() {
    let (expected, all) = undisturbed(&[]);
    let moments: [(&str, Held, usize); 5] = [
        ("first calls", |asked| acts(asked, 0), 3),
        ("second calls", |asked| acts(asked, 1), 3),
        ("third calls", |asked| acts(asked, 2), 3),
        // The others have ended; one is committed before it, or none.
        ("the last lane", |asked| acts(asked, 1) && specialist(asked) == "traces", 1),
        ("the first lane", |asked| acts(asked, 1) && specialist(asked) == "metrics", 1),
    ];
    for (name, held, count) in moments {
        let is_silent = Arc::new(AtomicBool::new(true));
        let silent = Arc::clone(&is_silent);
        let server =
            Server::start(move |asked| match held(asked) && silent.load(Ordering::SeqCst) {
                true => Reply::Hang,
                false => detect(asked),
            });
        let lab = Lab::at(&server, "");
        let path = flash_sale();
        let path = path.to_str().unwrap();
        let journal = ["investigate", path, "--journal", "run.journal"];
        let mut child = lab
            .eog(&[&journal, &HYPOTHESES[..]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Nothing else can come: what is held is held, and the rest is answered and stored.
        let ends = |seen: &[Asked]| {
            let lanes = seen.iter().filter(|asked| asked.phase() == "search_investigate");
            let finished = lanes.filter(|asked| asked.answered && is_finish(asked)).count();
            seen.iter().filter(|asked| held(asked)).count() == count && finished == 3 - count
        };
        server.wait(ends);
        let limit = Instant::now() + Duration::from_secs(60);
        while stored(&lab) < server.seen().len() - count {
            assert!(Instant::now() < limit, "{name}: {} of {}", stored(&lab), server.seen().len());
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let unanswered = server.seen();
        is_silent.store(false, Ordering::SeqCst);

        let run = lab.run(&["resume", "run.journal", path, "--out", "out", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.said);
        let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
        assert!(ledger == expected, "{name}: another ledger");
        let times = times(&server.seen(), &all);
        let had_none =
            |of: &Asked| unanswered.iter().any(|asked| !asked.answered && asked.body == of.body);
        let once = all.iter().map(|asked| 1 + usize::from(had_none(asked)));
        assert!(once.eq(times.iter().copied()), "{name}: {times:?}");
        assert_eq!(times.iter().sum::<usize>(), all.len() + count, "{name}");
    }
}

/// Whether this model finishes its lane with the answer to this.
fn is_finish(asked: &Asked) -> bool {
    matches!(detect(asked), Reply::Answer(text) if text.contains("\"finish\""))
}
