//! Closed incidents: each kept with its evidence, its ledger and what was true, graded, and investigated again whenever
//! rules, weights, prompts or models change.
//!
//! - [`ClosedCase`]: one incident after it was closed. [`Truth`] is what was found out, [`Concluded`] what the investigation
//!   said, [`Grade`] what that was worth.
//! - [`CaseFolder`]: the cases of an installation, in files: one writer, any number of readers.
//! - [`close`](mod@close): makes a case from a ledger and the incident that it is of.
//! - [`check`](mod@check): investigates cases again and compares.
//! - [`reliability`](mod@reliability): what each word of confidence was worth here.
//! - [`similar`](mod@similar): the nearest cases of an investigation.
//! - [`archive`](mod@archive): cases as one file, to be carried elsewhere.
//! - [`pack`](mod@pack): an incident as bytes.
//!
//! ```text
//! cases/
//!   index.json              what `eog cases list` shows, made anew where it is missing
//!   lock                    held by the one process that writes
//!   flash-sale-1f0c9a2e/
//!     case.json             truth, grade, what was concluded; with a checksum
//!     ledger.jsonl          the investigation
//!     incident.tar.gz       its evidence, with secrets masked
//! ```

pub mod archive;
mod case;
pub mod check;
pub mod close;
mod error;
mod folder;
mod grade;
mod index;
pub mod pack;
pub mod reliability;
pub mod similar;

pub use case::{ClosedCase, Closing, Concluded, Kept, Named, Truth};
pub use error::{CaseError, Contradiction};
pub use folder::{CaseFolder, INCIDENT, LEDGER, Listed, Writer};
pub use grade::Grade;
pub use index::Row;
