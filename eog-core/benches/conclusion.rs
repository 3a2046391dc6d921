//! What a conclusion costs, against nothing but the strongly connected components of the same
//! graph over plain integers.

mod world;

use divan::Bencher;
use divan::counter::ItemsCount;
use petgraph::graph::DiGraph;
use world::Numbers;

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
const CAUSES: usize = 5;

fn main() {
    divan::main();
}

/// `Controller::conclusion` over five random causes for each entity.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn random_conclusion(bencher: Bencher, entities: usize) {
    let mut numbers = Numbers(2);
    let causes = |_| random_causes(&mut numbers, entities);
    let anomalies = world::anomalies(entities, 20);
    let controller = world::visited_once(entities, anomalies, causes, |n| n % 10_000 == 17);
    bencher.counter(ItemsCount::new(entities * CAUSES)).bench_local(|| controller.conclusion());
}

/// petgraph's `kosaraju_scc` on the same graph, building it included.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn random_kosaraju(bencher: Bencher, entities: usize) {
    let mut numbers = Numbers(2);
    let edges: Vec<(u32, u32)> = (0..entities)
        .flat_map(|effect| {
            random_causes(&mut numbers, entities).into_iter().map(move |cause| (cause, effect))
        })
        .map(|(cause, effect)| (cause as u32, effect as u32))
        .collect();
    kosaraju(bencher, &edges);
}

/// One chain of claims through all entities, with the origin at its far end.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn chain_conclusion(bencher: Bencher, entities: usize) {
    let causes = |effect| if effect + 1 < entities { vec![effect + 1] } else { Vec::new() };
    let anomalies = world::anomalies(entities, 20);
    let controller = world::visited_once(entities, anomalies, causes, |n| n + 1 == entities);
    bencher.counter(ItemsCount::new(entities)).bench_local(|| controller.conclusion());
}

/// petgraph's `kosaraju_scc` on the same chain, building it included.
#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn chain_kosaraju(bencher: Bencher, entities: usize) {
    let edges: Vec<(u32, u32)> = (1..entities as u32).map(|cause| (cause, cause - 1)).collect();
    kosaraju(bencher, &edges);
}

fn random_causes(numbers: &mut Numbers, entities: usize) -> Vec<usize> {
    (0..CAUSES).map(|_| numbers.below(entities)).collect()
}

fn kosaraju(bencher: Bencher, edges: &[(u32, u32)]) {
    bencher.counter(ItemsCount::new(edges.len())).bench_local(|| {
        let graph = DiGraph::<(), ()>::from_edges(edges);
        petgraph::algo::kosaraju_scc(&graph)
    });
}
