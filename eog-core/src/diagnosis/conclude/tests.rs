//! Conclusions over times, against the definitions they are computed by other means from.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::belief::{Belief, Claim, Explained, Measures};
use crate::contract::packet::LocalContext;
use crate::evidence::{EvidenceKind, EvidenceTime, Finding, FindingContent, Signal, Trend};
use crate::incident::case::{Anomaly, Case, ChangeRecord, RecordedChange, Unusable};
use crate::incident::topology::{EffectDirection, Topology};
use crate::incident::window::Window;

fn name(number: usize) -> EntityId {
    EntityId::new(format!("e{number}")).unwrap()
}

/// An instant by its second after the start of a day.
fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn between(from: i64, to: i64) -> Onset {
    Onset::between(at(from), at(to))
}

fn anomaly(entity: usize, onsets: &[i64]) -> Anomaly {
    Anomaly {
        name: "Errors".to_owned(),
        entity: name(entity),
        signal: Signal::Errors,
        onset: at(onsets[0]),
        renewed: onsets[1..].iter().map(|&onset| at(onset)).collect(),
        last_seen: None,
        severity: String::new(),
        description: String::new(),
    }
}

fn finding(entity: usize, kind: EvidenceKind, signal: Signal, onset: Option<Onset>) -> Finding {
    let start = onset.map_or(at(0), |onset| onset.earliest());
    Finding::new(FindingContent {
        entity: name(entity),
        kind,
        signal,
        trend: Trend::Rising,
        time: EvidenceTime::At(start),
        onset,
        quantity: None,
        change: None,
        peer: None,
        source: String::new(),
        query: String::new(),
        excerpt: String::new(),
    })
}

/// What is believed of one entity, in seconds.
#[derive(Clone, Debug)]
struct Held {
    is_origin: bool,
    since: Option<(i64, i64)>,
    explains: Option<Vec<i64>>,
    claims: Vec<Stated>,
}

/// A claim of another entity on the holder.
#[derive(Clone, Debug)]
struct Stated {
    cause: usize,
    cause_since: Option<(i64, i64)>,
    effect_since: Option<(i64, i64)>,
    explains: Option<Vec<i64>>,
}

fn listed(onsets: Option<&Vec<i64>>) -> Option<Vec<Explained>> {
    let explained = |&onset: &i64| Explained { anomaly: "Errors".to_owned(), onset: at(onset) };
    onsets.map(|onsets| onsets.iter().map(explained).collect())
}

fn state(case: &Case, held: &[Held]) -> State {
    let mut state = State::new(case);
    for (number, held) in held.iter().enumerate() {
        let own = name(number);
        let claims = held.claims.iter().map(|stated| Claim {
            cause_since: stated.cause_since.map(|(from, to)| between(from, to)),
            effect_since: stated.effect_since.map(|(from, to)| between(from, to)),
            explains: listed(stated.explains.as_ref()),
            ..Claim::new(&name(stated.cause), &own, "", "")
        });
        let claims: Vec<Claim> = claims.collect();
        state.supersede(&own, &[], &claims);
        let label = if held.is_origin { Label::Origin } else { Label::Symptom };
        let since = held.since.map(|(from, to)| between(from, to));
        let explains = listed(held.explains.as_ref());
        state.node(&own).belief =
            Some(Belief { claims, since, explains, ..Belief::new(label, "") });
    }
    state
}

fn case(anomalies: Vec<Anomaly>) -> Case {
    let window = Window::new(at(0), at(7_200)).unwrap();
    Case::from_anomalies(Topology::default(), window, anomalies)
}

/// An entity, a floor, and the last claim by its holder and position.
type Arrival = (usize, i64, Option<(usize, usize)>);

/// By the definition: every entity and floor that any chain of claims arrives with, one claim after the
/// other. `None` as a claim stands for no claim at all.
fn arrivals(held: &[Held], origin: usize) -> BTreeSet<Arrival> {
    let start = held[origin].since.map_or(i64::MIN, |since| since.0);
    let mut found = BTreeSet::from([(origin, start, None)]);
    follow(held, (origin, start), &mut found);
    found
}

/// Follows claims from an entity with a floor.
fn follow(held: &[Held], from: (usize, i64), found: &mut BTreeSet<Arrival>) {
    let mut queue = vec![from];
    while let Some((entity, floor)) = queue.pop() {
        for (effect, holder) in held.iter().enumerate() {
            for (position, claim) in holder.claims.iter().enumerate() {
                if claim.cause == entity
                    && let Some(floor) = over(held, (effect, position), floor)
                    && found.insert((effect, floor, Some((effect, position))))
                {
                    queue.push((effect, floor));
                }
            }
        }
    }
}

/// The floor behind a claim, if it is consistent with the one before.
fn over(held: &[Held], (effect, position): (usize, usize), floor: i64) -> Option<i64> {
    let claim = &held[effect].claims[position];
    let known =
        [claim.cause_since.or(held[claim.cause].since), claim.effect_since.or(held[effect].since)];
    let mut floor = floor;
    for (from, to) in known.into_iter().flatten() {
        if floor > to {
            return None;
        }
        floor = floor.max(from);
    }
    Some(floor)
}

/// By the definition: the positions of the onsets that an origin explains.
fn explained(held: &[Held], anomalies: &[Anomaly], origin: usize) -> BTreeSet<(usize, usize)> {
    onsets_at(held, anomalies, &arrivals(held, origin), Some(origin))
}

/// The positions of the onsets that arrivals explain, by their last claim, or by the origin's belief.
fn onsets_at(
    held: &[Held],
    anomalies: &[Anomaly],
    arrivals: &BTreeSet<Arrival>,
    origin: Option<usize>,
) -> BTreeSet<(usize, usize)> {
    let mut explained = BTreeSet::new();
    for &(entity, floor, last) in arrivals {
        let list = match (last, origin) {
            (Some((holder, position)), _) => held[holder].claims[position].explains.as_ref(),
            (None, Some(origin)) => held[origin].explains.as_ref(),
            (None, None) => continue,
        };
        for (number, anomaly) in anomalies.iter().enumerate() {
            for (position, onset) in anomaly.onsets().enumerate() {
                let onset = onset.duration_since(at(0)).as_secs();
                if anomaly.entity == name(entity)
                    && floor <= onset
                    && list.is_none_or(|list| list.contains(&onset))
                {
                    explained.insert((number, position));
                }
            }
        }
    }
    explained
}

fn times() -> impl Strategy<Value = Option<(i64, i64)>> {
    prop::option::weighted(
        0.6,
        (0..40_i64, 0..15_i64).prop_map(|(from, width)| (from, from + width)),
    )
}

fn lists() -> impl Strategy<Value = Option<Vec<i64>>> {
    prop::option::weighted(0.2, prop::collection::vec((0..6_i64).prop_map(|n| n * 10), 0..3))
}

fn stated(size: usize) -> impl Strategy<Value = Stated> {
    (0..size, times(), times(), lists()).prop_map(|(cause, cause_since, effect_since, explains)| {
        Stated { cause, cause_since, effect_since, explains }
    })
}

fn worlds() -> impl Strategy<Value = (Vec<Held>, Vec<Anomaly>)> {
    (2..7_usize).prop_flat_map(|size| {
        let claims = prop::collection::vec(stated(size), 0..3);
        let held = (any::<bool>(), times(), lists(), claims).prop_map(
            |(is_origin, since, explains, claims)| Held { is_origin, since, explains, claims },
        );
        let onsets = prop::collection::btree_set((0..6_i64).prop_map(|n| n * 10), 1..3);
        let anomalies = prop::collection::vec((0..size, onsets), 1..4);
        (prop::collection::vec(held, size), anomalies).prop_map(|(held, anomalies)| {
            let anomalies = anomalies
                .into_iter()
                .map(|(entity, onsets)| anomaly(entity, &onsets.into_iter().collect::<Vec<_>>()));
            (held, anomalies.collect())
        })
    })
}

proptest! {
    #[test]
    fn coverage_is_what_the_definition_says((held, anomalies) in worlds()) {
        let state = state(&case(anomalies.clone()), &held);
        let graph = claims::ClaimGraph::new(&state);
        let origins: Vec<usize> = (0..held.len()).filter(|&e| held[e].is_origin).collect();
        let numbers: Vec<u32> =
            origins.iter().map(|&origin| graph.number(&name(origin)).unwrap()).collect();
        let found = coverage::explained_by_each(&state, &graph, &numbers);
        for (origin, found) in origins.iter().zip(found) {
            let found: BTreeSet<(usize, usize)> = found.into_iter().collect();
            prop_assert_eq!(found, explained(&held, &anomalies, *origin));
        }
    }

    #[test]
    fn reached_entities_are_those_of_the_definition((held, anomalies) in worlds()) {
        let state = state(&case(anomalies), &held);
        let graph = claims::ClaimGraph::new(&state);
        let number = |entity: usize| graph.number(&name(entity)).unwrap();
        let origins: Vec<usize> = (0..held.len()).filter(|&e| held[e].is_origin).collect();
        let numbers: Vec<u32> = origins.iter().map(|&origin| number(origin)).collect();
        let reached = coverage::reached_by_others(&graph, &numbers);
        for entity in 0..held.len() {
            let by_other = origins.iter().any(|&origin| {
                graph.component_of(number(origin)) != graph.component_of(number(entity))
                    && arrivals(&held, origin).iter().any(|(end, ..)| *end == entity)
            });
            prop_assert_eq!(reached[claims::wide(number(entity))], by_other, "{}", entity);
        }
    }

    #[test]
    fn what_leads_to_an_anomaly_is_what_the_definition_says((held, anomalies) in worlds()) {
        let state = state(&case(anomalies.clone()), &held);
        let mut expected: BTreeSet<ClaimEdge> = BTreeSet::new();
        for (effect, holder) in held.iter().enumerate() {
            for (position, claim) in holder.claims.iter().enumerate() {
                let Some(floor) = over(&held, (effect, position), i64::MIN) else { continue };
                let mut found = BTreeSet::from([(effect, floor, Some((effect, position)))]);
                follow(&held, (effect, floor), &mut found);
                let onsets = onsets_at(&held, &anomalies, &found, None);
                if onsets.iter().any(|(anomaly, _)| *anomaly == 0) {
                    expected.insert(ClaimEdge { cause: name(claim.cause), effect: name(effect) });
                }
            }
        }
        prop_assert_eq!(leading_to(&state, &[0]), expected);
    }

    #[test]
    fn the_frontier_covers_all_that_any_origin_explains((held, anomalies) in worlds()) {
        let conclusion = conclude(&state(&case(anomalies.clone()), &held));
        let origins = (0..held.len()).filter(|&e| held[e].is_origin);
        let by_any: BTreeSet<usize> = origins
            .flat_map(|origin| explained(&held, &anomalies, origin))
            .map(|(anomaly, _)| anomaly)
            .collect();
        let unexplained: Vec<usize> =
            (0..anomalies.len()).filter(|anomaly| !by_any.contains(anomaly)).collect();
        prop_assert_eq!(&conclusion.unexplained, &unexplained);
        for onset in &conclusion.unexplained_onsets {
            prop_assert!(!unexplained.contains(&onset.anomaly));
        }
    }

    #[test]
    fn confirmed_means_every_condition(shop in shops()) {
        let conclusion = conclude(&shop.state());
        for group in &conclusion.frontier {
            prop_assert_eq!(group.doubts.is_empty(), group.confidence == Confidence::Confirmed);
        }
        let Some(group) = conclusion.frontier.first() else { return Ok(()) };
        if group.confidence == Confidence::Confirmed {
            let (measured, end) = shop.harm.expect("an onset is measured");
            prop_assert!(shop.change <= end && shop.change < shop.alert && measured <= end);
            prop_assert!(shop.callee_harm.is_some_and(|since| since <= shop.alert));
            let record = shop.record.as_ref().expect("there is a record");
            let n = i32::try_from(record.len()).unwrap() + 1;
            let near = (end - shop.change) as f64 / 7_200.0;
            prop_assert!(1.0 - (1.0 - near).powi(n) <= 0.050_05);
            prop_assert!(shop.unusable * 20 <= 100);
        }
    }

    #[test]
    fn a_rival_never_raises_confidence(shop in shops(), rival in 0..7_200_i64) {
        let before = conclude(&shop.state()).confidence;
        let mut more = shop.clone();
        more.record.iter_mut().for_each(|record| record.push(rival));
        prop_assert!(conclude(&more.state()).confidence <= before);
    }

    #[test]
    fn an_earlier_beginning_of_the_interval_confirms_nothing(shop in shops(), wider in 0..600_i64) {
        let mut wide = shop.clone();
        wide.harm = shop.harm.map(|(from, to)| (from - wider, to));
        if conclude(&wide.state()).confidence == Confidence::Confirmed {
            prop_assert_eq!(conclude(&shop.state()).confidence, Confidence::Confirmed);
        }
    }
}

/// Web calls stock; stock was changed. Seconds after the start of the record.
#[derive(Clone, Debug)]
struct Shop {
    change: i64,
    /// The interval of the first error at web.
    harm: Option<(i64, i64)>,
    callee_harm: Option<i64>,
    alert: i64,
    /// Changes of another callee of web, if there is a record.
    record: Option<Vec<i64>>,
    /// Other changes of stock.
    own: Vec<i64>,
    /// Of 100 rows.
    unusable: u64,
    /// An alert elsewhere, which another origin explains.
    beside: Option<i64>,
}

impl Shop {
    /// Nothing is in doubt.
    fn clear() -> Self {
        let (harm, callee_harm) = (Some((3_010, 3_020)), Some(3_005));
        let record = Some(vec![]);
        let own = vec![];
        let (change, alert, unusable, beside) = (3_000, 3_300, 0, None);
        Self { change, harm, callee_harm, alert, record, own, unusable, beside }
    }

    fn state(&self) -> State {
        let (web, stock) = (name(0), name(1));
        let elsewhere = self.beside.map(|at| anomaly(2, &[at]));
        let mut case = case([anomaly(0, &[self.alert])].into_iter().chain(elsewhere).collect());
        for callee in [&stock, &name(5)] {
            case.topology.connect(&web, "calls", callee, EffectDirection::TargetToSource);
        }
        let recorded = |entity: &EntityId, second: i64| RecordedChange {
            entity: entity.clone(),
            made: Onset::at(at(second)),
            what: format!("change at {second}"),
            finding: None,
        };
        let span = Window::new(at(0), at(7_200)).unwrap();
        case.record = self.record.as_ref().map(|others| ChangeRecord {
            span,
            changes: (others.iter().map(|second| recorded(&name(5), *second)))
                .chain(self.own.iter().chain([&self.change]).map(|at| recorded(&stock, *at)))
                .collect(),
        });
        let source = "spans".to_owned();
        let (records, unusable, reason) = (100, self.unusable, String::new());
        case.bootstrap.unusable = vec![Unusable { source, records, unusable, reason }];
        let mut state = State::new(&case);
        let change = finding(
            1,
            EvidenceKind::Change,
            Signal::Configuration,
            Some(Onset::at(at(self.change))),
        );
        let errors = |entity: usize, onset: Option<Onset>| {
            finding(entity, EvidenceKind::Span, Signal::Errors, onset)
        };
        let own = errors(0, self.harm.map(|(from, to)| between(from, to)));
        // Timeouts, so that this is not harm of the alert's kind itself.
        let callee = self.callee_harm.map(|since| {
            finding(1, EvidenceKind::Metric, Signal::Saturation, Some(Onset::at(at(since))))
        });
        let learn = |state: &mut State, entity: &EntityId, findings: Vec<Finding>| {
            let context = LocalContext { findings, ..LocalContext::default() };
            state.node(entity).remember_evidence(&context, 1);
        };
        learn(&mut state, &web, vec![own.clone()]);
        learn(&mut state, &stock, callee.into_iter().chain([change.clone()]).collect());
        let claims = vec![Claim::new(&stock, &web, "", "").citing_ids([own.id()])];
        state.supersede(&web, &[], &claims);
        state.supersede(&stock, &[], &[]);
        let evidence = vec![own.id().clone()];
        state.node(&web).belief =
            Some(Belief { evidence, claims, ..Belief::new(Label::Symptom, "") });
        let evidence = vec![change.id().clone()];
        state.node(&stock).belief = Some(Belief { evidence, ..Belief::new(Label::Origin, "") });
        if self.beside.is_some() {
            state.supersede(&name(2), &[], &[]);
            state.node(&name(2)).belief = Some(Belief::new(Label::Origin, ""));
        }
        state
    }

    fn doubts(&self) -> Vec<Doubt> {
        conclude(&self.state()).frontier[0].doubts.clone()
    }
}

fn shops() -> impl Strategy<Value = Shop> {
    let harm = prop::option::weighted(0.9, (2_900..3_400_i64, 0..300_i64));
    let record = prop::option::weighted(0.9, prop::collection::vec(0..7_200_i64, 0..4));
    let callee = prop::option::weighted(0.8, 2_900..3_400_i64);
    (
        2_900..3_300_i64,
        harm,
        callee,
        2_900..3_600_i64,
        record,
        prop_oneof![3 => Just(0), 1 => 0..20_u64],
    )
        .prop_map(|(change, harm, callee_harm, alert, record, unusable)| Shop {
            change,
            harm: harm.map(|(from, width)| (from, from + width)),
            callee_harm,
            alert,
            record,
            own: vec![],
            unusable,
            beside: None,
        })
}

#[test]
fn each_condition_alone_is_a_doubt() {
    let clear = Shop::clear;
    assert_eq!(clear().doubts(), []);
    let conclusion = conclude(&clear().state());
    assert_eq!(conclusion.confidence, Confidence::Confirmed);
    let chance = conclusion.frontier[0].chance.unwrap();
    assert_eq!(chance, Chance { changes: 1, delay_s: 20, span_s: 7_200, basis_points: 28 });

    let only = |shop: Shop| {
        let doubts = shop.doubts();
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        doubts.into_iter().next().unwrap()
    };
    assert_eq!(only(Shop { harm: None, ..clear() }), Doubt::NoMeasuredOnset);
    let late = only(Shop { change: 3_100, ..clear() });
    assert!(matches!(late, Doubt::AfterOnset { .. }), "{late:?}");
    assert!(matches!(only(Shop { callee_harm: None, ..clear() }), Doubt::PathNotSeen { .. }));
    assert!(matches!(
        only(Shop { callee_harm: Some(3_301), ..clear() }),
        Doubt::PathNotSeen { .. }
    ));
    assert_eq!(only(Shop { record: None, ..clear() }), Doubt::NoRecord);
    let early = only(Shop { change: 2_600, ..clear() });
    assert!(matches!(early, Doubt::ByChance(Chance { basis_points: 583, .. })), "{early:?}");
    let alike = only(Shop { record: Some(vec![2_990]), ..clear() });
    assert!(matches!(alike, Doubt::FitsAlike { .. }), "{alike:?}");
    assert!(matches!(only(Shop { unusable: 6, ..clear() }), Doubt::Unusable { .. }));
    assert_eq!(Shop { unusable: 5, ..clear() }.doubts(), []);
    let beside = |alert| {
        let conclusion = conclude(&Shop { beside: Some(alert), ..clear() }.state());
        let mut groups = conclusion.frontier.iter();
        let stock = groups.find(|group| group.origins == [name(1)]).unwrap();
        stock.doubts.clone()
    };
    for alert in [3_900, 2_700] {
        assert_eq!(beside(alert), [Doubt::NotAlone { entity: name(2) }]);
    }
    assert_eq!(beside(3_901), [], "another incident");
    // One more change makes each less likely, and takes no doubt away.
    let more = Shop {
        change: 3_022,
        harm: Some((3_001, 3_089)),
        callee_harm: Some(2_900),
        record: Some(vec![0, 1, 2, 2_998]),
        ..clear()
    };
    assert!(matches!(only(more), Doubt::FitsAlike { .. }));
    // Of two changes of its own that fit, it is open which it was, and not who.
    let own = conclude(&Shop { own: vec![2_990, 6_000], ..clear() }.state());
    let group = &own.frontier[0];
    assert_eq!((group.confidence, group.doubts.as_slice()), (Confidence::Confirmed, &[][..]));
    let open: Vec<&str> = group.open_changes.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(open, ["change at 2990"]);
    // Far away, another change is a rival in number alone.
    assert_eq!(Shop { record: Some(vec![100, 6_000]), ..clear() }.doubts(), []);
}

#[test]
fn nothing_is_confirmed_that_leaves_most_alerts_of_the_time_unexplained() {
    // An alert on web that is explained began at 3300; the others on web that are explained, then those elsewhere.
    let judged = |explained: &[i64], others: &[&[i64]]| {
        let mut state = Shop::clear().state();
        state.anomalies.extend(explained.iter().map(|&onset| anomaly(0, &[onset])));
        let late = |onsets: &&[i64]| Anomaly { name: "Late".to_owned(), ..anomaly(2, onsets) };
        state.anomalies.extend(others.iter().map(late));
        let conclusion = conclude(&state);
        (conclusion.confidence, conclusion.frontier[0].doubts.clone())
    };
    let left = |unexplained: usize, explained: usize| {
        let (name, entity) = ("Late".to_owned(), name(2));
        let doubt = Doubt::LeavesUnexplained { name, entity, unexplained, explained };
        (Confidence::Likely, vec![doubt])
    };
    let clear = || (Confidence::Confirmed, vec![]);
    // Ten minutes on either side are one incident.
    for onset in [2_700, 3_300, 3_900] {
        assert_eq!(judged(&[], &[&[onset]]), left(1, 1), "{onset}");
    }
    for onset in [2_699, 3_901] {
        assert_eq!(judged(&[], &[&[onset]]), clear(), "{onset}");
    }
    // Most of them: as many, or more.
    assert_eq!(judged(&[3_400], &[&[3_500]]), clear());
    assert_eq!(judged(&[3_400], &[&[3_500], &[3_600]]), left(2, 2));
    assert_eq!(judged(&[3_400], &[&[3_500], &[3_600], &[2_800]]), left(3, 2));
    // What began at another time counts on neither side, and an alert counts from when it first fired.
    assert_eq!(judged(&[5_000], &[&[3_500]]), left(1, 1));
    assert_eq!(judged(&[], &[&[100], &[3_800], &[7_000]]), left(1, 1));
    assert_eq!(judged(&[], &[&[100, 3_400]]), clear());
}

#[test]
fn nothing_is_confirmed_of_one_of_several_alike_where_the_others_do_as_badly() {
    // Stock is one of the parts of a whole; another of them shows errors, or was changed as well.
    let judged = |relation: &str, sibling_since: i64, changed: Option<i64>| {
        let (stock, sibling, whole) = (name(1), name(3), name(4));
        let mut state = Shop::clear().state();
        for part in [&stock, &sibling] {
            state.topology.connect(&whole, relation, part, EffectDirection::TargetToSource);
        }
        let errors =
            finding(3, EvidenceKind::Metric, Signal::Errors, Some(Onset::at(at(sibling_since))));
        let context = LocalContext { findings: vec![errors], ..LocalContext::default() };
        state.node(&sibling).remember_evidence(&context, 1);
        let made = changed.map(|second| RecordedChange {
            entity: sibling.clone(),
            made: Onset::at(at(second)),
            what: String::new(),
            finding: None,
        });
        let mut record = (*state.record.clone().unwrap()).clone();
        record.changes.extend(made);
        state.record = Some(record.into());
        conclude(&state).frontier[0].doubts.clone()
    };
    let doubt =
        |since: i64| vec![Doubt::SiblingAlike { entity: name(3), harm: Onset::at(at(since)) }];
    // Harm began from 3010 to 3020, the change was made at 3000.
    assert_eq!(judged("owns", 2_990, None), doubt(2_990));
    assert_eq!(judged("owns", 3_020, None), doubt(3_020));
    assert_eq!(judged("owns", 3_021, None), [], "it came later");
    assert_eq!(judged("calls", 2_990, None), [], "a callee of the same caller is another");
    assert_eq!(judged("owns", 2_990, Some(3_000)), [], "one change of both");
}

#[test]
fn nothing_is_confirmed_where_load_or_what_lies_upstream_moved_before_the_change() {
    // The change of stock was made at 3000; a store upstream of it.
    let judged = |entity: usize, signal: Signal, since: i64| {
        let mut state = Shop::clear().state();
        let (stock, store) = (name(1), name(4));
        state.topology.connect(&stock, "uses", &store, EffectDirection::TargetToSource);
        let moved = finding(entity, EvidenceKind::Metric, signal, Some(Onset::at(at(since))));
        let context = LocalContext { findings: vec![moved], ..LocalContext::default() };
        state.node(&name(entity)).remember_evidence(&context, 1);
        conclude(&state).frontier[0].doubts.clone()
    };
    let doubt = |entity: usize, since: i64| {
        let (is_load, change) = (entity == 1, Onset::at(at(3_000)));
        let since = Onset::at(at(since));
        vec![Doubt::MovedBefore { entity: name(entity), is_load, since, change }]
    };
    assert_eq!(judged(1, Signal::Traffic, 2_990), doubt(1, 2_990));
    assert_eq!(judged(1, Signal::Traffic, 3_000), [], "it can have come with the change");
    assert_eq!(judged(4, Signal::Latency, 2_990), doubt(4, 2_990));
    assert_eq!(judged(4, Signal::Latency, 3_010), []);
    assert_eq!(judged(4, Signal::Traffic, 2_990), [], "load elsewhere is no harm");
    assert_eq!(judged(2, Signal::Latency, 2_990), [], "what lies downstream is an effect");
}

/// Entities that each were changed at a second, in these words, and show errors from then on.
fn changed(places: &[(i64, &str, Signal)]) -> State {
    let alerts = places.iter().enumerate().map(|(place, (at, ..))| anomaly(place, &[at + 300]));
    let mut case = case(alerts.collect());
    let recorded = |(place, (second, what, _)): (usize, &(i64, &str, Signal))| RecordedChange {
        entity: name(place),
        made: Onset::at(at(*second)),
        what: (*what).to_owned(),
        finding: None,
    };
    let span = Window::new(at(0), at(7_200)).unwrap();
    let changes = places.iter().enumerate().map(recorded).collect();
    case.record = Some(ChangeRecord { span, changes });
    let mut state = State::new(&case);
    for (place, (second, _, signal)) in places.iter().enumerate() {
        let change = finding(place, EvidenceKind::Change, *signal, Some(Onset::at(at(*second))));
        let onset = Some(between(second + 10, second + 20));
        let errors = finding(place, EvidenceKind::Metric, Signal::Errors, onset);
        let evidence = vec![change.id().clone(), errors.id().clone()];
        let context = LocalContext { findings: vec![change, errors], ..LocalContext::default() };
        state.node(&name(place)).remember_evidence(&context, 1);
        state.supersede(&name(place), &[], &[]);
        state.node(&name(place)).belief =
            Some(Belief { evidence, ..Belief::new(Label::Origin, "") });
    }
    state
}

#[test]
fn the_same_change_in_several_places_is_one_cause() {
    let kernel = |second: i64| (second, "kernel from 6.1 to 6.2", Signal::Configuration);
    let conclusion = conclude(&changed(&[kernel(3_600), kernel(3_000), kernel(3_300)]));
    let [group] = &conclusion.frontier[..] else { panic!("{conclusion:?}") };
    assert_eq!(group.origins, [name(0), name(1), name(2)]);
    assert_eq!((group.covers.as_slice(), group.mutual), (&[0, 1, 2][..], false));
    let shared = group.shared_change.as_ref().unwrap();
    assert_eq!((shared.first, shared.last), (at(3_000), at(3_600)));
    assert_eq!((&shared.places, shared.what.as_str()), (&group.origins, "kernel from 6.1 to 6.2"));
    // None of its places is a rival of another, and each alert is explained.
    assert_eq!((group.doubts.as_slice(), group.confidence), (&[][..], Confidence::Confirmed));
    assert_eq!(group.chance.unwrap().changes, 1);

    let other =
        |second: i64, what: &'static str, signal| changed(&[kernel(3_000), (second, what, signal)]);
    for (state, why) in [
        (other(3_000, "kernel from 6.1 to 6.3", Signal::Configuration), "another change"),
        (other(3_601, "kernel from 6.1 to 6.2", Signal::Configuration), "long after the first"),
        (
            changed(&[(3_000, "restarted", Signal::Restart); 2]),
            "restarts have a cause of their own",
        ),
        (changed(&[(3_000, "", Signal::Configuration); 2]), "nothing is known of them"),
    ] {
        let conclusion = conclude(&state);
        assert_eq!(conclusion.frontier.len(), 2, "{why}");
        assert!(conclusion.frontier.iter().all(|it| it.shared_change.is_none()), "{why}");
    }
    // Two others, of which each would be as good as the first, beside the three.
    let mixed = changed(&[
        kernel(3_000),
        (3_050, "limit from 2 to 1", Signal::Configuration),
        kernel(3_100),
        (3_060, "limit from 2 to 1", Signal::Configuration),
    ]);
    let groups: Vec<_> = conclude(&mixed).frontier.into_iter().map(|it| it.origins).collect();
    assert_eq!(groups, [[name(0), name(2)], [name(1), name(3)]]);
}

/// A state in which an operator states a verdict on an entity.
fn said(mut state: State, entity: usize, verdict: Verdict) -> State {
    let word = Finding::new(FindingContent {
        trend: verdict.trend(),
        source: Verdict::SOURCE.to_owned(),
        ..FindingContent::new(
            name(entity),
            EvidenceKind::Note,
            Signal::Other,
            EvidenceTime::At(at(0)),
        )
    });
    let context = LocalContext { findings: vec![word], ..LocalContext::default() };
    state.node(&name(entity)).remember_evidence(&context, 9);
    state
}

#[test]
fn nothing_is_confirmed_against_a_persons_word() {
    let judged = |state: &State| {
        let conclusion = conclude(state);
        (conclusion.confidence, conclusion.frontier[0].doubts.clone())
    };
    let clear = || Shop::clear().state();
    let agreed = said(clear(), 1, Verdict::Cause);
    assert_eq!(judged(&agreed), (Confidence::Confirmed, vec![]));
    let otherwise = said(clear(), 2, Verdict::Cause);
    let doubt = Doubt::SaidOtherwise { entity: name(2) };
    assert_eq!(judged(&otherwise), (Confidence::Likely, vec![doubt]));
    // Verdicts that contradict each other do not count.
    assert_eq!(judged(&said(otherwise, 2, Verdict::NotCause)), (Confidence::Confirmed, vec![]));
}

#[test]
fn what_a_person_rules_out_is_no_candidate() {
    let mut state = Shop { record: None, ..Shop::clear() }.state();
    state.node(&name(1)).belief = Some(Belief::new(Label::Healthy, ""));
    let candidates = |state: &State| {
        let ranking = conclude(state).ranking;
        ranking.into_iter().map(|ranked| ranked.entity).collect::<Vec<_>>()
    };
    let all = candidates(&state);
    assert!(all.contains(&name(0)) && all.contains(&name(1)), "{all:?}");
    assert_eq!(candidates(&said(state, 1, Verdict::NotCause)), [name(0)]);
}

#[test]
fn an_origin_is_highly_likely_from_nine_tenths_of_the_probability_on() {
    let judged = |log_odds: i32, handed: Option<i32>| {
        let held = |is_origin| Held { is_origin, since: None, explains: None, claims: vec![] };
        let mut state = state(
            &case(vec![anomaly(0, &[3_600]), anomaly(1, &[3_600])]),
            &[held(true), held(false)],
        );
        let measure = |log_odds: i32, handed: Option<i32>| Measures {
            log_odds,
            handed: handed.map(|handed| (name(0), handed)).into_iter().collect(),
            ..Measures::default()
        };
        for (entity, measures) in [(0, measure(log_odds, None)), (1, measure(-20_000, handed))] {
            let belief = state.node(&name(entity)).belief.as_mut().unwrap();
            belief.measures = Some(measures);
        }
        let group = conclude(&state).frontier.remove(0);
        (group.confidence, group.probability.unwrap())
    };
    // Beside *no known origin*, which has log-odds of 0: p / (1 - p) is 9 at ln 9 = 2.197.
    assert_eq!(judged(2_190, None), (Confidence::Likely, 899));
    assert_eq!(judged(2_200, None), (Confidence::HighlyLikely, 900));
    // What another entity shows counts for it, where that is more.
    assert_eq!(judged(0, Some(2_200)), (Confidence::HighlyLikely, 900));
    assert_eq!(judged(2_200, Some(0)), (Confidence::HighlyLikely, 900));
}

#[test]
fn a_wider_end_can_confirm_a_change_that_came_after() {
    // Widening the end of the interval is no safe direction: the change is no longer certainly late.
    let late = Shop { change: 3_030, ..Shop::clear() };
    assert!(matches!(late.doubts()[..], [Doubt::AfterOnset { .. }]));
    let wider = Shop { harm: Some((3_010, 3_040)), ..late };
    assert_eq!(wider.doubts(), []);
}

#[test]
fn only_onsets_that_are_explained_are_covered() {
    let origin = Held { is_origin: true, since: Some((100, 100)), explains: None, claims: vec![] };
    let claim = Stated { cause: 0, cause_since: None, effect_since: None, explains: None };
    let web = Held { is_origin: false, since: None, explains: None, claims: vec![claim] };
    let conclusion = conclude(&state(&case(vec![anomaly(1, &[50, 200])]), &[origin, web]));
    assert_eq!(conclusion.frontier[0].covers, [0]);
    assert_eq!(conclusion.earlier_onset, [0]);
    assert_eq!(conclusion.unexplained_onsets, [UnexplainedOnset { anomaly: 0, onset: at(50) }]);
}

#[test]
fn chances_keep_their_digits() {
    assert_eq!(Chance::new(1, 0, 100).basis_points, 0);
    assert_eq!(Chance::new(1, 5, 100).basis_points, 500);
    assert_eq!(Chance::new(3, 100, 100).basis_points, 10_000);
    assert_eq!(Chance::new(1, 200, 100).basis_points, 10_000);
    assert_eq!(Chance::new(u32::MAX, 1, u64::from(u32::MAX)).basis_points, 6_321);
}
