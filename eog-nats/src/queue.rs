//! The work queue: investigations that wait for a worker.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use async_nats::jetstream::{AckKind, Message};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::oneshot;

use crate::removal::{Objects, carry_out, is_removal};
use crate::{Cluster, InvestigationId, NatsError, Trouble};

/// The consumer that all workers share.
const WORKERS: &str = "workers";

/// Investigations that wait for a worker, or have one. Each is there once, until its worker says that it is done.
#[derive(Clone, Debug)]
pub struct Queue {
    cluster: Cluster,
    silence: Duration,
}

/// An investigation that a worker has taken. Until this is dropped, the cluster is notified that it goes on.
/// Dropped before [`Task::done`], it is given to another worker after a while.
#[derive(Debug)]
pub struct Task {
    cluster: Cluster,
    message: Message,
    id: InvestigationId,
    /// Ends the signals when it is dropped.
    _signals: oneshot::Sender<()>,
}

impl Queue {
    /// The queue of a cluster, which is made where there is none, with so many replicas. A worker that is silent
    /// for as long as `silence` counts as dead; what there is keeps the time it has.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn prepare(
        cluster: &Cluster,
        replicas: usize,
        silence: Duration,
    ) -> Result<Self, NatsError> {
        let config = Config {
            name: cluster.names().work(),
            subjects: vec![cluster.names().work_subject("*")],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            num_replicas: replicas,
            ..Config::default()
        };
        let wanted = pull::Config {
            durable_name: Some(WORKERS.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            ..pull::Config::default()
        };
        cluster.make_if_missing(&config)?;
        cluster.persist(|cluster| {
            let (context, name, wanted) =
                (cluster.context().clone(), config.name.clone(), wanted.clone());
            cluster.run(async move {
                let stream = context.get_stream(&name).await.map_err(passing)?;
                stream.get_or_create_consumer(WORKERS, wanted).await.map(drop).map_err(passing)
            })
        })?;
        Self::connect(cluster)
    }

    /// The queue of a cluster, where there is one.
    ///
    /// # Errors
    /// [`NatsError::StreamMissing`] where there is none, and others.
    pub fn connect(cluster: &Cluster) -> Result<Self, NatsError> {
        let name = cluster.names().work();
        cluster.persist(|cluster| cluster.config(name.clone()).map(drop))?;
        let silence = cluster.persist(|cluster| {
            let (context, name) = (cluster.context().clone(), name.clone());
            cluster.run(async move {
                let stream = context.get_stream_no_info(&name).await.map_err(passing)?;
                let consumer: PullConsumer = stream.get_consumer(WORKERS).await.map_err(passing)?;
                Ok(consumer.cached_info().config.ack_wait)
            })
        })?;
        Ok(Self { cluster: cluster.clone(), silence })
    }

    /// After which a worker counts as dead.
    pub fn silence(&self) -> Duration {
        self.silence
    }

    /// How many investigations wait or have a worker.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn waiting(&self) -> Result<u64, NatsError> {
        let name = self.cluster.names().work();
        self.cluster.persist(|cluster| {
            let (context, name) = (cluster.context().clone(), name.clone());
            cluster.run(async move {
                let stream = context.get_stream(&name).await.map_err(passing)?;
                Ok(stream.cached_info().state.messages)
            })
        })
    }

    /// Has an investigation wait for a worker, with what the worker is to know. False if it is there already.
    ///
    /// # Errors
    /// [`NatsError`]. It may be in the queue then: an investigation may be submitted again.
    pub fn submit(&self, id: &InvestigationId, order: &[u8]) -> Result<bool, NatsError> {
        let subject = self.cluster.names().work_subject(id.as_str());
        let order = Bytes::copy_from_slice(order);
        self.cluster.enqueue(&self.cluster.names().work(), &subject, &order)
    }

    /// The next investigation, if there is one within so long. Those that are to be removed are removed on the way, and
    /// messages of others, whose subject names no investigation, are taken out of the queue.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn take(&self, within: Duration) -> Result<Option<Task>, NatsError> {
        while let Some(task) = self.next(within)? {
            if !is_removal(task.order()) {
                return Ok(Some(task));
            }
            carry_out(&self.cluster, task.id(), &Objects::list(&self.cluster)?)?;
            task.done()?;
        }
        Ok(None)
    }

    /// The next order of whatever kind.
    fn next(&self, within: Duration) -> Result<Option<Task>, NatsError> {
        loop {
            match self.first(within)? {
                Found::Task(task) => return Ok(Some(*task)),
                Found::Nothing => return Ok(None),
                Found::Foreign => {}
            }
        }
    }

    /// What comes first.
    fn first(&self, within: Duration) -> Result<Found, NatsError> {
        let (name, cluster) = (self.cluster.names().work(), self.cluster.clone());
        let silence = self.silence;
        self.cluster.persist(|connected| {
            let (context, name, cluster) =
                (connected.context().clone(), name.clone(), cluster.clone());
            connected.run(async move {
                let stream = context.get_stream(&name).await.map_err(passing)?;
                let consumer: PullConsumer = stream.get_consumer(WORKERS).await.map_err(passing)?;
                let batch = consumer.batch().max_messages(1).expires(within).messages().await;
                let Some(message) = batch.map_err(passing)?.next().await else {
                    return Ok(Found::Nothing);
                };
                let message = message.map_err(|error| Trouble::Passing(error.to_string()))?;
                let id = message.subject.rsplit('.').next().unwrap_or_default().parse();
                let Ok(id) = id else {
                    let ended = message.double_ack().await;
                    return ended.map(|()| Found::Foreign).map_err(passing);
                };
                let signals = signal(&message, silence / 3);
                Ok(Found::Task(Box::new(Task { cluster, message, id, _signals: signals })))
            })
        })
    }
}

/// What stands first in the queue.
enum Found {
    Task(Box<Task>),
    /// What is no order, and was taken out.
    Foreign,
    Nothing,
}

impl Task {
    /// Which investigation it is.
    pub fn id(&self) -> &InvestigationId {
        &self.id
    }

    /// What the worker is to know.
    pub fn order(&self) -> &[u8] {
        &self.message.payload
    }

    /// How often it was given to a worker, this time included.
    pub fn attempts(&self) -> u64 {
        let delivered = self.message.info().map_or(1, |info| info.delivered);
        u64::try_from(delivered).unwrap_or(1)
    }

    /// Gives the investigation back, so that another worker has it after a while, or at once.
    ///
    /// # Errors
    /// [`NatsError`]. It is given to another worker all the same, once this one counts as dead.
    pub fn hand_back(self, after: Duration) -> Result<(), NatsError> {
        let after = Some(after).filter(|after| !after.is_zero());
        self.cluster.persist(|cluster| {
            let message = self.message.clone();
            cluster.run(async move {
                let said = message.double_ack_with(AckKind::Nak(after)).await;
                said.map_err(|error| Trouble::Passing(error.to_string()))
            })
        })
    }

    /// Takes the investigation out of the queue, since its ledger has ended.
    ///
    /// # Errors
    /// [`NatsError`]. It is given to another worker then, which finds that it has ended.
    pub fn done(self) -> Result<(), NatsError> {
        self.cluster.persist(|cluster| {
            let message = self.message.clone();
            cluster.run(async move {
                message.double_ack().await.map_err(|error| Trouble::Passing(error.to_string()))
            })
        })
    }
}

/// Signals the cluster at every interval that the work goes on, until what is returned is dropped.
fn signal(message: &Message, every: Duration) -> oneshot::Sender<()> {
    let (sender, mut ended) = oneshot::channel();
    let message = message.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = &mut ended => return,
                // A signal that is lost is followed by others in time.
                () = tokio::time::sleep(every) => drop(message.ack_with(AckKind::Progress).await),
            }
        }
    });
    sender
}

fn passing(error: impl std::fmt::Display) -> Trouble {
    Trouble::Passing(error.to_string())
}
