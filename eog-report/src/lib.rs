//! Reports: a [`Diagnosis`](eog_core::Diagnosis) as text, Markdown, JSON and drawings, and a
//! narrative by rules.
//!
//! A [`Report`] is the content of every form: the diagnosis, the [`Narrative`], why the run ended and
//! what it took. A form is a function of it:
//!
//! | function | form |
//! |---|---|
//! | [`short`] | for a person at a terminal who has half a minute, with colours, wrapped |
//! | [`text`] | the same with everything |
//! | [`markdown`] | for a ticket or a page |
//! | [`json`] | the whole result for programs |
//! | [`agent_output`] | the narrative in the output schema of the paper's appendix A.3 |
//! | [`dot`], [`mermaid`] | the causal graph |
//! | [`entries`] | the entries of a ledger, one a line |
//! | [`steps`] | the same with all that a replay shows |
//!
//! The content for people is written once, as the sections of a [`document()`], which each form renders; the [`tree()`] of how
//! it spread and the [`Graph`] of causes and effects are drawn by all. The same thing has the same [`words`]
//! everywhere. Texts of telemetry and of models are untrusted; [`mod@clean`] makes them harmless.
//!
//! # Example
//!
//! An investigation in a plain loop, without a runtime, and its report. The shop fails; the stock that
//! it calls was changed a minute before.
//!
//! ```
//! use eog_core::{
//!     Anomaly, Case, Claim, Config, ContextPacket, Controller, Decision, EntityId, EvidenceKind,
//!     Input, Label, LocalContext, Output, Topology, Usage, Window,
//! };
//! use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
//! use eog_core::incident::EffectDirection;
//! use eog_core::machine::Inquiry;
//! use eog_report::Report;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! /// What is known of an entity: one finding.
//! fn context(entity: &EntityId) -> LocalContext {
//!     let at = EvidenceTime::At("2026-01-01T10:04:00Z".parse().expect("a time"));
//!     let finding = match entity.as_str() {
//!         "stock" => {
//!             FindingContent::new(entity.clone(), EvidenceKind::Change, Signal::Configuration, at)
//!                 .with_change("pool.size", Some("50".to_owned()), Some("5".to_owned()))
//!         }
//!         _ => FindingContent::new(entity.clone(), EvidenceKind::Metric, Signal::Errors, at)
//!             .with_excerpt("5 % of requests fail"),
//!     };
//!     let finding = finding
//!         .with_trend(Trend::Rising)
//!         .from_source("telemetry", format!("entity={entity}"));
//!     LocalContext { findings: vec![finding.into()], ..LocalContext::default() }
//! }
//!
//! /// The changed entity is the origin; the stock explains all others.
//! fn decide(packet: &ContextPacket, stock: &EntityId) -> Decision {
//!     let findings = &packet.context.findings;
//!     if packet.entity == *stock {
//!         return Decision::new(Label::Origin, "its pool was cut").citing(findings);
//!     }
//!     let (condition, observed) = ("its pool is too small", "requests wait and fail");
//!     let claim = Claim::new(stock, &packet.entity, condition, observed)
//!         .citing_ids(findings.iter().map(|finding| finding.id()));
//!     Decision::new(Label::Symptom, "it waits for the stock").citing(findings).claiming(claim)
//! }
//!
//! let (shop, stock) = (EntityId::new("shop")?, EntityId::new("stock")?);
//! let mut topology = Topology::default();
//! topology.connect(&shop, "calls", &stock, EffectDirection::TargetToSource);
//! let onset = "2026-01-01T10:05:00Z".parse()?;
//! let alert =
//!     Anomaly::new("Errors", shop, Signal::Errors, onset).with_severity("critical");
//! let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
//! let case = Case::from_anomalies(topology, window, vec![alert]);
//!
//! let mut controller = Controller::new(Config::default(), case);
//! loop {
//!     let input = match controller.poll() {
//!         Output::Append(entry) => Input::Appended(entry.seq),
//!         Output::Ask { ticket, question: Inquiry::Context(request) } => {
//!             Input::context(ticket, context(&request.entity))
//!         }
//!         Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
//!             Input::decision(ticket, decide(&packet, &stock), Usage::default())
//!         }
//!         Output::Idle | Output::Done(_) => break,
//!     };
//!     controller.handle(input)?;
//! }
//!
//! let report = Report::new("checkout", controller.diagnosis());
//! let text = eog_report::text(&report, Some(100));
//! println!("{text}");
//! assert!(text.contains("ROOT CAUSE (likely)"));
//! // The onset of the failing requests was not measured: that alone is enough for a doubt.
//! assert!(text.contains("the onset of the harm was not measured"));
//! assert!(text.contains("pool.size changed from 50 to 5"));
//! # Ok(())
//! # }
//! ```

mod agent_output;
pub mod clean;
pub mod document;
mod dot;
mod entries;
mod graph;
mod json;
mod lookup;
mod markdown;
mod mermaid;
mod narrative;
pub mod page;
mod report;
pub mod rules;
mod search_metrics;
mod search_tree;
mod steps;
mod text;
mod tree;
pub mod words;

pub use agent_output::{AgentAlert, AgentEntity, AgentOutput, AgentPropagation, agent_output};
pub use document::{Form, document};
pub use dot::dot;
pub use entries::{Described, brief, entries, why};
pub use graph::{Arrow, Graph, Node, Role};
pub use json::{json, pretty};
pub use lookup::{Lookup, shell_word};
pub use markdown::markdown;
pub use mermaid::mermaid;
pub use narrative::{
    AlertExplained, Author, Citation, Deviation, Moment, NARRATIVE_VERSION, NarratedEntity,
    Narrative, Propagation, Refused,
};
pub use report::{Alert, Considered, Report, RunFigures, SimilarCase, Weight};
pub use rules::narrate;
pub use search_metrics::search_metrics;
pub use search_tree::{search_tree, search_tree_json};
pub use steps::{Answer, Believed, Grown, Step, StepKind, Trail, step, steps};
pub use text::{short, text};
pub use tree::{Branch, tree};
