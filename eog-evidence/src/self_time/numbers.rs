//! Entities and operations of spans as numbers, so that the names of each span are looked up once.

use std::collections::HashMap;
use std::sync::Arc;

use eog_core::EntityId;

use super::traced::TracedSpan;

/// What a span names, by numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Named {
    pub(super) entity: u32,
    pub(super) callee: Option<u32>,
    /// Of spans with a finite duration.
    pub(super) operation: u32,
}

/// The names that spans speak of, and for each span which ones.
pub(super) struct Numbers {
    /// Sorted, each once.
    pub(super) entities: Vec<EntityId>,
    /// In the order in which spans with a finite duration first name them.
    pub(super) operations: Arc<Vec<String>>,
    /// One for each span.
    pub(super) spans: Vec<Named>,
}

impl Numbers {
    pub(super) fn of(spans: &[TracedSpan<'_>]) -> Self {
        // Look-ups alone.
        let mut known: HashMap<&EntityId, u32> = HashMap::new();
        let mut operations: HashMap<&str, u32> = HashMap::new();
        let (mut entities, mut names) = (Vec::new(), Vec::new());
        let mut named: Vec<Named> = Vec::with_capacity(spans.len());
        for span in spans {
            let mut entity = |name| {
                *known.entry(name).or_insert_with(|| {
                    entities.push(name);
                    entities.len() as u32 - 1
                })
            };
            let (of, callee) = (entity(span.entity), span.callee.map(entity));
            let operation = span.duration_ms.is_finite().then(|| {
                *operations.entry(span.operation).or_insert_with(|| {
                    names.push(span.operation.to_owned());
                    names.len() as u32 - 1
                })
            });
            named.push(Named { entity: of, callee, operation: operation.unwrap_or_default() });
        }
        let mut order: Vec<u32> = (0..entities.len() as u32).collect();
        order.sort_by_key(|at| entities.get(*at as usize));
        let mut place = vec![0; entities.len()];
        for (number, at) in order.iter().enumerate() {
            place[*at as usize] = number as u32;
        }
        let sorted = |number: u32| place.get(number as usize).copied().unwrap_or_default();
        for one in &mut named {
            (one.entity, one.callee) = (sorted(one.entity), one.callee.map(sorted));
        }
        entities.sort_unstable();
        let entities = entities.into_iter().cloned().collect();
        Self { entities, operations: Arc::new(names), spans: named }
    }
}

#[cfg(test)]
mod tests {
    use eog_core::Timestamp;

    use super::*;

    #[test]
    fn names_are_sorted_and_operations_come_as_they_are_first_named() {
        let name = |text: &str| EntityId::new(text).unwrap();
        let (web, cart, db) = (name("web"), name("cart"), name("db"));
        let span = |entity, callee, operation, duration_ms| TracedSpan {
            time: Timestamp::UNIX_EPOCH,
            entity,
            duration_ms,
            failed: None,
            callee,
            operation,
            place: None,
        };
        let numbers = Numbers::of(&[
            span(&web, None, "never", f64::INFINITY),
            span(&web, Some(&db), "put", 1.0),
            span(&cart, None, "get", 1.0),
            span(&web, None, "put", 1.0),
        ]);
        assert_eq!(numbers.entities, [cart, db, web]);
        assert_eq!(*numbers.operations, ["put", "get"]);
        let numbers: Vec<(u32, Option<u32>, u32)> =
            numbers.spans.iter().map(|one| (one.entity, one.callee, one.operation)).collect();
        assert_eq!(numbers, [(2, None, 0), (2, Some(1), 0), (0, None, 1), (2, None, 0)]);
        assert!(Numbers::of(&[]).entities.is_empty());
    }
}
