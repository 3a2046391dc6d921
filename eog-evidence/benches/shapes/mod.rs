//! Large incidents of three shapes in which every entity was changed once: for benchmarks, and for
//! tests that count steps.

use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, Finding, Timestamp, Topology};

/// How many alerts there are.
pub(crate) const ALERTS: usize = 20;

/// Who calls whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each calls three others.
    Random,
    /// Each calls three of the next sixty.
    Layered,
    /// All call one.
    Star,
}

/// All of them.
pub(crate) const SHAPES: [Shape; 3] = [Shape::Random, Shape::Layered, Shape::Star];

/// What changes are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Each at another time.
    Spread,
    /// All at once, as in a dump of objects, and each names another entity.
    Naming,
}

/// A topology, its changes and its alerts.
pub(crate) struct Large {
    pub(crate) topology: Topology,
    pub(crate) changes: Vec<Finding>,
    pub(crate) anomalies: Vec<Anomaly>,
}

impl Large {
    /// So many entities. Equal arguments give equal incidents.
    pub(crate) fn new(entities: usize, shape: Shape, kind: Changes) -> Self {
        let mut numbers = Numbers(7);
        let names: Vec<EntityId> = (0..entities).map(name).collect();
        let mut topology = Topology::default();
        for (caller, from) in names.iter().enumerate() {
            for callee in shape.callees(caller, entities, &mut numbers) {
                if let Some(to) = names.get(callee).filter(|_| callee != caller) {
                    topology.connect(from, "calls", to, EffectDirection::TargetToSource);
                }
            }
        }
        let changes = names.iter().map(|entity| {
            let (second, text) = match kind {
                Changes::Spread => (60 + numbers.below(3_440), "2".to_owned()),
                Changes::Naming => {
                    let other = &names[numbers.below(entities)];
                    let service = other.as_str().rsplit('/').next().unwrap_or_default();
                    (3_000, format!("http://{service}:80"))
                }
            };
            change(entity, second, text)
        });
        let changes = changes.collect();
        let alerted = names.iter().take(ALERTS).enumerate();
        let anomalies = alerted.map(|(at, entity)| alert(entity, 3_600 + at)).collect();
        Self { topology, changes, anomalies }
    }
}

impl Shape {
    fn callees(self, caller: usize, entities: usize, numbers: &mut Numbers) -> Vec<usize> {
        match self {
            Self::Star => vec![0],
            Self::Random => (0..3).map(|_| numbers.below(entities)).collect(),
            Self::Layered => (0..3).map(|_| caller + 1 + numbers.below(59)).collect(),
        }
    }
}

/// A name of two words, as that of a service is: "team-4/brisk-badger7".
fn name(number: usize) -> EntityId {
    const FIRST: [&str; 8] =
        ["brisk", "calm", "dusty", "eager", "fuzzy", "grand", "hasty", "ivory"];
    const SECOND: [&str; 8] =
        ["badger", "condor", "donkey", "egret", "ferret", "gibbon", "heron", "ibis"];
    let (first, second) = (FIRST[number % 8], SECOND[number / 8 % 8]);
    EntityId::new(format!("team-{}/{first}-{second}{}", number % 37, number / 64))
        .expect("it is a name")
}

fn change(entity: &EntityId, second: usize, new: String) -> Finding {
    Finding::new(FindingContent {
        change: Some(ChangeDetail { path: "image".into(), old: Some("1".into()), new: Some(new) }),
        source: "changes.json".into(),
        query: format!("entity={entity}"),
        excerpt: "image changed".into(),
        ..FindingContent::new(
            entity.clone(),
            EvidenceKind::Change,
            Signal::Configuration,
            EvidenceTime::At(at(second)),
        )
    })
}

fn alert(entity: &EntityId, second: usize) -> Anomaly {
    Anomaly::new("Errors", entity.clone(), Signal::Errors, at(second))
}

fn at(second: usize) -> Timestamp {
    Timestamp::from_second(1_777_629_600 + second as i64).expect("it is a time")
}

/// Numbers that look random (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % bound.max(1)
    }
}
