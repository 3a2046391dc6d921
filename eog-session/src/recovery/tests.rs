use eog::evidence::Signal;
use eog::incident::EffectDirection;
use eog::{Config, EvidenceKind, Finished};
use eog_evidence::{
    Bundle, BundleContext, BundleWriter, ChangeRecord, Manifest, ManifestEdge, Series, open_case,
};
use eog_testkit::{deferred, entity, origin, policy_fn, run, symptom_of};

use super::*;
use crate::source::OfBundle;

/// The last minute that is on record when the run is made.
const RUN: i64 = 55;

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + 60 * minute).unwrap()
}

/// A shop: `web` calls `api`, which calls `db`, whose pool was cut at minute 30. Errors and latency last from minute 32 on.
/// Two alerts follow, and one on `mailer`, which nothing explains.
#[derive(Clone, Copy)]
struct Shop {
    /// The last minute on record.
    recorded: i64,
    /// When `web`, with its alert, is as usual again.
    web: i64,
    /// The same of `api`.
    api: i64,
    /// The same of the alert on `mailer`.
    mailer: i64,
    /// When harm of `web` is back for ten minutes.
    relapse: i64,
    /// Changes: when, and the new value of which field.
    changes: &'static [(i64, &'static str, &'static str)],
    /// Of whom.
    changed: &'static str,
}

const NEVER: i64 = 1_000;

/// What is on record of a repair at minute 60.
const REPAIRED: Shop = Shop {
    recorded: 120,
    web: 64,
    api: 63,
    mailer: NEVER,
    relapse: NEVER,
    changes: &[(60, "pool.size", "50")],
    changed: "db",
};

impl Shop {
    fn bundle(self) -> Bundle {
        let mut manifest = Manifest::new("shop");
        let edges = [("web", "api"), ("api", "db")].map(|(source, target)| ManifestEdge {
            source: entity(source),
            target: entity(target),
            relation: "calls".into(),
            effects: EffectDirection::TargetToSource,
        });
        let parts =
            [("operator", "owns", "db"), ("operator", "owns", "job"), ("pod", "backs", "db")];
        let parts = parts.map(|(source, relation, target)| ManifestEdge {
            source: entity(source),
            target: entity(target),
            relation: relation.into(),
            effects: EffectDirection::SourceToTarget,
        });
        manifest.topology.edges = edges.into_iter().chain(parts).collect();
        manifest.topology.entities = vec![entity("mailer")];
        let mut writer = BundleWriter::new(manifest);
        let Shop { web, api, mailer, recorded, relapse, .. } = self;
        let is_back = move |at: i64| (relapse..relapse + 10).contains(&at);
        let last = |ends: i64| if relapse < recorded { relapse + 10 } else { ends.min(recorded) };
        writer.alerts = vec![
            alert("Errors", "web", Signal::Errors, 38, last(web)),
            alert("Slow", "api", Signal::Latency, 36, api.min(recorded)),
            alert("QueueFull", "mailer", Signal::Saturation, 40, mailer.min(recorded)),
        ];
        writer.changes = vec![change("db", (30, "pool.size", "5"), "50")];
        writer.changes.extend(self.changes.iter().map(|it| change(self.changed, *it, "5")));
        writer.metrics = vec![
            series("web", "errors", Signal::Errors, recorded, move |at| {
                (32..web).contains(&at) || is_back(at)
            }),
            series("api", "latency", Signal::Latency, recorded, move |at| (32..api).contains(&at)),
            series("db", "latency", Signal::Latency, recorded, move |at| (31..api).contains(&at)),
        ];
        writer.to_bundle()
    }

    /// What a run finds in the beginning of it.
    fn run(self) -> Finished {
        let bundle = Shop { recorded: RUN, changes: &[], ..self }.bundle();
        let case = open_case(&bundle.incident(), None).unwrap();
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "api"),
            "api" => symptom_of(packet, "db"),
            "db" => origin(packet),
            _ => deferred(packet),
        });
        run(Config::default(), case, &BundleContext::new(bundle), &policy)
    }

    fn verify(self, asked: &Asked) -> Result<Verification, VerifyError> {
        verify(&self.run().diagnosis(), &OfBundle::new(self.bundle()), asked)
    }

    #[track_caller]
    fn verified(self) -> Verification {
        self.verify(&Asked::default()).unwrap()
    }
}

fn alert(name: &str, on: &str, signal: Signal, onset: i64, last: i64) -> Anomaly {
    Anomaly::new(name, entity(on), signal, minute(onset)).with_last_seen(minute(last))
}

fn change(of: &str, (at, path, new): (i64, &str, &str), old: &str) -> ChangeRecord {
    ChangeRecord {
        time: minute(at),
        entity: entity(of),
        signal: Signal::Configuration,
        path: path.into(),
        old: Some(old.into()),
        new: Some(new.into()),
        description: String::new(),
    }
}

/// A point a minute: about 10, and ten times as much in the minutes that are harmed.
fn series(
    of: &str,
    metric: &str,
    signal: Signal,
    recorded: i64,
    is_harmed: impl Fn(i64) -> bool,
) -> Series {
    let value = |at: i64| if is_harmed(at) { 100.0 } else { 10.0 + 0.1 * (at % 3) as f64 };
    Series {
        entity: entity(of),
        kind: EvidenceKind::Metric,
        metric: metric.into(),
        signal,
        unit: "1/s".into(),
        peer: None,
        points: (0..=recorded).map(|at| (minute(at), value(at))).collect(),
    }
}

/// What became of a prediction: an alert by its name, a series by its entity.
#[track_caller]
fn outcome(judged: &[Judged], of: &str) -> Outcome {
    let is_meant = |one: &&Judged| match &one.subject {
        Subject::Alert { name, .. } => name == of,
        Subject::Series { entity, .. } => entity.as_str() == of,
    };
    judged.iter().find(is_meant).unwrap_or_else(|| panic!("{of}: {judged:#?}")).outcome
}

#[test]
fn what_follows_from_the_cause_returns_and_the_rest_does_not() {
    let predictions = REPAIRED.run().diagnosis().predictions();
    let [prediction] = &predictions[..] else { panic!("{predictions:#?}") };
    assert_eq!(prediction.origins, [entity("db")]);
    assert_eq!(prediction.began, Some(minute(30)));
    assert_eq!(prediction.last_onset, minute(38));
    assert_eq!(prediction.unaffected.len(), 1);
    // The alert on `web` began 8 minutes after the change, its series within 3.
    let found = REPAIRED.verified();
    let by = |of: &str| {
        let judged = found.returns.iter().find(|one| match &one.subject {
            Subject::Alert { name, .. } => name == of,
            Subject::Series { entity, .. } => entity.as_str() == of,
        });
        judged.map(|one| one.by)
    };
    assert_eq!(by("Errors"), Some(minute(73)));
    assert_eq!(by("web"), Some(minute(70)));
    assert_eq!(found.returns.len(), 5, "{:#?}", found.returns);
}

#[test]
fn the_verdict_follows_from_what_returned_when() {
    let cases: [(&str, Shop, Verdict); 9] = [
        ("all in time", REPAIRED, Verdict::Verified),
        ("nothing", Shop { web: NEVER, api: NEVER, ..REPAIRED }, Verdict::Withdrawn),
        ("the series near the cause alone", Shop { web: NEVER, ..REPAIRED }, Verdict::Partial),
        ("one alert too late", Shop { web: 75, ..REPAIRED }, Verdict::Partial),
        ("all for a while", Shop { relapse: 72, ..REPAIRED }, Verdict::Partial),
        ("record too short", Shop { recorded: 68, web: NEVER, ..REPAIRED }, Verdict::TooEarly),
        (
            "record ends at the repair",
            Shop { recorded: 60, web: NEVER, ..REPAIRED },
            Verdict::TooEarly,
        ),
        ("all before the repair", Shop { web: 57, api: 56, ..REPAIRED }, Verdict::Undecided),
        ("one before the repair", Shop { api: 56, ..REPAIRED }, Verdict::Verified),
    ];
    for (name, shop, verdict) in cases {
        let found = shop.verified();
        assert_eq!(found.verdict, verdict, "{name}: {found:#?}");
        assert!(found.intervention.is_recorded && found.intervention.at == minute(60), "{name}");
    }
}

#[test]
fn each_prediction_has_an_outcome_of_its_own() {
    let late = Shop { web: 75, mailer: 66, ..REPAIRED }.verified();
    assert_eq!(outcome(&late.returns, "Errors"), Outcome::Late { at: minute(75) });
    assert_eq!(outcome(&late.returns, "web"), Outcome::Late { at: minute(75) });
    assert_eq!(outcome(&late.returns, "Slow"), Outcome::Returned { at: minute(63) });
    assert_eq!(outcome(&late.returns, "api"), Outcome::Returned { at: minute(63) });
    assert_eq!(outcome(&late.unaffected, "QueueFull"), Outcome::Returned { at: minute(66) });
    let stays = Shop { web: NEVER, ..REPAIRED }.verified();
    assert_eq!(outcome(&stays.returns, "Errors"), Outcome::NotReturned);
    assert_eq!(outcome(&stays.returns, "web"), Outcome::NotReturned);
    assert_eq!(outcome(&stays.unaffected, "QueueFull"), Outcome::NotReturned);
    let before = Shop { web: 57, ..REPAIRED }.verified();
    assert_eq!(outcome(&before.returns, "Errors"), Outcome::Before { at: Some(minute(57)) });
    assert_eq!(outcome(&before.returns, "web"), Outcome::Before { at: Some(minute(57)) });
    let short = Shop { recorded: 62, web: NEVER, ..REPAIRED }.verified();
    assert_eq!(outcome(&short.returns, "Errors"), Outcome::Open);
    assert_eq!(outcome(&short.returns, "web"), Outcome::Open);
}

#[test]
fn the_change_that_undoes_the_cause_is_the_repair() {
    let changes = &[(58, "replicas", "3"), (60, "pool.size", "50"), (90, "image", "v2")];
    let found = Shop { changes, ..REPAIRED }.verified();
    assert_eq!((found.verdict, found.intervention.at), (Verdict::Verified, minute(60)));
    let others: Vec<Timestamp> = found.other_changes.iter().map(|it| it.at).collect();
    assert_eq!(others, [minute(58), minute(90)]);
    let changes = &[(59, "replicas", "3"), (90, "image", "v2")];
    assert_eq!(Shop { changes, ..REPAIRED }.verified().intervention.at, minute(59));
}

#[test]
fn a_change_of_a_part_or_an_owner_of_the_origin_is_a_repair() {
    let changes = &[(60, "image", "v2")];
    for (changed, is_repair) in
        [("db", true), ("pod", true), ("operator", true), ("job", false), ("api", false)]
    {
        let found = Shop { changes, changed, ..REPAIRED }.verify(&Asked::default());
        match found {
            Ok(found) => {
                assert_eq!(found.verdict, Verdict::Verified, "{changed}");
                assert_eq!(found.intervention.entity, entity(changed));
                assert!(is_repair, "{changed}");
            }
            Err(error) => {
                assert!(matches!(error, VerifyError::NoIntervention { .. }), "{changed}: {error}");
                assert!(!is_repair, "{changed}: {error}");
            }
        }
    }
}

#[test]
fn without_a_repair_there_is_nothing_to_verify() {
    let none = Shop { changes: &[], ..REPAIRED };
    let error = none.verify(&Asked::default()).unwrap_err().to_string();
    assert!(
        error.contains("no change of db, its parts or its owners after 2026-01-01T00:38:00Z"),
        "{error}"
    );
    let given = |at, cause| Asked {
        at: Some(minute(at)),
        action: Some("failed over".into()),
        cause: Some(entity(cause)),
    };
    let found = none.verify(&given(60, "db")).unwrap();
    assert_eq!(found.verdict, Verdict::Verified);
    assert_eq!(found.intervention.what, "failed over");
    assert!(!found.intervention.is_recorded);
    let early = none.verify(&given(20, "db"));
    assert!(matches!(early, Err(VerifyError::BeforeHarm { .. })), "{early:?}");
    let other = none.verify(&given(60, "api"));
    assert!(matches!(other, Err(VerifyError::NotNamed { .. })), "{other:?}");
}

#[test]
fn records_of_another_system_are_refused() {
    let after = OfBundle::new(BundleWriter::new(Manifest::new("elsewhere")).to_bundle());
    let found = verify(&REPAIRED.run().diagnosis(), &after, &Asked::default());
    assert!(matches!(found, Err(VerifyError::OtherSystem { .. })), "{found:?}");
}

#[test]
fn what_is_not_on_record_after_the_repair_decides_nothing() {
    let mut writer = BundleWriter::new(Manifest::new("metrics alone"));
    writer.metrics = ["web", "api", "db"]
        .map(|name| series(name, "other", Signal::Errors, 120, |_| false))
        .into();
    let after = OfBundle::new(writer.to_bundle());
    let asked = Asked { at: Some(minute(60)), ..Asked::default() };
    let found = verify(&REPAIRED.run().diagnosis(), &after, &asked).unwrap();
    assert!(found.returns.iter().all(|one| one.outcome == Outcome::NotRecorded), "{found:#?}");
    assert_eq!(found.verdict, Verdict::Undecided);
}
