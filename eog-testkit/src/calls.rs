//! Which calls a fault strikes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use eog::EntityId;

use crate::names::entity;

/// Which calls a fault of [`Faulty`](crate::Faulty) strikes. Calls are counted from 1.
///
/// ```
/// use eog_testkit::Call;
/// let second_of_db = Call::nth_of("db", 2);
/// assert_ne!(second_of_db, Call::of("db"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    entity: Option<EntityId>,
    number: Option<u64>,
}

impl Call {
    /// Every call.
    pub fn any() -> Self {
        Self { entity: None, number: None }
    }

    /// The nth call of all.
    pub fn nth(number: u64) -> Self {
        Self { entity: None, number: Some(number) }
    }

    /// Every call about this entity.
    ///
    /// # Panics
    /// When the name is not valid.
    #[track_caller]
    pub fn of(name: &str) -> Self {
        Self { entity: Some(entity(name)), number: None }
    }

    /// The nth call about this entity.
    ///
    /// # Panics
    /// When the name is not valid.
    #[track_caller]
    pub fn nth_of(name: &str, number: u64) -> Self {
        Self { entity: Some(entity(name)), number: Some(number) }
    }

    pub(crate) fn is(&self, entity: &EntityId, numbers: Numbers) -> bool {
        match &self.entity {
            None => self.number.is_none_or(|number| number == numbers.overall),
            Some(own) => {
                own == entity && self.number.is_none_or(|number| number == numbers.of_entity)
            }
        }
    }
}

/// The numbers of one call, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    overall: u64,
    of_entity: u64,
}

/// Counts calls.
#[derive(Debug, Default)]
pub(crate) struct Counter(Mutex<(u64, BTreeMap<EntityId, u64>)>);

impl Counter {
    pub(crate) fn count(&self, entity: &EntityId) -> Numbers {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0 += 1;
        let overall = counts.0;
        let of_entity = counts.1.entry(entity.clone()).or_default();
        *of_entity += 1;
        Numbers { overall, of_entity: *of_entity }
    }
}
