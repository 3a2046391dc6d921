//! What the start of a large incident costs: every entity was changed once, there are 20 alerts.
//!
//! The ratio of two sizes shows the slope. `eog-evidence/src/effect_map/tests.rs` and
//! `eog-evidence/src/seeds/tests.rs` bound the steps without a clock.

mod shapes;

use std::fmt;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use eog_core::{EntityId, Topology};
use eog_evidence::{EffectMap, Incident, open_case};
use shapes::{Changes, Large, SHAPES, Shape};

/// Counts what is allocated: `max alloc` is what is held at once.
#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 4] = [1_000, 2_000, 4_000, 8_000];

fn main() {
    divan::main();
}

/// What is measured on: so many entities of a shape.
struct Size(Shape, usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(shape, entities) = self;
        f.pad(&format!("{} {entities}", format!("{shape:?}").to_lowercase()))
    }
}

fn sizes() -> impl Iterator<Item = Size> {
    SHAPES.into_iter().flat_map(|shape| SIZES.map(|entities| Size(shape, entities)))
}

/// `open_case`: window and seeds.
#[divan::bench(args = sizes(), sample_count = 11, sample_size = 1)]
fn seeds(bencher: Bencher, Size(shape, entities): &Size) {
    let Large { topology, changes, anomalies } = Large::new(*entities, *shape, Changes::Spread);
    let incident = Incident { topology, changes, anomalies, ..Incident::default() };
    bencher.counter(ItemsCount::new(*entities)).bench_local(|| open_case(&incident, None));
}

/// `EffectMap::new`.
#[divan::bench(args = sizes(), sample_count = 11, sample_size = 1)]
fn effect_map(bencher: Bencher, Size(shape, entities): &Size) {
    let large = Large::new(*entities, *shape, Changes::Spread);
    bencher.counter(ItemsCount::new(*entities)).bench_local(|| map(&large));
}

/// The same where all changes came at once and each names another entity, as in dumps of objects.
#[divan::bench(args = sizes(), sample_count = 11, sample_size = 1)]
fn effect_map_at_once(bencher: Bencher, Size(shape, entities): &Size) {
    let large = Large::new(*entities, *shape, Changes::Naming);
    bencher.counter(ItemsCount::new(*entities)).bench_local(|| map(&large));
}

/// `EffectMap::notes` of every entity.
#[divan::bench(args = sizes(), sample_count = 11, sample_size = 1)]
fn notes(bencher: Bencher, Size(shape, entities): &Size) {
    let large = Large::new(*entities, *shape, Changes::Spread);
    bencher
        .counter(ItemsCount::new(*entities))
        .with_inputs(|| map(&large))
        .bench_local_refs(|map| notes_of_all(map, &large.topology));
}

fn map(large: &Large) -> EffectMap {
    EffectMap::new(&large.topology, &large.changes, &large.anomalies)
}

fn notes_of_all(map: &EffectMap, topology: &Topology) -> usize {
    topology.entities().map(|entity: &EntityId| map.notes(entity).findings.len()).sum()
}
