//! Incidents of every kind of made-up system: what must hold of each, whatever the seed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use eog::Timestamp;
use eog::evidence::PeerRole;
use eog_eval::generated::{Generated, Kind, World, incident};
use eog_evidence::SpanRecord;

const KINDS: [Kind; 6] =
    [Kind::Services, Kind::Pipeline, Kind::Chains, Kind::Events, Kind::Batch, Kind::Monolith];

fn worlds() -> impl Iterator<Item = World> {
    let worlds = |kind| [false, true].map(|without_changes| World { kind, without_changes });
    KINDS.into_iter().flat_map(worlds)
}

fn made(seeds: std::ops::RangeInclusive<u64>) -> impl Iterator<Item = (World, u64, Generated)> {
    worlds().flat_map(move |world| {
        seeds.clone().map(move |seed| (world, seed, incident(world, seed).unwrap()))
    })
}

#[test]
fn equal_seeds_give_equal_bytes_and_other_seeds_others() {
    for world in worlds() {
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        for (dir, seeds) in dirs.iter().zip([2..=3, 2..=2]) {
            eog_eval::generated::write(world, seeds, dir.path()).unwrap();
        }
        let read = |at: usize, file: &str| std::fs::read(dirs[at].path().join(file)).unwrap();
        for entry in std::fs::read_dir(dirs[0].path().join("case-00002")).unwrap() {
            let file = format!("case-00002/{}", entry.unwrap().file_name().display());
            assert!(read(0, &file) == read(1, &file), "{world:?}: {file}");
        }
        let truth = "case-00002.truth.json";
        assert!(read(0, truth) == read(1, truth), "{world:?}");
        assert!(read(0, "case-00002/metrics.csv") != read(0, "case-00003/metrics.csv"));
    }
}

#[test]
fn causes_are_parts_of_the_system_and_alerts_follow_them() {
    for (world, seed, made) in made(1..=2) {
        let said = format!("{world:?} {seed}");
        let Generated { bundle, truth } = made;
        let entities: BTreeSet<_> = bundle.manifest.topology.entities.iter().collect();
        assert!((5..=85).contains(&entities.len()), "{said}: {}", entities.len());
        assert!(!truth.causes.is_empty() && !truth.group.is_empty(), "{said}");
        assert!(truth.causes.iter().all(|cause| entities.contains(cause)), "{said}");
        let since = truth.since.unwrap();
        assert!(!bundle.alerts.is_empty(), "{said}");
        assert!(bundle.alerts.iter().all(|alert| alert.onset > since), "{said}");
        // Changes of causes at the time at which causes begin are the causes.
        let changes = &bundle.changes;
        let of_cause = |time: Timestamp, entity| time == since && truth.causes.contains(entity);
        let guilty = changes.iter().filter(|one| of_cause(one.time, &one.entity)).count();
        if truth.without_change {
            assert_eq!(guilty, 0, "{said}");
        } else if truth.causes.len() == 1 {
            assert_eq!(guilty, 1, "{said}");
        }
        assert!(truth.without_change || !world.without_changes, "{said}");
        assert!(changes.len() > guilty, "{said}: harmless changes stay");
    }
}

#[test]
fn behind_a_gateway_nothing_is_changed_and_the_cause_is_a_service() {
    let (mut entities, mut callees, mut lines) = (0, 0, 0);
    for seed in 1..=6 {
        let Generated { bundle, truth } = incident(Kind::Gateway, seed).unwrap();
        let [cause] = truth.causes.iter().collect::<Vec<_>>()[..] else { panic!("{seed}") };
        assert!(bundle.changes.is_empty() && truth.without_change, "{seed}");
        assert!(bundle.manifest.topology.entities.contains(cause), "{seed}");
        let since = truth.since.unwrap();
        assert!(bundle.alerts.iter().all(|alert| alert.onset > since), "{seed}");
        // Both times are on record in every kind of telemetry.
        let spans = bundle.spans.iter().map(|span| span.time);
        assert!(spans.clone().any(|at| at < since) && spans.clone().any(|at| at > since));
        let gate = bundle.manifest.topology.edges.iter().find(|edge| edge.relation == "sends_load");
        let gate = &gate.unwrap().target;
        let edges = bundle.manifest.topology.edges.iter();
        callees += edges.filter(|edge| edge.source == *gate && edge.relation == "calls").count();
        entities += bundle.manifest.topology.entities.len();
        lines += bundle.logs.iter().filter(|(_, line)| line.message.contains("trace_id=")).count();
    }
    assert!((60..=84).contains(&callees), "{callees}");
    assert!((180..=420).contains(&entities), "{entities}");
    assert!(lines > 1_000, "{lines}");
    let write = || {
        let dir = tempfile::tempdir().unwrap();
        eog_eval::generated::write(Kind::Gateway, 3..=3, dir.path()).unwrap();
        std::fs::read(dir.path().join("case-00003/spans.csv")).unwrap()
    };
    assert!(write() == write());
}

#[test]
fn spans_nest_and_errors_are_passed_on() {
    let (mut traces, mut failed, mut passed) = (0, 0, 0);
    for (world, seed, made) in made(5..=5) {
        let said = format!("{world:?} {seed}");
        let mut spans: BTreeMap<(&str, &str), &SpanRecord> = BTreeMap::new();
        for span in &made.bundle.spans {
            let ids = span.ids.as_ref().unwrap();
            assert!(spans.insert((&ids.trace, &ids.span), span).is_none(), "{said}");
        }
        for span in &made.bundle.spans {
            let ids = span.ids.as_ref().unwrap();
            let Some(parent) = &ids.parent else {
                traces += 1;
                continue;
            };
            let parent = spans[&(ids.trace.as_str(), parent.as_str())];
            let by_message = matches!(&span.peer, Some(peer) if peer.role == PeerRole::Mentioned);
            assert!(span.time >= parent.time, "{said}");
            // Messages are worked on when their turn comes, not while they are sent.
            if !by_message {
                assert!(end(span) <= end(parent) + 0.02, "{said}: {span:?} in {parent:?}");
            }
            if span.failed == Some(true) {
                failed += 1;
                passed += u32::from(parent.failed == Some(true));
            }
        }
    }
    assert!(traces > 500, "{traces}");
    assert!(failed > 0 && passed > 0 && passed < failed, "{passed} of {failed}");
}

/// The end of a span, in milliseconds.
fn end(span: &SpanRecord) -> f64 {
    span.time.as_microsecond() as f64 / 1_000.0 + span.duration_ms
}

#[test]
fn lines_report_what_goes_well_too() {
    // One of them may be an incident without logs.
    let all = (3..=5).map(|seed| incident(Kind::Chains, seed).unwrap().bundle.logs);
    let logs: Vec<_> = all.flatten().collect();
    let info = logs.iter().filter(|(_, line)| line.level == "info").count();
    assert!(info > 500, "{info} of {}", logs.len());
}
