//! The register: what is known of investigations beside their ledgers.

use std::collections::BTreeMap;

use async_nats::HeaderMap;
use async_nats::header::{
    NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM, NATS_MESSAGE_ID,
};
use async_nats::jetstream::consumer::{DeliverPolicy, pull::OrderedConfig};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RawMessageBuilder, StorageType,
};
use bytes::Bytes;
use futures_util::StreamExt;

use crate::cluster::said;
use crate::{Cluster, InvestigationId, NatsError, Trouble};

/// What each investigation began with, how it stands, and what people said to it.
///
/// None of it is needed to go on with a ledger: a state that is lost or late misleads a list, and nothing
/// else. What it says is for its user to decide; here it is bytes.
#[derive(Clone, Debug)]
pub struct Register {
    cluster: Cluster,
}

/// What the register says of an investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registered {
    /// What it began with.
    pub order: Bytes,
    /// How it stands; empty before any worker had it.
    pub state: Bytes,
}

/// Something that was said to an investigation, or of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saying {
    /// Its place in the register: what was said later has a higher one.
    pub sequence: u64,
    /// What was said.
    pub bytes: Bytes,
}

/// What a subject of the register is for.
#[derive(Clone, Copy)]
enum Sheet {
    Order,
    State,
    Said,
}

impl Sheet {
    const ALL: [Self; 3] = [Self::Order, Self::State, Self::Said];

    fn as_str(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::State => "state",
            Self::Said => "said",
        }
    }
}

impl Register {
    /// The register of a cluster.
    ///
    /// # Errors
    /// [`NatsError::StreamMissing`] where there is none, [`NatsError::OtherVersion`], and others.
    pub fn connect(cluster: &Cluster) -> Result<Self, NatsError> {
        cluster.described(cluster.names().register(), crate::FORMAT)?;
        Ok(Self { cluster: cluster.clone() })
    }

    /// The register of a cluster, which is made where there is none, with so many replicas.
    ///
    /// # Errors
    /// Those of [`Register::connect`].
    pub fn prepare(cluster: &Cluster, replicas: usize) -> Result<Self, NatsError> {
        cluster.make_if_missing(&Config {
            name: cluster.names().register(),
            subjects: Sheet::ALL.map(|sheet| subject(cluster, sheet, "*")).into(),
            description: Some(crate::FORMAT.to_owned()),
            discard: DiscardPolicy::New,
            num_replicas: replicas,
            storage: StorageType::File,
            ..Config::default()
        })?;
        Self::connect(cluster)
    }

    /// Enters an investigation, with what it begins with.
    ///
    /// # Errors
    /// [`NatsError::Exists`] where there is one of this name that begins with anything else.
    pub fn enter(&self, id: &InvestigationId, order: &[u8]) -> Result<(), NatsError> {
        let order = Bytes::copy_from_slice(order);
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, "0");
        let entered = self.publish(Sheet::Order, id, headers, &order)?;
        // An attempt without an answer may have entered it.
        match entered.is_some() || self.order(id)?.is_some_and(|there| there == order) {
            true => Ok(()),
            false => Err(NatsError::Exists { id: id.clone() }),
        }
    }

    /// What an investigation began with, if there is one of this name.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn order(&self, id: &InvestigationId) -> Result<Option<Bytes>, NatsError> {
        Ok(self.last(Sheet::Order, id)?.map(|found| found.bytes))
    }

    /// How an investigation stands; nothing before a worker had it.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn state(&self, id: &InvestigationId) -> Result<Option<Bytes>, NatsError> {
        Ok(self.last(Sheet::State, id)?.map(|found| found.bytes))
    }

    /// How an investigation stands, and since which place in the register; nothing before a worker had it.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn standing(&self, id: &InvestigationId) -> Result<Option<Saying>, NatsError> {
        self.last(Sheet::State, id)
    }

    /// Says how an investigation stands, unless that was said anew since this place; 0 stands for never. Whether it
    /// was free to say so: an attempt whose answer was lost may say no, though it was stored.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn set_state_after(
        &self,
        id: &InvestigationId,
        place: u64,
        state: &[u8],
    ) -> Result<bool, NatsError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, place.to_string());
        let state = Bytes::copy_from_slice(state);
        Ok(self.publish(Sheet::State, id, headers, &state)?.is_some())
    }

    /// Says how an investigation stands.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn set_state(&self, id: &InvestigationId, state: &[u8]) -> Result<(), NatsError> {
        let state = Bytes::copy_from_slice(state);
        self.publish(Sheet::State, id, HeaderMap::new(), &state).map(drop)
    }

    /// Says something to an investigation. The worker that runs it, now or later, finds it.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn say(&self, id: &InvestigationId, bytes: &[u8]) -> Result<(), NatsError> {
        let mut headers = HeaderMap::new();
        // Attempts without an answer are stored once.
        headers.insert(NATS_MESSAGE_ID, self.cluster.unique());
        self.publish(Sheet::Said, id, headers, &Bytes::copy_from_slice(bytes)).map(drop)
    }

    /// The first that was said after this place; 0 stands for the beginning.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn said(&self, id: &InvestigationId, after: u64) -> Result<Option<Saying>, NatsError> {
        self.message(Sheet::Said, id, move |request, subject| {
            request.sequence(after + 1).next_by_subject(subject)
        })
    }

    /// All investigations by name. What was entered a moment ago may be missing.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn all(&self) -> Result<BTreeMap<InvestigationId, Registered>, NatsError> {
        let mut all = BTreeMap::new();
        for (id, order) in self.latest(Sheet::Order)? {
            all.insert(id, Registered { order, state: Bytes::new() });
        }
        for (id, state) in self.latest(Sheet::State)? {
            if let Some(registered) = all.get_mut(&id) {
                registered.state = state;
            }
        }
        Ok(all)
    }

    /// Removes what is known of an investigation. Its ledger stays.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn remove(&self, id: &InvestigationId) -> Result<(), NatsError> {
        // Its order last: without it the others would never be found.
        for sheet in [Sheet::Said, Sheet::State, Sheet::Order] {
            let filter = subject(&self.cluster, sheet, id.as_str());
            let name = self.cluster.names().register();
            self.cluster.persist(|cluster| {
                let (context, name, filter) =
                    (cluster.context().clone(), name.clone(), filter.clone());
                cluster.run(async move {
                    let stream = context.get_stream_no_info(&name).await.map_err(passing)?;
                    stream.purge().filter(filter).await.map(drop).map_err(passing)
                })
            })?;
        }
        Ok(())
    }

    /// Stores a message. Nothing is returned where its condition does not hold.
    fn publish(
        &self,
        sheet: Sheet,
        id: &InvestigationId,
        mut headers: HeaderMap,
        bytes: &Bytes,
    ) -> Result<Option<u64>, NatsError> {
        let subject = subject(&self.cluster, sheet, id.as_str());
        headers.insert(NATS_EXPECTED_STREAM, self.cluster.names().register());
        self.cluster.persist(|cluster| {
            let (context, subject) = (cluster.context().clone(), subject.clone());
            let (headers, bytes) = (headers.clone(), bytes.clone());
            cluster.run(async move {
                let published = match context.publish_with_headers(subject, headers, bytes).await {
                    Ok(acknowledged) => acknowledged.await,
                    Err(error) => Err(error),
                };
                match published {
                    Ok(stored) => Ok(Some(stored.sequence)),
                    Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
                    Err(error) => Err(passing(error)),
                }
            })
        })
    }

    fn last(&self, sheet: Sheet, id: &InvestigationId) -> Result<Option<Saying>, NatsError> {
        self.message(sheet, id, RawMessageBuilder::last_by_subject)
    }

    /// One message, from the leader.
    fn message(
        &self,
        sheet: Sheet,
        id: &InvestigationId,
        which: impl FnOnce(RawMessageBuilder, String) -> RawMessageBuilder + Copy + Send + 'static,
    ) -> Result<Option<Saying>, NatsError> {
        let (name, subject) =
            (self.cluster.names().register(), subject(&self.cluster, sheet, id.as_str()));
        self.cluster.persist(|cluster| {
            let (context, name, subject) =
                (cluster.context().clone(), name.clone(), subject.clone());
            cluster.run(async move {
                let stream = context.get_stream_no_info(&name).await.map_err(passing)?;
                match which(stream.raw_message_builder(), subject).send().await {
                    Ok(found) => {
                        Ok(Some(Saying { sequence: found.sequence, bytes: found.payload }))
                    }
                    Err(error) => match error.kind() {
                        LastRawMessageErrorKind::NoMessageFound => Ok(None),
                        LastRawMessageErrorKind::JetStream(error) => Err(said(&name, &error)),
                        _ => Err(passing(error)),
                    },
                }
            })
        })
    }

    /// The last message of every investigation.
    fn latest(&self, sheet: Sheet) -> Result<Vec<(InvestigationId, Bytes)>, NatsError> {
        let (name, filter) = (self.cluster.names().register(), subject(&self.cluster, sheet, "*"));
        self.cluster.persist(|cluster| {
            let (context, name, filter, timeout) =
                (cluster.context().clone(), name.clone(), filter.clone(), cluster.timeout());
            cluster.run(async move {
                let stream = context.get_stream_no_info(&name).await.map_err(passing)?;
                let config = OrderedConfig {
                    filter_subject: filter,
                    deliver_policy: DeliverPolicy::LastPerSubject,
                    ..OrderedConfig::default()
                };
                let consumer = stream.create_consumer(config).await.map_err(passing)?;
                let mut found = Vec::new();
                if consumer.cached_info().num_pending == 0 {
                    return Ok(found);
                }
                let mut messages = consumer.messages().await.map_err(passing)?;
                loop {
                    let next = tokio::time::timeout(timeout, messages.next()).await;
                    let Ok(Some(message)) = next else {
                        return Err(Trouble::Passing("the register does not arrive".to_owned()));
                    };
                    let message = message.map_err(passing)?;
                    let id = message.subject.rsplit('.').next().unwrap_or_default();
                    if let Ok(id) = id.parse() {
                        found.push((id, message.payload.clone()));
                    }
                    if message.info().map_err(passing)?.pending == 0 {
                        return Ok(found);
                    }
                }
            })
        })
    }
}

fn subject(cluster: &Cluster, sheet: Sheet, id: &str) -> String {
    cluster.names().of(sheet.as_str(), id)
}

fn passing(error: impl std::fmt::Display) -> Trouble {
    Trouble::Passing(error.to_string())
}
