//! Sessions: everything between the engine and its users: a terminal, an agent or a web page.
//!
//! - [`source`]: an incident is opened, whatever it was recorded in.
//! - [`judge`]: the policy judges, chooses where to start, and writes the result.
//! - [`run`]: an investigation is begun, resumed or forked, with its journal and side file.
//! - [`travel`]: a ledger or journal is read, replayed, explained and compared.
//! - [`recovery`]: what a run predicts is compared with what was recorded after a repair.
//! - [`store`]: a folder of investigations, as a server keeps it.
//! - [`stress`](mod@stress): one investigation in many orders.
//! - [`watched`]: a run that any number of people watch.
//! - [`explanations`]: why an entity has its label, why it is no cause, and where two runs part.
//! - [`controllers`]: which controllers there are. All of the above works for each of them, or says in
//!   one line why not.
//!
//! Nothing here prints, parses arguments or speaks a protocol: progress goes to a [`Listener`], and
//! errors are typed.
//!
//! ```
//! use eog::{Config, Confidence};
//! use eog_session::judge::Evidence;
//! use eog_session::run::{Course, Start};
//! use eog_session::source;
//! # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let source = source::open(&path, &source::ReadOptions::default()).await?;
//! let start = Start::of(&source, Config::default(), None)?;
//! let ended = Course::new(&Evidence, source).begin(start).await?;
//! assert_eq!(ended.finished.conclusion().confidence, Confidence::Confirmed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod controllers;
pub mod explanations;
pub mod judge;
mod listener;
pub mod recovery;
mod roles;
pub mod run;
pub mod source;
pub mod store;
pub mod stress;
pub mod tools;
pub mod travel;
pub mod watched;

pub use listener::{Listener, Step};
