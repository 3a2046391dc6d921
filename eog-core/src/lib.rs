//! The deterministic controller of eog and the vocabulary it speaks.

pub mod digest;

mod belief;
mod case;
mod config;
mod contract;
mod evidence;
mod ids;
mod packet;
mod time;
mod topology;

pub use belief::{Belief, Claim, ClaimEdge, Label, Message, Signature};
pub use case::{Anomaly, Bootstrap, Case, Seed};
pub use config::{
    Budget, ChangeRule, Checks, ClaimRule, Concurrency, Config, Damping, Order, Wake,
};
pub use contract::{
    AbductivePolicy, Answer, BoxFuture, ContextContract, ContextRequest, Failure, FailureKind,
    Usage,
};
pub use evidence::{
    ChangeDetail, EvidenceKind, EvidenceTime, Finding, FindingContent, Peer, PeerRole, Quantity,
    Signal, Trend,
};
pub use ids::{EntityId, EvidenceId, InvalidId, MAX_ENTITY_ID_BYTES};
pub use jiff::Timestamp;
pub use packet::{CandidateScore, ContextPacket, Decision, LocalContext, Proposal};
pub use time::{InvalidWindow, Window};
pub use topology::{Direction, Edge, EffectDirection, Neighbour, Topology};
