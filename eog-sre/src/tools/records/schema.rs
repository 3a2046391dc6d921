//! The arguments of tools over tables: how they are described.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::super::query::{Query, Table};
use super::{Records, TableQuery};

impl<T: Records> JsonSchema for TableQuery<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    /// The arguments of all tables and those of this one, with the columns that it has.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut schema, mut own) = (Query::json_schema(generator), T::json_schema(generator));
        schema.insert("description".into(), own.remove("description").unwrap_or_default());
        schema.insert("additionalProperties".into(), false.into());
        let own = own.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(arguments) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            let columns = T::columns(Table::new(Vec::new())).columns;
            let names = |those: fn(bool) -> bool| {
                let those = columns.iter().filter(|column| those(column.shown));
                those.map(|column| column.name.as_ref()).collect::<Vec<_>>().join(", ")
            };
            let (all, hidden) = (names(|_| true), names(|shown| !shown));
            arguments["filters"]["description"] = format!("Conditions on columns: {all}.").into();
            arguments["columns"]["description"] =
                format!("Columns to show. By default all except {hidden}.").into();
            arguments.extend(own);
        }
        schema
    }
}
