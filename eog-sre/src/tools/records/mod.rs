//! Tables of records, and the tools that ask them.
//!
//! A tool of this kind is a declaration ([`Records`]): its words, its columns, its rows. All that can
//! be asked of one table can be asked of all ([`Query`]), and a [`TableQuery`] reads, describes and
//! answers it. A tool that takes the table as an argument is one more [`Tool`], which calls
//! [`Records::ask`] of the table that is named.

mod alert_analysis;
mod alert_summary;
mod arguments;
mod event_analysis;
mod k8s_spec_change_analysis;
#[cfg(feature = "schema")]
mod schema;

pub use alert_analysis::AlertAnalysis;
pub use alert_summary::AlertSummary;
pub(in crate::tools) use arguments::SHARED;
pub use arguments::TableQuery;
pub use event_analysis::EventAnalysis;
pub use k8s_spec_change_analysis::{SpecChangeAnalysis, TimeBasis};

use eog_core::EntityId;
use serde::de::DeserializeOwned;

use super::query::{Cell, Kind, Page, Query, Table};
use super::tool::{Described, Tool};
use super::{ToolError, Toolbox};
use crate::names;

/// A table of records: what it is called, its columns, its rows. The type holds what can be asked of
/// this table alone.
pub(crate) trait Records: DeserializeOwned + Described + Default {
    /// As for [`Tool`].
    const NAME: &'static str;
    /// As for [`Tool`].
    const SUMMARY: &'static str;
    /// As for [`Tool`].
    const DESCRIPTION: &'static str;
    /// As for [`Tool`].
    const EXAMPLES: &'static [&'static str];
    /// The names of the type's own fields.
    const OWN: &'static [&'static str] = &[];
    /// One record.
    type Row<'s>;

    /// Adds the columns that the table has for every snapshot.
    fn columns<'s>(table: Table<'s, Self::Row<'s>>) -> Table<'s, Self::Row<'s>>;

    /// Adds the columns that it has for this snapshot besides.
    fn more_columns<'s>(
        table: Table<'s, Self::Row<'s>>,
        _: &'s Toolbox,
    ) -> Table<'s, Self::Row<'s>> {
        table
    }

    /// The records about the entities and the time that are asked for, in their natural order.
    ///
    /// # Errors
    /// [`ToolError::Argument`] for what cannot be used.
    fn rows<'s>(
        &self,
        toolbox: &'s Toolbox,
        query: &Query,
    ) -> Result<Vec<Self::Row<'s>>, ToolError>;

    /// Answers a question to the table.
    ///
    /// # Errors
    /// [`ToolError::Argument`] for unknown entities and columns, and for conditions that do not
    /// fit.
    fn ask(&self, toolbox: &Toolbox, query: &Query) -> Result<Page, ToolError> {
        let table = Self::columns(Table::new(self.rows(toolbox, query)?));
        query.run(&Self::more_columns(table, toolbox))
    }
}

impl<T: Records> Tool for TableQuery<T> {
    const NAME: &'static str = T::NAME;
    const SUMMARY: &'static str = T::SUMMARY;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const EXAMPLES: &'static [&'static str] = T::EXAMPLES;
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        self.table.ask(toolbox, &self.query)
    }
}

/// Adds the columns of what a record is about: entity, namespace, kind, name. The namespace is as
/// given where the entity does not contain it.
pub(in crate::tools) fn about<'t, R: 't>(
    table: Table<'t, R>,
    entity: fn(&R) -> Option<&EntityId>,
    namespace: fn(&R) -> &str,
) -> Table<'t, R> {
    table
        .column("entity", Kind::Text, move |row| entity(row).map(EntityId::as_str).into())
        .column("namespace", Kind::Text, move |row| {
            let of_entity = entity(row).and_then(names::namespace_of);
            Cell::text(of_entity.unwrap_or_else(|| namespace(row)))
        })
        .hidden()
        .column("kind", Kind::Text, move |row| entity(row).map(names::kind_of).into())
        .hidden()
        .column("name", Kind::Text, move |row| entity(row).map(names::bare).into())
        .hidden()
}
