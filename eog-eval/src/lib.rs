//! Measures eog on incidents whose causes are known.
//!
//! - [`petshop`]: the PetShop data set as incident bundles, and its scores.
//! - [`suite`]: any folder of incident bundles, each with a truth file of one or more causes.
//! - [`all`]: all such folders of a folder on one page.
//! - [`fit`]: weights of the evidence policy, fitted and judged on systems left out.
//! - [`generated`]: incidents of made-up systems, as bundles with their truths.
//! - [`itbench`]: the scoring of ITBench outputs against its ground truths.
//! - [`simulated`]: snapshots made from ground truths, investigated and scored.
//! - [`controllers`]: all controllers on the same incidents of any set, with a judge that errs.
//! - [`logs`]: patterns of log lines, compared with assigned events.
//! - [`Ranking`]: a report's order of suspects with its ties, and what it scores on average.
//! - [`baselines`]: trivial rankings that any method must beat.
//! - [`Funnel`]: where a cause was lost that was not named.
//! - [`Calibration`]: what was said, and what share of it was right; also without the cause.
//!
//! Every score of an investigation comes from the conclusion of an ordinary investigation ([`investigate`]): the same
//! controller, context contract and evidence policy that answer a user. The truth is read by the
//! scoring alone, after the investigation.

pub mod all;
mod baro;
pub mod baselines;
mod calibration;
pub mod controllers;
mod error;
pub mod fit;
mod funnel;
pub mod generated;
mod investigation;
pub mod itbench;
mod knockout;
pub mod logs;
mod model_usage;
mod near;
pub mod petshop;
mod ranking;
pub mod recorded;
mod repeated;
mod scan;
pub mod simulated;
pub mod suite;
mod table;
pub mod trajectory;

pub use calibration::{Calibration, Outcome, Said, Word};
pub use error::EvalError;
pub use funnel::{CountedShare, Funnel, FunnelShares, funnel};
pub use investigation::{Investigation, Method, investigate, investigate_source};
pub use model_usage::ModelUsage;
pub use ranking::Ranking;
pub use repeated::{Interval, Repeated, Share};
