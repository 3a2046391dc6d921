//! Telemetry in columns: one list for each field, rows in time order.
//!
//! Texts and senders are numbers into a dictionary that holds each of them once, times are
//! nanoseconds, and what one row says of another is the row's number. A row is read through a
//! small view, so that readers look as if there were records.

/// Defines a store: its columns beside the times, a row on its way into them, a view of one row, and what is done with
/// all of them at once. What stands behind them is known only when all rows have their places.
macro_rules! columns {
    (
        $(#[$of_store:meta])* $store:ident,
        $(#[$of_view:meta])* $view:ident,
        $(#[$of_row:meta])* $row:ident {
            $($(#[$of_column:meta])* $column:ident: $type:ty,)+
        }
        $($(#[$of_other:meta])* $other:ident: $other_type:ty,)*
    ) => {
        $(#[$of_store])*
        #[derive(Debug, Default)]
        pub(crate) struct $store {
            pub(crate) at: Times,
            $($(#[$of_column])* pub(crate) $column: Vec<$type>,)+
            $($(#[$of_other])* pub(crate) $other: $other_type,)*
            pub(crate) senders: Vec<Arc<Resource>>,
            pub(crate) texts: Texts,
        }

        $(#[$of_row])*
        pub(crate) struct $row {
            pub(crate) at: i64,
            $(pub(crate) $column: $type,)+
        }

        impl $store {
            /// How many there are.
            pub(crate) fn len(&self) -> usize {
                self.at.len()
            }

            /// A row by its number.
            pub(crate) fn get(&self, row: u32) -> $view<'_> {
                $view { of: self, row }
            }

            /// All rows in time order.
            pub(crate) fn iter(
                &self,
            ) -> impl ExactSizeIterator<Item = $view<'_>> + DoubleEndedIterator {
                (0..self.len()).map(|row| self.get(number(row)))
            }

            /// The senders of rows, by number.
            pub(crate) fn sender(&self, number: u32) -> &Resource {
                static UNKNOWN: Resource = Resource::unknown();
                self.senders.get(number as usize).map_or(&UNKNOWN, AsRef::as_ref)
            }

            /// Adds a row at the end.
            pub(crate) fn push(&mut self, new: &$row) {
                self.at.0.push(new.at);
                $(self.$column.push(new.$column);)+
            }

            /// Puts the rows into another order, before they know of each other.
            pub(crate) fn reorder(&mut self, order: &[u32]) {
                reorder(&mut self.at.0, order);
                $(reorder(&mut self.$column, order);)+
            }

            /// Gives back what the columns hold in reserve.
            pub(crate) fn shrink_to_fit(&mut self) {
                self.at.0.shrink_to_fit();
                $(self.$column.shrink_to_fit();)+
            }
        }

        $(#[$of_view])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $view<'a> {
            of: &'a $store,
            row: u32,
        }

        impl<'a> $view<'a> {
            fn cell<T: Copy + Default>(self, column: &[T]) -> T {
                cell(column, self.row as usize)
            }

            fn text_in(self, column: &[u32]) -> &'a str {
                self.of.texts.get(self.cell(column))
            }

            /// Its number.
            pub(crate) fn row(self) -> u32 {
                self.row
            }

            /// When it began, or was written.
            pub(crate) fn at(self) -> Timestamp {
                self.of.at.get(self.row as usize)
            }

            pub(crate) fn sender(self) -> &'a Resource {
                self.of.sender(self.sender_number())
            }

            /// The sender's number, to compare.
            pub(crate) fn sender_number(self) -> u32 {
                self.cell(&self.of.sender)
            }

            pub(crate) fn file(self) -> &'a str {
                self.text_in(&self.of.file)
            }
        }
    };
}

mod dictionary;
mod logs;
mod resource;
mod samples;
mod spans;
mod times;

pub(crate) use dictionary::{Interner, Texts};
pub(crate) use logs::{LogRef, Logs, NewLog, says_error};
pub(crate) use resource::Resource;
pub(crate) use samples::Samples;
pub(crate) use spans::{Link, NewSpan, SpanKind, SpanRef, Spans};
pub(crate) use times::{Times, nanoseconds};

/// Most rows of one store: row numbers, and those of the few texts of each row, have four bytes.
pub(crate) const MAX_ROWS: usize = 1 << 29;

/// A cell; the default where there is none.
fn cell<T: Copy + Default>(column: &[T], row: usize) -> T {
    column.get(row).copied().unwrap_or_default()
}

/// The number of four bytes of a place in a list that [`MAX_ROWS`] bounds.
pub(crate) fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Puts a column into another order.
pub(crate) fn reorder<T: Copy + Default>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|row| cell(column, *row as usize)).collect();
}

/// The order that sorts rows by time, equal times as they came; nothing when they are sorted.
pub(crate) fn time_order(at: &Times) -> Option<Vec<u32>> {
    if at.0.is_sorted() {
        return None;
    }
    let mut order: Vec<u32> = (0..number(at.len())).collect();
    order.sort_by_key(|row| cell(&at.0, *row as usize));
    Some(order)
}
