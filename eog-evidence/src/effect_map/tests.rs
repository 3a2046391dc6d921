//! What notes are given on small topologies.

use eog_core::EvidenceKind;
use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent};
use eog_core::incident::EffectDirection;
use proptest::prelude::*;

use super::*;
use crate::steps::counted;
use crate::worlds::shapes::{Changes, Large, SHAPES, Shape};
use crate::worlds::{Small, at, everybody, id, small};

fn change(entity: &str, minute: i64, signal: Signal, path: &str) -> Finding {
    Finding::new(FindingContent {
        change: Some(ChangeDetail { path: path.into(), old: None, new: Some("on".into()) }),
        source: "changes".into(),
        excerpt: path.into(),
        ..FindingContent::new(
            id(entity),
            EvidenceKind::Change,
            signal,
            EvidenceTime::At(at(minute)),
        )
    })
}

fn alert(entity: &str, onset: i64, renewed: &[i64]) -> Anomaly {
    Anomaly {
        renewed: renewed.iter().map(|minute| at(*minute)).collect(),
        ..Anomaly::new(format!("alert-{entity}"), id(entity), Signal::Errors, at(onset))
    }
}

/// `web` calls `cart` and `pay`, both call `db`; `flags` configures `web`, `cart` and `pay`.
fn shop() -> Topology {
    let mut topology = Topology::default();
    for (caller, callee) in [("web", "cart"), ("web", "pay"), ("cart", "db"), ("pay", "db")] {
        topology.connect(&id(caller), "calls", &id(callee), EffectDirection::TargetToSource);
    }
    for entity in ["web", "cart", "pay"] {
        let effects = EffectDirection::SourceToTarget;
        topology.connect(&id("flags"), "configures", &id(entity), effects);
    }
    topology
}

/// The notes on an entity as `signal peer` words.
fn notes(changes: &[Finding], anomalies: &[Anomaly], entity: &str) -> Vec<String> {
    let map = EffectMap::new(&shop(), changes, anomalies);
    let notes = map.notes(&id(entity)).findings;
    notes
        .iter()
        .map(|note| {
            let peer = note.peer.as_ref().map_or("here", |peer| peer.entity.as_str());
            let path = note.change.as_ref().map_or("", |change| change.path.as_str());
            format!("{:?} {peer} {path}", note.signal)
        })
        .collect()
}

#[test]
fn a_change_qualifies_when_it_precedes_an_onset_that_it_reaches() {
    use Signal::{Configuration, Demand, Restart};
    let none: [&str; 0] = [];
    let web = alert("web", 10, &[]);
    let cases = [
        // (change, alert, entity asked about, notes)
        (change("db", 5, Configuration, "size"), web.clone(), "web", vec!["Route cart size"]),
        (change("db", 5, Configuration, "size"), web.clone(), "db", vec!["Impact cart size"]),
        (change("db", 5, Configuration, "size"), web.clone(), "flags", none.to_vec()),
        (change("db", 10, Configuration, "size"), web.clone(), "web", none.to_vec()),
        (change("db", 5, Restart, "run"), web.clone(), "web", none.to_vec()),
        (
            change("db", 15, Configuration, "size"),
            alert("web", 10, &[20]),
            "pay",
            vec!["Route db size"],
        ),
        (change("web", 5, Configuration, "size"), web.clone(), "web", vec!["Impact here size"]),
        (change("web", 5, Configuration, "size"), alert("db", 10, &[]), "db", none.to_vec()),
        (change("web", 5, Demand, "sale"), alert("db", 10, &[]), "db", vec!["Route cart sale"]),
        (change("web", 5, Demand, "sale"), alert("db", 10, &[]), "web", vec!["Impact cart sale"]),
    ];
    for (change, alert, entity, expected) in cases {
        let found = notes(std::slice::from_ref(&change), &[alert], entity);
        assert_eq!(found, expected, "{} {:?} at {entity}", change.entity, change.signal);
    }
}

#[test]
fn paths_lead_through_the_entity_that_a_change_names() {
    let web = [alert("web", 10, &[])];
    for (path, next) in [("payFailure", "pay"), ("cartSlow", "cart"), ("banner", "flags")] {
        let changes = [change("flags", 5, Signal::Configuration, path)];
        assert_eq!(notes(&changes, &web, "web"), [format!("Route {next} {path}")]);
    }
    // Before the named entity the way is direct.
    let changes = [change("flags", 5, Signal::Configuration, "payFailure")];
    assert_eq!(notes(&changes, &web, "pay"), ["Route flags payFailure"]);
    assert_eq!(notes(&changes, &web, "flags"), ["Impact pay payFailure"]);
}

#[test]
fn the_nearest_change_leads_and_each_way_is_noted_once() {
    let changes = [
        change("db", 2, Signal::Configuration, "older"),
        change("db", 5, Signal::Configuration, "newer"),
        change("flags", 8, Signal::Configuration, "newest"),
        change("cart", 2, Signal::Configuration, "oldest"),
    ];
    let web = [alert("web", 10, &[])];
    // The oldest lies more than 5 minutes farther away than the newest.
    let expected = ["Route flags newest", "Route cart newer"];
    assert_eq!(notes(&changes, &web, "web"), expected);
    let mut reversed = changes.to_vec();
    reversed.reverse();
    assert_eq!(notes(&reversed, &web, "web"), expected);
    assert_eq!(notes(&changes, &web, "db"), ["Impact cart newer"]);
}

#[test]
fn a_change_gives_way_to_one_much_nearer_before_the_same_anomaly() {
    use Signal::{Configuration, Demand};
    let none: [&str; 0] = [];
    let web = alert("web", 60, &[]);
    let cases = [
        // (minutes of a change of db and of one of flags, alerts, notes on db)
        (50, 58, vec![web.clone()], none.to_vec()),
        (53, 58, vec![web.clone()], vec!["Impact cart size"]),
        // Half as long again farther away is about as near.
        (30, 40, vec![web.clone()], vec!["Impact cart size"]),
        (29, 40, vec![web.clone()], none.to_vec()),
        // Another anomaly that only the older one precedes closely.
        (50, 58, vec![web.clone(), alert("cart", 51, &[])], vec!["Impact cart size"]),
    ];
    for (older, newer, anomalies, expected) in cases {
        let changes = [
            change("db", older, Configuration, "size"),
            change("flags", newer, Configuration, "banner"),
        ];
        assert_eq!(notes(&changes, &anomalies, "db"), expected, "{older} {newer}");
    }
    // Load builds up.
    let changes = [change("web", 20, Demand, "sale"), change("flags", 58, Configuration, "banner")];
    assert_eq!(notes(&changes, &[web], "web"), ["Route flags banner", "Impact here sale"]);
}

#[test]
fn impacts_are_bounded_and_earliest_first() {
    let changes = [change("db", 1, Signal::Configuration, "size")];
    let mut anomalies = vec![alert("web", 30, &[]), alert("cart", 20, &[]), alert("db", 10, &[])];
    anomalies.push(Anomaly { name: "last".into(), ..alert("pay", 40, &[]) });
    let expected = ["Impact here size", "Impact cart size", "Impact cart size"];
    assert_eq!(notes(&changes, &anomalies, "db"), expected);
}

/// What a map says, as the reference does.
fn contents(map: &EffectMap, entity: &EntityId) -> Vec<reference::ExpectedNote> {
    let notes = map.notes(entity).findings;
    let found = notes.iter().map(|note| {
        let peer = note.peer.as_ref().map(|peer| (peer.entity.clone(), peer.role));
        let text = match note.signal {
            Signal::Route => {
                let (_, way) = note.excerpt.rsplit_once("; its ").unwrap();
                way.trim_start_matches("load ").trim_start_matches("effects ").to_owned()
            }
            _ => {
                let (alert, rest) = note.excerpt.split_once(", ").unwrap();
                let (_, way) = rest.rsplit_once("; reached").unwrap();
                format!("{alert}{way}")
            }
        };
        (note.signal, peer, note.change.clone().unwrap(), note.time.start(), text)
    });
    found.collect()
}

fn agrees(incident: &Small) -> Result<(), TestCaseError> {
    let Small { topology, changes, anomalies } = incident;
    let map = EffectMap::new(topology, changes, anomalies);
    let causes = reference::causes(topology, changes, anomalies);
    let qualifying: Vec<&Finding> = map.qualifying().collect();
    let expected: Vec<&Finding> = causes.iter().map(|cause| &cause.change).collect();
    prop_assert_eq!(qualifying, expected);
    for entity in everybody() {
        prop_assert_eq!(
            contents(&map, &entity),
            reference::expected_notes(topology, &causes, &entity)
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_map_is_what_its_definition_says(incident in small(20)) {
        agrees(&incident)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_map_of_more_changes_than_it_keeps_is_what_its_definition_says(incident in small(600)) {
        agrees(&incident)?;
    }
}

/// Steps of making a map and of asking it about every entity.
fn steps(entities: usize, shape: Shape, kind: Changes) -> [usize; 2] {
    let Large { topology, changes, anomalies } = Large::new(entities, shape, kind);
    let (making, map) = counted(|| EffectMap::new(&topology, &changes, &anomalies));
    assert!(map.qualifying().next().is_some(), "{shape:?}");
    let (asking, ()) = counted(|| topology.entities().for_each(|one| drop(map.notes(one))));
    [making, asking]
}

/// One search for each change would take thousands of steps for each entity, and 64 times as many
/// in all when there are 8 times as many entities.
#[test]
fn steps_grow_with_the_incident_and_no_faster() {
    for shape in SHAPES {
        // What is named is searched for once for each change that is kept, and hardly more often.
        for (kind, most) in [(Changes::Spread, [100, 500]), (Changes::Naming, [1_000, 500])] {
            let small = steps(1_000, shape, kind);
            let large = steps(8_000, shape, kind);
            for (what, part) in [("making", 0), ("asking", 1)] {
                let (small, large, most) = (small[part], large[part], most[part]);
                let case = format!("{what}, {shape:?}, {kind:?}: {small} and {large} steps");
                assert!(small <= 1_000 * most && large <= 8_000 * most, "{case}");
                assert!(large <= 16 * small, "{case}");
            }
        }
    }
}

#[test]
fn other_changes_give_way_to_an_experiment_that_ran() {
    let alerts = [alert("web", 40, &[42])];
    let chaos = change("flags", 36, Signal::Experiment, "chaos");
    let routine = [("db", 38), ("pay", 41)]
        .map(|(one, at)| change(one, at, Signal::Configuration, "settings"));
    let changes = |with: &[Finding]| -> Vec<Finding> {
        routine.iter().chain([&chaos]).chain(with).cloned().collect()
    };
    let counted = |changes: &[Finding]| {
        let map = EffectMap::new(&shop(), changes, &alerts);
        map.qualifying().map(|one| one.entity.as_str().to_owned()).collect::<Vec<String>>()
    };
    // One that is only defined is a change like others.
    assert_eq!(counted(&changes(&[])), ["pay", "db", "flags"]);
    let ran = Finding::new(FindingContent {
        kind: EvidenceKind::Event,
        change: None,
        ..chaos.content().clone()
    });
    assert_eq!(counted(&changes(std::slice::from_ref(&ran))), ["flags"]);
    // What it makes fail may be defined one step above.
    let below = Finding::new(FindingContent { entity: id("cart"), ..ran.content().clone() });
    assert_eq!(counted(&changes(&[below])), ["flags"]);
    // Much farther away it gives way itself.
    let early = FindingContent { time: EvidenceTime::At(at(10)), ..chaos.content().clone() };
    let all = [routine.to_vec(), vec![Finding::new(early), ran]].concat();
    assert_eq!(counted(&all), ["pay", "db"]);
}

#[test]
fn what_was_changed_after_the_measured_harm_takes_nothing_from_what_was_changed_before() {
    let changes = [
        change("db", 20, Signal::Configuration, "cause"),
        change("pay", 39, Signal::Configuration, "decoy"),
    ];
    let alerts = [alert("web", 40, &[])];
    let paths_and_counts = |harm: Option<Onset>| {
        let map = EffectMap::dated(&shop(), &changes, &alerts, |_| harm);
        let of = |entity: &str| map.notes(&id(entity)).findings.len();
        let paths = map.qualifying().filter_map(|one| Some(one.change.as_ref()?.path.clone()));
        (paths.collect::<Vec<String>>(), of("db"), of("pay"))
    };
    // By the alert the decoy is much nearer.
    assert_eq!(paths_and_counts(None), (vec!["decoy".to_owned()], 0, 1));
    // The harm had begun before it was made.
    let measured = Onset::between(at(19), at(22));
    assert_eq!(paths_and_counts(Some(measured)), (vec!["cause".to_owned()], 1, 1));
    // What may still have come before the harm stays.
    let open = Onset::between(at(19), at(39));
    assert_eq!(paths_and_counts(Some(open)).0, ["decoy"]);
}
