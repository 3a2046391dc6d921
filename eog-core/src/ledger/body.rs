//! The content of ledger entries that every machine must provide: readers of ledgers, reports and the
//! engine know no more of a machine than this.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::belief::Belief;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::incident::case::Case;
use crate::ledger::record::{
    ContextRecord, ForkChanges, Forked, Observation, Opened, RecordedAnswer, Refusal,
};

/// What the entries of one machine record.
///
/// Serialized as an externally tagged enum: the tag of the opening entry identifies the machine of the ledger.
pub trait Body:
    Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The version of the format that this program writes and reads.
    const FORMAT: u32;

    /// The tag of the body that opens a ledger. No two machines share one.
    const OPENING: &'static str;

    /// Every choice of the machine.
    type Settings: Settings;

    /// The whole input, if this body opens a ledger.
    fn opened(&self) -> Option<&Opened<Self::Settings>>;

    /// The same in the form that all machines share.
    fn opening(&self) -> Option<Opening<'_>> {
        self.opened().map(Opened::opening)
    }

    /// What was evaluated and answered, if this body records that.
    fn look(&self) -> Option<Look<'_>> {
        None
    }

    /// What was observed of the world, if this body records that.
    fn observation(&self) -> Option<&Observation> {
        None
    }

    /// The fork, if what follows this entry takes another course than the ledger it was copied
    /// from.
    fn forked(&self) -> Option<&Forked<Self::Settings>>;

    /// The same in the form that all machines share.
    fn fork(&self) -> Option<Departure<'_>> {
        self.forked().map(Forked::departure)
    }
}

/// The whole input of an investigation, as its first entry holds it.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'b> {
    /// [`Body::FORMAT`] of the writer.
    pub format: u32,
    /// Topology, seeds, window, anomalies and how they were chosen.
    pub case: &'b Case,
    /// The policy, if the ledger names it.
    pub policy: Option<&'b str>,
    /// Every choice of the machine. [`Opening::settings`] has them as JSON.
    settings: &'b dyn Settings,
}

/// A fork, as the entry after those that were copied holds it.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'b> {
    /// The hash of the last entry that the parent had, beyond those copied.
    pub parent: Digest,
    /// The policy from here on, as the fork or its settings name it.
    pub policy: Option<&'b str>,
    /// Whether the fork itself names the policy. Settings do so even where it is the same as before.
    pub names_policy: bool,
    /// Every choice of the machine from here on, if another.
    settings: Option<&'b dyn Settings>,
}

/// One evaluation of an entity: what was seen, and what was answered.
#[derive(Clone, Copy, Debug)]
pub struct Look<'b> {
    /// The key of the questions that were asked for it ([`Question::key`](crate::machine::Question::key)).
    pub key: &'b EntityId,
    /// The entity.
    pub entity: &'b EntityId,
    /// Its local context, unless it is not available.
    pub context: Option<&'b ContextRecord>,
    /// The digest of the whole question that was asked about it, unless there was none.
    pub packet: Option<Digest>,
    /// What came back.
    pub answer: &'b RecordedAnswer,
    /// What was taken out of the answer, and why.
    pub refusals: &'b [Refusal],
    /// What is believed of the entity from then on.
    pub belief: &'b Belief,
    /// The entities notified of it.
    pub notified: &'b [EntityId],
}

/// Every choice of a machine, as data.
pub trait Settings: fmt::Debug + Send + Sync + 'static {
    /// The name of the policy, if it is recorded.
    fn policy(&self) -> Option<&str>;

    /// The choices as JSON, by name. The name of the policy is separate.
    fn to_json(&self) -> Value;
}

impl Opening<'_> {
    /// Every choice of the machine, as JSON.
    pub fn settings(&self) -> Value {
        self.settings.to_json()
    }
}

impl Departure<'_> {
    /// Every choice of the machine from here on as JSON, if another than before.
    pub fn settings(&self) -> Option<Value> {
        self.settings.map(Settings::to_json)
    }
}

impl<S: Settings> Opened<S> {
    /// The input in the form that all machines share.
    pub fn opening(&self) -> Opening<'_> {
        let Self { format, config, case } = self;
        Opening { format: *format, case, policy: config.policy(), settings: config }
    }
}

impl<S: Settings> Forked<S> {
    /// The fork in the form that all machines share.
    pub fn departure(&self) -> Departure<'_> {
        let ForkChanges { policy, config, case_file: _ } = &self.changes;
        let settings = config.as_ref().map(|config| config as &dyn Settings);
        let named = config.as_ref().and_then(Settings::policy);
        Departure {
            parent: self.parent,
            policy: policy.as_deref().or(named),
            names_policy: policy.is_some(),
            settings,
        }
    }
}
