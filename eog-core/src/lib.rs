//! The deterministic controller of eog and the vocabulary it speaks.

pub mod digest;

mod active;
mod belief;
mod case;
mod checks;
mod conclude;
mod config;
mod contract;
mod controller;
mod evidence;
mod ids;
mod ledger;
mod packet;
mod state;
mod time;
mod topology;

pub use active::Reason;
pub use belief::{Belief, Claim, ClaimEdge, Label, Message, Signature};
pub use case::{Anomaly, Bootstrap, Case, Seed};
pub use conclude::{Conclusion, Confidence, OriginGroup, Ranked, Score};
pub use config::{
    Budget, ChangeRule, Checks, ClaimRule, Concurrency, Config, Damping, Order, Wake,
};
pub use contract::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextRequest, Failure, FailureKind,
    Usage,
};
pub use controller::{
    BudgetKind, Controller, Input, InputError, Output, Spent, StopReason, Ticket,
};
pub use evidence::{
    ChangeDetail, EvidenceKind, EvidenceTime, Finding, FindingContent, Peer, PeerRole, Quantity,
    Signal, Trend,
};
pub use ids::{EntityId, EvidenceId, InvalidId, MAX_ENTITY_ID_BYTES};
pub use jiff::Timestamp;
pub use ledger::{
    ActivationRecord, ActivationRefusal, ChangeCause, ContextRecord, Entry, EntryBody, Evaluation,
    LEDGER_FORMAT, Ledger, LedgerError, Observation, Observed, Opened, Outcome, RecordedAnswer,
    Refusal, Warning,
};
pub use packet::{CandidateScore, ContextPacket, Decision, LocalContext, Proposal};
pub use time::{InvalidWindow, Window};
pub use topology::{Direction, Edge, EffectDirection, Neighbour, Topology};
