//! Tree search for root causes: a second family of controllers on the seam that
//! [`Controller`](eog_core::Controller) stands on, with the same evidence, ledger, budgets and reports.
//!
//! [`SearchController`] grows a tree whose nodes each evaluate one entity. How it grows is the business of
//! named strategies in one [`SearchConfig`]; six profiles combine them:
//!
//! - [`SearchConfig::lats`]: language agent tree search (Zhou et al. 2023), rounds of selection by upper
//!   confidence bounds, expansion, evaluation, simulation and backup.
//! - [`SearchConfig::bfs`] and [`SearchConfig::beam`]: a planner expands, prunes or converges, level by level;
//!   beam keeps the best few of each level.
//! - [`SearchConfig::hypotheses`]: specialists investigate hypotheses with tools ([`Toolset`]), evidence is
//!   weighed, and what is promising is expanded.
//! - [`SearchConfig::treeseeker`]: goals with alternative paths; from value, uncertainty and risk in words,
//!   each round exploits, explores or goes back, and what was learnt stays with its branch.
//! - [`SearchConfig::react`]: one chain of evaluations and calls of tools by a single agent, a baseline.
//!
//! The core performs no I/O. Its questions are [`Ask`]s; [`Roles`] answer them:
//! [`PolicyRoles`] plays every role by rules over what an [`AbductivePolicy`](eog_core::AbductivePolicy)
//! decides.
//!
//! ```
//! use eog_core::machine::drive;
//! use eog_core::{Case, Decision, EntityId, InMemoryContext, Label, Machine, Seed, Topology, Window, policy_fn};
//! use eog_search::{SearchConfig, SearchController, SearchResponder};
//! # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
//! # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
//! # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
//! let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
//! let roles = SearchResponder::new(InMemoryContext::default(), policy);
//! let mut search = SearchController::open(SearchConfig::lats(), case);
//! drive(&mut search, &roles)?;
//! assert_eq!(search.tree().len(), 2, "the root, and one evaluation of cart");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arithmetic;
pub mod ask;
mod body;
pub mod chain;
mod config;
mod controller;
mod id;
pub mod lane;
#[cfg(feature = "planted-faults")]
#[doc(hidden)]
pub mod planted;
pub mod roles;
pub mod seek;
pub mod tools;
pub mod tree;

pub use arithmetic::{SQRT_2, ln, pending_bound, upper_bound};
pub use ask::{Answer, Ask, Role};
pub use body::{
    Acted, Action, Assignment, Call, CauseKind, Decomposed, Drawn, End, Ended, Hypothesis,
    Investigated, Looked, Metadata, MetadataValue, PlanAction, PlanTry, Planned, Progressed,
    Proposed, Purpose, Reflected, RefusedAction, Scored, SearchBody, Steered, Used, Verdict,
};
pub use chain::{
    Called, ChainAction, ChainPhase, Compacted, Deed, PlanEdit, PlanStatus, PlanStep, Reacted,
};
pub use config::{
    Backup, Evaluation, Expansion, Exploration, Incoherent, Lanes, MAX_PROMPT, MostAsked, Profile,
    Pruning, SearchConfig, Selection, Setting, Stop,
};
pub use controller::{SearchController, SearchProgress};
pub use id::{InvalidPlace, NodeId, Place};
pub use lane::{LaneAction, Specialist, StoredFinding, ToolAnswer, ToolCall};
pub use roles::{PolicyRoles, PolicyScores, Reply, Roles, SearchResponder};
pub use seek::{
    Approach, By, Candidate, Fact, FactChange, Goal, GoalProgress, Move, MoveKind, PathReport,
    PlanChange, Progress, RefusedPart, Signal, Steering, Taken, TreeMem, Try,
};
pub use tools::{ContractTools, ToolFailure, ToolSpec, Toolset};
pub use tree::{NodeView, Phase, PrunedBy, Tree};
