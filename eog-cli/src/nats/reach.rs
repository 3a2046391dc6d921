//! Reaching the cluster that options and the environment name.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use eog::journal::Medium as _;
use eog_nats::{Access, Cluster, InvestigationId, NatsError, Options, Part, Queue, Register};

use super::order::Order;
use crate::args::{NatsArgs, NatsMaking};
use crate::error::CliError;

/// After which a worker counts as dead, unless the command line says otherwise.
const SILENCE: Duration = Duration::from_secs(30);
/// Most bytes of a file that holds a secret.
const MAX_SECRET: u64 = 4096;

/// A cluster, and what is on it.
#[derive(Clone)]
pub(crate) struct Reached {
    pub(crate) cluster: Cluster,
    pub(crate) register: Register,
    pub(crate) queue: Queue,
}

impl Reached {
    /// Connects, and makes what is missing.
    pub(crate) fn preparing(arguments: &NatsMaking) -> Result<Self, CliError> {
        let options = options(&arguments.reach)?;
        let replicas = arguments.replicas.map(usize::from);
        let silence = arguments.silence.unwrap_or(SILENCE);
        Ok(Self::prepare(&options, replicas, silence)?)
    }

    /// Connects to what is there.
    pub(crate) fn connecting(arguments: &NatsArgs) -> Result<Self, CliError> {
        let options = options(arguments)?;
        // What is checked here is that all of it is there.
        let cluster = Cluster::connect(&options)?;
        let register = Register::connect(&cluster)?;
        let queue = Queue::connect(&cluster)?;
        Ok(Self { cluster, register, queue })
    }

    fn prepare(
        options: &Options,
        replicas: Option<usize>,
        silence: Duration,
    ) -> Result<Self, NatsError> {
        // Most often all of it is there, and nothing has to be made.
        let there = Cluster::connect(options).and_then(|cluster| {
            let register = Register::connect(&cluster)?;
            let queue = Queue::connect(&cluster)?;
            Ok(Self { cluster, register, queue })
        });
        match there {
            Err(NatsError::StreamMissing { .. }) => {}
            there => return there,
        }
        let cluster = Cluster::preparing(options, replicas)?;
        let replicas = replicas.unwrap_or_else(|| cluster.usual_replicas());
        let register = Register::prepare(&cluster, replicas)?;
        let queue = Queue::prepare(&cluster, replicas, silence)?;
        let copies = if replicas == 1 { "1 copy".to_owned() } else { format!("{replicas} copies") };
        eprintln!(
            "eog: created the missing streams and buckets on the cluster, with {copies} of \
                   each message"
        );
        Ok(Self { cluster, register, queue })
    }

    /// The bytes of a part of an investigation, if there are any.
    pub(crate) fn bytes(
        &self,
        part: Part,
        id: &InvestigationId,
    ) -> Result<Option<Vec<u8>>, CliError> {
        let medium = match self.cluster.read(part, id) {
            Err(NatsError::NoSuch { .. }) => return Ok(None),
            medium => medium?,
        };
        let mut bytes = Vec::new();
        let read = medium.reader().and_then(|mut reader| reader.read_to_end(&mut bytes));
        let path = medium.path().to_owned();
        read.map_err(|source| CliError::Write { path, source })?;
        Ok(Some(bytes))
    }

    /// The investigation that a person names, with what it began with.
    pub(crate) fn find(&self, name: &str) -> Result<(InvestigationId, Order), CliError> {
        let id: InvestigationId = name.parse()?;
        match self.register.order(&id)? {
            Some(order) => Ok((id, Order::read(&order)?)),
            None => Err(NatsError::NoSuch { id }.into()),
        }
    }
}

/// How to reach the cluster.
pub(crate) fn options(arguments: &NatsArgs) -> Result<Options, CliError> {
    let url = match &arguments.url {
        Some(url) if url.contains('@') => {
            return Err(CliError::Usage(
                "--nats: an address on the command line must not contain a password, since other \
                 users can see it; give --nats-user and EOG_NATS_PASSWORD, or the address in \
                 EOG_NATS_URL"
                    .to_owned(),
            ));
        }
        Some(url) => url.clone(),
        None => variable("EOG_NATS_URL").ok_or_else(|| {
            CliError::Usage(
                "no cluster; give --nats URL, such as --nats nats://127.0.0.1:4222, or set \
                 EOG_NATS_URL"
                    .to_owned(),
            )
        })?,
    };
    let file = |given: &Option<PathBuf>, name: &str| {
        given.clone().or_else(|| variable(name).map(PathBuf::from))
    };
    let mut options = Options::new(url);
    if let Some(prefix) = arguments.prefix.clone().or_else(|| variable("EOG_NATS_PREFIX")) {
        options.prefix = prefix;
    }
    options.access = access(arguments, &file)?;
    options.ca = file(&arguments.ca, "EOG_NATS_CA");
    let (cert, key) =
        (file(&arguments.cert, "EOG_NATS_CERT"), file(&arguments.key, "EOG_NATS_KEY"));
    options.certificate = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        (Some(_), None) => return Err(CliError::Usage("--nats-cert needs --nats-key".to_owned())),
        (None, Some(_)) => return Err(CliError::Usage("--nats-key needs --nats-cert".to_owned())),
    };
    options.require_tls = arguments.tls;
    Ok(options)
}

/// The user of the connection. What the command line says counts before variables.
fn access(
    arguments: &NatsArgs,
    file: &dyn Fn(&Option<PathBuf>, &str) -> Option<PathBuf>,
) -> Result<Access, CliError> {
    let user = arguments.user.clone().or_else(|| variable("EOG_NATS_USER"));
    if arguments.password.is_some() && user.is_none() {
        return Err(CliError::Usage("--nats-password-file needs --nats-user".to_owned()));
    }
    if arguments.token.is_none() && arguments.user.is_none() && arguments.password.is_none() {
        let creds = match arguments.nkey {
            Some(_) => None,
            None => file(&arguments.creds, "EOG_NATS_CREDS"),
        };
        if let Some(creds) = creds {
            return Ok(Access::Credentials(creds));
        }
        if let Some(nkey) = file(&arguments.nkey, "EOG_NATS_NKEY_FILE") {
            return Ok(Access::NKey(secret(&nkey)?));
        }
    }
    if let Some(token) = &arguments.token {
        return Ok(Access::Token(secret(token)?));
    }
    if let Some(user) = user {
        let password = match &arguments.password {
            Some(path) => secret(path)?,
            None => variable("EOG_NATS_PASSWORD").ok_or_else(|| {
                CliError::Usage(format!(
                    "the password of the NATS user {user} is missing; set EOG_NATS_PASSWORD, or give \
                     --nats-password-file"
                ))
            })?,
        };
        return Ok(Access::Password(user, password));
    }
    Ok(variable("EOG_NATS_TOKEN").map_or(Access::Address, Access::Token))
}

/// The first line of a file.
fn secret(path: &Path) -> Result<String, CliError> {
    let unusable = |reason: String| CliError::Input { path: path.to_owned(), reason };
    let meta = path.metadata().map_err(|error| unusable(error.to_string()))?;
    if meta.len() > MAX_SECRET {
        return Err(unusable(format!("it is longer than {MAX_SECRET} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    match text.trim() {
        "" => Err(unusable("it is empty".to_owned())),
        secret => Ok(secret.to_owned()),
    }
}

/// A variable of the environment. An empty one counts as absent.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
