//! The options of investigations on NATS.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse::{parse_count, parse_seconds};
use super::reading::parse_size;
use super::run::Pace;
use super::{Judging, Reading, Said, Start};
use eog::{Limits, Speculation};
use std::num::NonZeroU32;

const NATS: &str = "NATS";

// How a cluster is reached. (No documentation comment: clap would make it the description of the command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NatsArgs {
    /// Addresses of servers of the cluster, separated by commas, such as nats://a:4222,nats://b:4222, or
    /// tls://a:4222. [env: EOG_NATS_URL]
    #[arg(long = "nats", value_name = "URL", help_heading = NATS)]
    pub(crate) url: Option<String>,

    /// Prefix of the names of streams, buckets and subjects. Workers see the incidents submitted with the same
    /// prefix. Default: eog. [env: EOG_NATS_PREFIX]
    #[arg(long = "nats-prefix", value_name = "NAME", help_heading = NATS)]
    pub(crate) prefix: Option<String>,

    /// Credentials file (JWT and seed). [env: EOG_NATS_CREDS]
    #[arg(long = "nats-creds", value_name = "FILE", help_heading = NATS)]
    pub(crate) creds: Option<PathBuf>,

    /// File with the seed of an NKey. [env: EOG_NATS_NKEY_FILE]
    #[arg(long = "nats-nkey-file", value_name = "FILE", help_heading = NATS,
          conflicts_with = "creds")]
    pub(crate) nkey: Option<PathBuf>,

    /// User name. The password is read from --nats-password-file or EOG_NATS_PASSWORD.
    /// [env: EOG_NATS_USER]
    #[arg(long = "nats-user", value_name = "NAME", help_heading = NATS,
          conflicts_with_all = ["creds", "nkey"])]
    pub(crate) user: Option<String>,

    /// File with the password of --nats-user.
    #[arg(long = "nats-password-file", value_name = "FILE", help_heading = NATS,
          conflicts_with_all = ["creds", "nkey", "token"])]
    pub(crate) password: Option<PathBuf>,

    /// File with a token. Without it EOG_NATS_TOKEN is used, if it is set.
    #[arg(long = "nats-token-file", value_name = "FILE", help_heading = NATS,
          conflicts_with_all = ["creds", "nkey", "user"])]
    pub(crate) token: Option<PathBuf>,

    /// Trusted certificates (PEM), instead of those of the system. [env: EOG_NATS_CA]
    #[arg(long = "nats-ca", value_name = "FILE", help_heading = NATS)]
    pub(crate) ca: Option<PathBuf>,

    /// Client certificate (PEM). [env: EOG_NATS_CERT]
    #[arg(long = "nats-cert", value_name = "FILE", help_heading = NATS)]
    pub(crate) cert: Option<PathBuf>,

    /// Key of --nats-cert (PEM). [env: EOG_NATS_KEY]
    #[arg(long = "nats-key", value_name = "FILE", help_heading = NATS)]
    pub(crate) key: Option<PathBuf>,

    /// Refuse connections without TLS. A tls:// address implies it.
    #[arg(long = "nats-tls", help_heading = NATS)]
    pub(crate) tls: bool,
}

// The same, and how missing streams are created.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NatsMaking {
    #[command(flatten)]
    pub(crate) reach: NatsArgs,

    /// Replicas of streams and buckets that are created because they are missing. Default: 3 if the cluster has
    /// at least three servers, otherwise 1. Existing ones are not changed.
    #[arg(long = "nats-replicas", value_name = "N", help_heading = NATS)]
    pub(crate) replicas: Option<NonZeroUsize>,

    /// Seconds without a sign of life after which a worker counts as dead, set when the queue is created. An
    /// existing queue keeps its value. Default: 30.
    #[arg(long = "nats-silence", value_name = "SECONDS", value_parser = parse_seconds,
          help_heading = NATS)]
    pub(crate) silence: Option<Duration>,
}

const WORKER_HELP: &str = "\
Exit codes:
  0    a signal ended the worker, or with --until-empty the queue was empty
  1    the cluster cannot be used
  2    wrong command line
  4    a file that an option names cannot be used

Examples:
  eog worker --nats nats://a:4222,nats://b:4222,nats://c:4222
  eog worker --nats tls://nats.example.org --nats-creds eog.creds --policy llm
  eog worker --until-empty        (with EOG_NATS_URL set)";

#[derive(Debug, Args)]
#[command(after_help = WORKER_HELP)]
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) nats: NatsMaking,

    #[command(flatten)]
    pub(crate) judging: Judging,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    policy_timeout: Option<Duration>,

    #[command(flatten)]
    pace: Pace,

    /// Time after which no new evaluation of an investigation is started, in seconds from when this worker
    /// took it. Its result is what was found by then.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) deadline: Option<Duration>,

    /// Cache decisions on the cluster, so that no worker repeats a call of another. A changed policy is called
    /// again (see docs/embedding.md).
    #[arg(long)]
    pub(crate) memory: bool,

    /// Account on the cluster that this worker spends from. --max-model-calls, --max-tokens and --max-usd then
    /// apply to all workers of the account together, not to each investigation; give them the same values.
    /// Accounts do not expire: for a daily budget, put the date into the name.
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,

    /// Exit when no investigation is waiting or running.
    #[arg(long)]
    pub(crate) until_empty: bool,

    /// Print only errors and investigations that are returned to the queue.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Worker {
    /// Time limits, concurrency and retries.
    pub(crate) fn limits(&self) -> Limits {
        self.pace.calls.limits(self.policy_timeout)
    }

    /// How far to ask ahead, if at all.
    pub(crate) fn speculation(&self) -> Option<Speculation> {
        let Pace { speculate, max_waste, .. } = self.pace;
        speculate.map(|width| Speculation { width, max_wasted_calls: max_waste })
    }
}

const SUBMIT_HELP: &str = "\
Exit codes:
  0    submitted; with --wait: an origin that explains at least one alert was found
  1    the cluster cannot be used; with --wait: the incident could not be investigated
  2    wrong command line, or an --id that is already in use
  3    with --wait: no origin was found
  4    the incident cannot be used

Examples:
  eog submit incident-17 --nats nats://a:4222
  eog submit Scenario-2 --architecture architecture.json --controller lats --wait
  eog submit source.toml          (captures the sources now and submits the capture)";

#[derive(Debug, Args)]
#[command(after_help = SUBMIT_HELP)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) start: Start,

    /// Number of evaluations in progress at once. See `eog investigate --help`.
    #[arg(long, value_name = "W", value_parser = parse_count)]
    pub(crate) width: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) said: Said,

    /// Name of the investigation: 1 to 64 ASCII letters, digits, `-` and `_`. Default: the name of the incident
    /// and eight digits.
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,

    /// Wait until it has ended, and print the report.
    #[arg(long)]
    pub(crate) wait: bool,

    /// Maximum size of the packed incident, which is stored on the cluster.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_size)]
    pub(crate) max_incident: u64,

    #[command(flatten)]
    pub(crate) nats: NatsMaking,

    /// Do not print progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How investigations are listed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ListFormat {
    /// One line for each.
    #[default]
    Text,
    /// An array of objects.
    Json,
}

macro_rules! cluster_codes {
    () => {
        "\
Exit codes:
  0    done
  1    the cluster cannot be used, or output could not be written
  2    wrong command line
  4    there is no such investigation, access is denied, or a file that an option names cannot be
       used"
    };
}

const CLUSTER_CODES: &str = cluster_codes!();

const LIST_HELP: &str = concat!(
    cluster_codes!(),
    "\n\n\
Status:
  waiting      not taken by a worker yet, or returned to the queue; the note says why
  running      a worker is investigating it
  finished     ended
  interrupted  ended early, such as at a deadline
  cancelled    ended by `eog cancel`; its result is what was found until then
  failed       cannot be investigated; the note says why

Examples:
  eog list --nats nats://a:4222
  eog list --format json | jq '.[] | select(.status == \"finished\") | .origins'"
);

#[derive(Debug, Args)]
#[command(after_help = LIST_HELP)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) nats: NatsArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

#[derive(Debug, Args)]
#[command(after_help = CLUSTER_CODES)]
pub(crate) struct Cancel {
    /// The investigation, as `eog list` names it.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) nats: NatsArgs,
}

const TELL_HELP: &str = concat!(
    cluster_codes!(),
    "\n\n\
Examples:
  eog tell flash-sale-1f2e3d4c --not-cause 'database=its owner checked it, it is healthy'
  eog tell flash-sale-1f2e3d4c --note 'payment=it was restarted by hand at 10:12'"
);

#[derive(Debug, Args)]
#[command(after_help = TELL_HELP)]
pub(crate) struct Tell {
    /// The investigation, as `eog list` names it.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) said: Said,

    #[command(flatten)]
    pub(crate) nats: NatsArgs,
}

const FETCH_HELP: &str = concat!(
    cluster_codes!(),
    "\n\n\
Examples:
  eog fetch flash-sale-1f2e3d4c --out result
  eog fetch flash-sale-1f2e3d4c --out result --incident
  eog report result/journal result/incident/flash-sale --html report.html"
);

#[derive(Debug, Args)]
#[command(after_help = FETCH_HELP)]
pub(crate) struct Fetch {
    /// The investigation, as `eog list` names it.
    pub(crate) id: String,

    /// Folder for journal, journal.side.jsonl, ledger.jsonl, graph.dot and report.md. Created if
    /// missing; files with these names are replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Also download the incident, into incident/ in the folder, which must not exist yet: for `eog resume`
    /// and the charts of `eog report`.
    #[arg(long)]
    pub(crate) incident: bool,

    #[command(flatten)]
    pub(crate) nats: NatsArgs,
}

const PRUNE_HELP: &str = concat!(
    cluster_codes!(),
    "\n\n\
Examples:
  eog prune flash-sale-1f2e3d4c
  eog prune --max-age 30 --max-size 20G"
);

#[derive(Debug, Args)]
#[command(after_help = PRUNE_HELP)]
pub(crate) struct Prune {
    /// Investigations to remove, as `eog list` names them.
    #[arg(required_unless_present_any = ["max_age", "max_size"])]
    pub(crate) ids: Vec<String>,

    /// Remove ended investigations that were last written this many days ago or earlier.
    #[arg(long, value_name = "DAYS", conflicts_with = "ids")]
    pub(crate) max_age: Option<u32>,

    /// Remove ended investigations, oldest first, until ledgers and incidents take no more than this.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "ids")]
    pub(crate) max_size: Option<u64>,

    #[command(flatten)]
    pub(crate) nats: NatsArgs,
}
