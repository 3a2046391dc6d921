//! `eog serve --nats`: pages, MCP and webhooks over the investigations of a cluster, run by any worker.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use eog::{BoxFuture, EntityId};
use eog_mcp::server::{
    Fate, Order as Alerted, OrderError, Outcome, ServeError, serve_handler, settings_of,
};
use eog_nats::{Block, InvestigationId, NatsError};
use eog_oncall::{Investigations, OnCall};
use eog_session::run::Start;
use eog_session::source::{FolderHandle, OpenError, Words, open_from};
use serde_json::{Map, Value};

use super::agents::Agents;
use super::host::ClusterHost;
use super::order::Order;
use super::reach::Reached;
use super::state::{State, Status};
use super::submit::{Ready, named};
use crate::args::Serve;
use crate::error::{CliError, Exit};
use crate::front::Front;
use crate::http::http;
use crate::runtime::LAST;
use eog_cases::pack::pack;

/// Most bytes of a packed capture.
pub(super) const MAX_INCIDENT: u64 = 256_000_000;
/// How often is asked whether an investigation has ended.
const ASKED: Duration = Duration::from_millis(500);

/// Serves until a signal.
pub(crate) fn serve(serve: &Serve, at: Option<SocketAddr>) -> Result<Exit, CliError> {
    let Some(address) = serve.http.or(at) else {
        let reason = "--nats: pages are served over HTTP; use `eog serve`, or give --http";
        return Err(CliError::Usage(reason.to_owned()));
    };
    let (address, settings) = http(serve, address)?;
    let config = serve.on_call.as_deref().map(eog_oncall::Config::read).transpose()?;
    let reached = Reached::preparing(&serve.nats)?;
    let host = ClusterHost::new(reached, serve.reading.clone());
    let agents = Agents::new(host.clone(), &serve.roots)?;
    let on_call = match config {
        None => None,
        Some(config) => {
            let to_do = config.to_do();
            Some((OnCall::open(config, host.clone(), serve.state()?)?, to_do))
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)?;
    let front = Front { address, settings, on_call };
    let served = runtime.block_on(front.serve(host, async |listener, settings, ended| {
        serve_handler(agents, listener, settings, ended).await
    }));
    runtime.shutdown_timeout(LAST);
    eog::processes::end_all();
    served.map_err(|error: ServeError| CliError::from(error))?;
    Ok(Exit::Diagnosed)
}

/// Alerts are investigated by workers: what was captured here is submitted, and waited for.
impl Investigations for ClusterHost {
    /// The incident of an investigation is what was submitted: what comes later begins anew.
    fn takes_news(&self, _id: &str) -> bool {
        false
    }

    fn carry_out(&self, order: Alerted) -> BoxFuture<'_, Result<Outcome, OrderError>> {
        Box::pin(self.carry(order))
    }

    /// What a cluster keeps is for its own retention to say.
    fn forget(&self, _id: &str) -> bool {
        true
    }

    fn close_verified(
        &self,
        id: &str,
        causes: BTreeSet<EntityId>,
        note: String,
    ) -> Result<Option<String>, String> {
        self.keep_case(id, causes, note).map_err(|error| error.to_string())
    }
}

impl ClusterHost {
    async fn carry(&self, order: Alerted) -> Result<Outcome, OrderError> {
        let host = self.clone();
        let (folder, settings, said) = (order.folder, order.settings, order.said);
        let handed = tokio::task::spawn_blocking(move || {
            let unreadable = |source| OpenError::Unreadable { path: folder.clone(), source };
            host.hand_in(&FolderHandle::open(&folder).map_err(unreadable)?, &settings, said)
        });
        let handed = handed.await;
        let lost = |reason: String| OrderError { reason, fate: Fate::Lost };
        let id = handed.map_err(|error| lost(error.to_string()))?.map_err(|error| match error {
            CliError::Nats(error) => OrderError { reason: error.to_string(), fate: Fate::Again },
            error => lost(error.to_string()),
        })?;
        loop {
            let (host, named) = (self.clone(), id.clone());
            let asked = tokio::task::spawn_blocking(move || {
                let register = &host.0.reached.register;
                match register.state(&named)? {
                    // No worker had it yet, or it was removed.
                    None => register.order(&named).map(|order| (None, order.is_some())),
                    state => Ok::<_, NatsError>((state, true)),
                }
            });
            // What the cluster does not answer now it answers later.
            let (state, is_there) = asked.await.ok().and_then(Result::ok).unwrap_or((None, true));
            if !is_there {
                let reason = "it was removed from the cluster".to_owned();
                return Err(OrderError { reason, fate: Fate::Again });
            }
            let state = state.and_then(|state| State::read(&state).ok().flatten());
            match state.filter(|state| state.status.has_ended()) {
                None => tokio::time::sleep(ASKED).await,
                Some(State { status: Status::Failed, note, .. }) => return Err(lost(note)),
                Some(State { status: Status::Cancelled, entries: 0, .. }) => {
                    return Err(lost("it was cancelled before it began".to_owned()));
                }
                Some(_) => break,
            }
        }
        let named = id.to_string();
        let report = self.aside(move |host| host.report(&named)).await;
        match report {
            Ok((report, _)) => Ok(Outcome::new(id.to_string(), report)),
            Err(reason) => Err(OrderError { reason, fate: Fate::Again }),
        }
    }

    /// Submits a folder. The same one, to be investigated by the same rules, has the same name, so that it is
    /// submitted once.
    pub(super) fn hand_in(
        &self,
        folder: &FolderHandle,
        settings: &Map<String, Value>,
        words: Words,
    ) -> Result<InvestigationId, CliError> {
        let settings = settings_of(settings).map_err(CliError::Usage)?;
        let incidents = &self.0.incidents;
        let opened = incidents.checked(open_from(folder, &incidents.options(None))?)?;
        let packed = pack(folder, None, MAX_INCIDENT)?;
        let begin = Start::of(&opened, settings.clone(), None);
        begin.map_err(|error| CliError::start(&opened, error))?;
        let block = Block::of(&packed.bytes);
        let seed = match words.is_empty() {
            true => eog::Digest::of(&(block.digest(), &packed.folder, &settings)),
            false => eog::Digest::of(&(block.digest(), &packed.folder, &settings, &words)),
        };
        let id = named(&opened.incident().name, &seed.to_string(), 16)?;
        let (wanted, rules) = (block.to_string(), settings.clone());
        let (window, has_architecture) = (None, false);
        let ready = Ready { opened: &opened, packed, settings, window, has_architecture, words };
        match ready.hand_in(&self.0.reached, &id) {
            // By this process before it died, perhaps in between, or by another one.
            Err(CliError::Nats(NatsError::Exists { .. })) => {
                let Reached { register, queue, .. } = &self.0.reached;
                let Some(order) = register.order(&id)? else {
                    return Err(CliError::Usage(format!(
                        "{id} was removed from the cluster in the meantime; submit it again"
                    )));
                };
                let there = Order::read(&order)?;
                if there.incident != wanted || there.settings != rules {
                    return Err(CliError::Usage(format!(
                        "{id} is an investigation of another incident, or with other settings; \
                         submit it under another name with eog submit --id"
                    )));
                }
                if register.state(&id)?.is_none() {
                    queue.submit(&id, &order)?;
                }
                Ok(id)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(id),
        }
    }
}
