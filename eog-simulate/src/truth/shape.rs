//! Callers and callees, by number.

use super::spec::{Shape, TruthSpec};
use crate::random::Stream;

/// Share of the calls of a layered graph that skip a layer.
const SKIPPING: f64 = 0.2;

/// The callees of each entity: sorted, without repeats and without itself.
pub(super) fn callees(spec: &TruthSpec, draw: &mut Stream) -> Vec<Vec<usize>> {
    let count = spec.entities;
    let mut callees = match spec.shape {
        Shape::Layered => layered(count, spec.dependencies, draw),
        Shape::Random => {
            let others = |own| {
                let calls = draw.around(spec.dependencies);
                // Positions among the others: those from `own` on are one further.
                let drawn = draw.sample(count - 1, calls).into_iter();
                drawn.map(|other| other + usize::from(other >= own)).collect()
            };
            (0..count).map(others).collect()
        }
        Shape::Chain => (1..=count).map(|next| (next..count).take(1).collect()).collect(),
        Shape::Wide => wide(count, spec.dependencies, draw),
    };
    for own in &mut callees {
        own.sort_unstable();
        own.dedup();
    }
    callees
}

/// The callers of each entity, sorted.
pub(super) fn callers(callees: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut callers = vec![Vec::new(); callees.len()];
    for (caller, callees) in callees.iter().enumerate() {
        for callee in callees {
            callers[*callee].push(caller);
        }
    }
    callers
}

fn layered(count: usize, dependencies: f64, draw: &mut Stream) -> Vec<Vec<usize>> {
    let layers = count.isqrt().clamp(1, 8);
    let start = |layer: usize| (layer * count).div_ceil(layers);
    let mut callees = Vec::with_capacity(count);
    for layer in 0..layers {
        let (next, beyond) = (start(layer + 1), start((layer + 2).min(layers)));
        for _ in start(layer)..next {
            let calls = draw.around(dependencies);
            let deep = (0..calls).filter(|_| draw.chance(SKIPPING)).count();
            let near = draw.sample(beyond - next, calls - deep);
            let far = draw.sample(count - next, deep);
            callees.push(near.into_iter().chain(far).map(|position| next + position).collect());
        }
    }
    callees
}

fn wide(count: usize, dependencies: f64, draw: &mut Stream) -> Vec<Vec<usize>> {
    let stores = (count / 10).clamp(1, 5).min(count - 1);
    let first_store = count - stores;
    // Without a middle, the front calls the stores.
    let front = if first_store > 1 { 1..first_store } else { 1..count };
    let mut callees = vec![front.collect::<Vec<usize>>()];
    for _ in 1..first_store {
        let calls = draw.around(dependencies);
        let drawn = draw.sample(stores, calls);
        callees.push(drawn.into_iter().map(|store| first_store + store).collect());
    }
    callees.resize(count, Vec::new());
    callees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomSeed;

    fn calls(shape: Shape, entities: usize, dependencies: f64) -> Vec<Vec<usize>> {
        let spec = TruthSpec { entities, shape, dependencies, ..TruthSpec::default() };
        callees(&spec, &mut RandomSeed::from(1).stream("shape"))
    }

    #[test]
    fn every_shape_makes_a_graph_of_every_size() {
        for shape in Shape::ALL {
            for entities in [1, 2, 3, 4, 9, 10, 57, 100] {
                for dependencies in [0.0, 0.5, 2.0, 200.0] {
                    let callees = calls(shape, entities, dependencies);
                    assert_eq!(callees.len(), entities, "{shape:?}");
                    for (own, callees) in callees.iter().enumerate() {
                        assert!(callees.is_sorted_by(|a, b| a < b), "{shape:?}");
                        assert!(callees.iter().all(|other| *other < entities && *other != own));
                    }
                }
            }
        }
    }

    #[test]
    fn shapes_are_what_they_are_called() {
        assert_eq!(calls(Shape::Chain, 4, 2.0), [vec![1], vec![2], vec![3], vec![]]);
        let layered = calls(Shape::Layered, 100, 2.0);
        assert!(layered.iter().enumerate().all(|(own, callees)| callees.iter().all(|c| *c > own)));
        let wide = calls(Shape::Wide, 20, 1.0);
        assert_eq!(wide[0], (1..18).collect::<Vec<_>>());
        assert!(wide[1..18].iter().all(|calls| calls.len() == 1 && calls[0] >= 18));
        assert_eq!(calls(Shape::Wide, 2, 1.0), [vec![1], vec![]]);
        assert_eq!(calls(Shape::Wide, 3, 1.0), [vec![1], vec![2], vec![]]);
    }

    #[test]
    fn dependencies_are_met_on_average() {
        let random = calls(Shape::Random, 1_000, 2.3);
        let edges = random.iter().map(Vec::len).sum::<usize>();
        assert!((2_200..2_400).contains(&edges), "{edges}");
        let backwards =
            random.iter().enumerate().flat_map(|(own, c)| c.iter().filter(move |c| **c < own));
        assert!(backwards.count() > edges / 3, "there are cycles");
    }

    #[test]
    fn callers_turn_callees_around() {
        assert_eq!(callers(&[vec![1, 2], vec![2], vec![]]), [vec![], vec![0], vec![0, 1]]);
    }
}
