//! The arguments of tools over tables: how they are read.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::super::query::Query;
use super::Records;

/// A query of a table of records, such as [`EventAnalysis`](super::EventAnalysis).
///
/// In JSON, the fields of both parts are in one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableQuery<T> {
    /// The arguments that only this table has.
    pub table: T,
    /// The arguments that every table has.
    pub query: Query,
}

impl<T> TableQuery<T> {
    /// Combines a table with a query.
    pub const fn of(table: T, query: Query) -> Self {
        Self { table, query }
    }
}

/// The arguments of every table, in the order in which they are listed.
pub(in crate::tools) const SHARED: [&str; 9] =
    ["entity", "filters", "window", "group_by", "aggregates", "columns", "sort", "limit", "offset"];

impl<'de, T: Records> Deserialize<'de> for TableQuery<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut own, mut shared) = (Map::new(), Map::new());
        for (name, value) in Map::deserialize(deserializer)? {
            if SHARED.contains(&name.as_str()) {
                shared.insert(name, value);
            } else if T::OWN.contains(&name.as_str()) {
                own.insert(name, value);
            } else {
                let known: Vec<String> =
                    SHARED.iter().chain(T::OWN).map(|known| format!("`{known}`")).collect();
                let known = known.join(", ");
                return Err(Error::custom(format!(
                    "unknown field `{name}`, expected one of {known}"
                )));
            }
        }
        Ok(Self { table: part(own)?, query: part(shared)? })
    }
}

fn part<T: DeserializeOwned, E: Error>(fields: Map<String, Value>) -> Result<T, E> {
    serde_json::from_value(Value::Object(fields)).map_err(E::custom)
}
