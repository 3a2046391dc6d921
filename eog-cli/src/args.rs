//! The command line.

mod eval;
mod judging;
mod live;
mod mcp;
#[cfg(feature = "nats")]
mod nats;
mod prompt;
mod reading;
mod said;
mod simulate;
mod sources;
mod stress;
mod tool;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use eog::{Config, Limits, Retry, Speculation, Timestamp, Window};
use eog_session::controllers::ControllerName;

pub(crate) use eval::{
    By as EvalBy, Controllers, Eval, EvalFormat, Evaluated, GeneratedSystem, OfJudge, OfSimulated,
    OnData, Runs,
};
pub(crate) use judging::{By, Judging};
pub(crate) use live::LiveArgs;
#[cfg(feature = "nats")]
pub(crate) use mcp::acts_on_cluster;
pub(crate) use mcp::{Mcp, McpCommand, Serve};
#[cfg(feature = "serve")]
pub(crate) use mcp::{SERVED_AT, Toolset as ListedTools};
#[cfg(feature = "nats")]
pub(crate) use nats::{
    Cancel, Fetch, List, ListFormat, NatsArgs, NatsMaking, Prune, Submit, Tell, Worker,
};
pub(crate) use prompt::{Doctor, Prompt};
#[cfg(feature = "models")]
pub(crate) use prompt::{Export, PhaseName, Show};
pub(crate) use reading::Reading;
pub(crate) use said::Said;
pub(crate) use simulate::Simulate;
pub(crate) use sources::{Capture, Check, Completions, Import, Init, Initial, Man};
pub(crate) use stress::{Stress, StressFormat};
pub(crate) use tool::{Asked, Call, Evidence, Tool, ToolFormat};

/// Finds the root causes of an incident.
///
/// eog walks the dependency graph from the alerts, decides for each entity whether it is an
/// origin, a symptom or healthy, lets neighbours revise each other, and ends with the smallest set
/// of origins that explains the alerts.
#[derive(Debug, Parser)]
#[command(name = "eog", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) color: colorchoice_clap::Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The command line with all options. A negative number is the value of the option before it, so that
    /// whoever reads the value says what is wrong with it.
    pub(crate) fn whole() -> clap::Command {
        fn taking_numbers(command: clap::Command) -> clap::Command {
            let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
                true if !arg.is_positional() => arg.allow_negative_numbers(true),
                _ => arg,
            };
            command.mut_args(takes).mut_subcommands(taking_numbers)
        }
        taking_numbers(Self::command())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Investigate an incident recorded in a folder.
    ///
    /// PATH is an incident bundle (a folder with `bundle.json`, see docs/bundle.md) or a Kubernetes
    /// snapshot in the ITBench layout (see docs/sre.md), detected from its content. Or it is a file such
    /// as `source.toml` that names live sources, such as Prometheus (see docs/live-sources.md), or MCP
    /// servers to ask for evidence (see docs/mcp.md).
    Investigate(Box<Investigate>),
    /// Resume an interrupted investigation from its journal.
    ///
    /// Calls whose answers are in the journal are not repeated. Window, profile, budget and width stay as
    /// they were, and so does the policy: give the same --policy.
    ///
    /// Evidence is read from the folder again, so keep it unchanged. If its topology or alerts differ
    /// from those in the journal, eog refuses to resume; other changed files are listed in a note.
    Resume(Box<Resume>),
    /// Continue differently from an entry of a ledger on: with another policy, budget or rule.
    ///
    /// The new ledger begins with copies of the entries up to that one, whose calls are not repeated, and
    /// records what was changed. Calls that were in progress at that entry are made again. The old
    /// ledger is not modified; `eog diff` compares the two.
    ///
    /// --policy always counts as a change of policy, since a program of the same name may have changed.
    /// Without it the built-in rules judge, which is refused if the ledger names another policy.
    ///
    /// Evidence is read from the folder again, and only its topology and alerts are compared with those
    /// in the ledger, so keep the folder unchanged.
    Fork(Box<Fork>),
    /// Rebuild an investigation from its ledger, without making any calls, and print its report.
    ///
    /// Every entry is derived again by the rules and compared with the recorded one.
    Replay(Replay),
    /// Write the report of a ledger as one HTML page that needs no network.
    ///
    /// Every entry is derived again by the rules and compared with the recorded one, as by `eog replay`.
    /// With PATH, the page has charts of the measured series that findings cite.
    Report(HtmlReport),
    /// Print the tree of a search by --controller lats, bfs, beam, hypotheses, treeseeker or react: every node with what was found there,
    /// its score and visits, what was pruned and why, and why the search ended.
    ///
    /// Every entry is derived again by the rules and compared with the recorded one, as by `eog replay`.
    Tree(Tree),
    /// Explain why an entity got its label: its evaluations, its messages, what the label depends on.
    ///
    /// --policy judges the last packet again: whole, then without each finding and message in turn. It
    /// must be the policy that the ledger names, if it names one.
    Explain(Explain),
    /// Show where two runs diverge, and what each concluded.
    Diff(Diff),
    /// Measure how much a result depends on evaluation order, by running in many orders.
    ///
    /// Equal questions get equal answers in all runs. Only the order of the seeds and of the active set,
    /// the width and the speed of answers are varied.
    Stress(Box<Stress>),
    /// Query a snapshot or bundle: its alerts, events, changes, objects, graph or telemetry.
    ///
    /// Without NAME, lists the tools. `eog tool NAME --help` explains one.
    Tool(Box<Tool>),
    /// Show the prompts for language models: the templates of each phase and its form of answer.
    #[command(subcommand)]
    Prompt(Prompt),
    /// Score investigations of incidents whose causes are known.
    Eval(Eval),
    /// Write a simulated snapshot of the incident that a ground truth describes.
    Simulate(Simulate),
    /// Write what live sources say about an incident into a folder.
    ///
    /// Prometheus, Alertmanager, Kubernetes, Jaeger, Tempo and files of the OpenTelemetry collector are asked as `source.toml`
    /// says. The folder is an incident bundle: investigating it gives the same ledger as investigating the
    /// sources at that time. What could not be had is printed, and kept in capture.json beside it. Secrets
    /// are masked before anything is written.
    Capture(Capture),
    /// Write files as people have them into a folder: dumps of clusters, alerts, traces, logs, panels.
    ///
    /// Each file is told by its content (see docs/bundle.md): objects and events of Kubernetes, dumps and support bundles;
    /// alerts of Alertmanager, Prometheus and others; answers of Prometheus, Loki, Elasticsearch, Jaeger, Tempo and Zipkin;
    /// OTLP; logs; CSV panels; compose files. What became of each file is printed. The folder is an incident bundle.
    Import(Import),
    /// Write a commented configuration, or an empty bundle, to begin with.
    Init(Init),
    /// Check a configuration, a bundle or a snapshot, and say what live sources offer.
    Check(Check),
    /// Check the configuration of policies and language models, without making any calls.
    Doctor(Doctor),
    /// Serve investigations and the tools of `eog tool` to agents over MCP.
    Mcp(Mcp),
    /// Serve investigations over HTTP: pages for people, MCP for agents, on one port.
    ///
    /// A list of the investigations in --state is at `/`, each with its page, live while it runs: stop
    /// it, go on with it, tell it what you know. Agents begin investigations at `/mcp`. It is `eog mcp
    /// serve` with --http 127.0.0.1:8765, unless another address is given.
    ///
    /// With --on-call it investigates alerts that Alertmanager sends, and tells webhooks what was found.
    /// /healthz, /readyz and, with --on-call, /metrics answer without a token.
    ///
    /// Ctrl-C, SIGTERM or SIGHUP ends the server within 5 seconds. Investigations that are running
    /// are interrupted; `resume` continues them, and those of --on-call go on after a restart. A
    /// second signal ends it at once.
    Serve(Box<Serve>),
    /// Submit an incident to the workers of a NATS cluster (see docs/many-machines.md).
    ///
    /// PATH is what `eog investigate` takes, but for MCP servers. It is packed and stored on the cluster, so
    /// workers need no access to it; live sources are captured first. Who judges is for the workers to
    /// say. Prints the name of the investigation.
    #[cfg(feature = "nats")]
    Submit(Box<Submit>),
    /// Investigate what was submitted to a NATS cluster, one incident after the other.
    ///
    /// Start as many workers as you like, on any machines, with the same policy. When one dies, another
    /// goes on from the ledger, without making a call again whose answer is stored. Ctrl-C, SIGTERM or
    /// SIGHUP gives the current investigation back to the queue and ends the worker; a second signal ends
    /// it at once.
    #[cfg(feature = "nats")]
    Worker(Box<Worker>),
    /// List the investigations on a NATS cluster.
    #[cfg(feature = "nats")]
    List(List),
    /// Tell an investigation on a NATS cluster what you know of entities.
    ///
    /// The worker that runs it looks at these entities again, which the ledger records. One that has ended
    /// goes on with it.
    #[cfg(feature = "nats")]
    Tell(Tell),
    /// End an investigation on a NATS cluster with what was found so far.
    #[cfg(feature = "nats")]
    Cancel(Cancel),
    /// Write an investigation on a NATS cluster into files, for `eog report`, `eog explain`, `eog resume`
    /// and all others.
    ///
    /// Of one that still runs, what is there by now. Journal and side file have the same bytes as those of
    /// `eog investigate --journal`.
    #[cfg(feature = "nats")]
    Fetch(Fetch),
    /// Remove investigations that have ended from a NATS cluster: by name, by age or by size.
    ///
    /// What waits or runs is never removed. Ledger, side file, incident and report go.
    #[cfg(feature = "nats")]
    Prune(Prune),
    // Said what they are, and refused.
    #[cfg(not(feature = "nats"))]
    #[command(
        name = "submit",
        aliases = ["worker", "list", "tell", "cancel", "fetch", "prune"],
        hide = true,
        disable_help_flag = true
    )]
    OnCluster(OnCluster),
    /// Print the JSON Schema of what a command policy reads or writes, or of what webhooks are told.
    ///
    /// The program of a policy is started once for each packet and must exit with code 0. Code 75 (EX_TEMPFAIL) means
    /// that it may answer later, and it is retried; any other code is recorded as a failure.
    Schema(Schema),
    /// Print the completions of a shell.
    Completions(Completions),
    /// Write manual pages.
    Man(Man),
}

/// Whatever is given to a command that this build does not have.
#[cfg(not(feature = "nats"))]
#[derive(Debug, Args)]
pub(crate) struct OnCluster {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<std::ffi::OsString>,
}

impl Command {
    /// Whether it is a service on call, which tells what it does.
    pub(crate) fn is_service(&self) -> bool {
        let serve = match self {
            Self::Serve(serve) => serve,
            Self::Mcp(mcp) => {
                let McpCommand::Serve(serve) = &mcp.command;
                serve
            }
            _ => return false,
        };
        serve.on_call.is_some()
    }
}

macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0    diagnosed: an origin that explains at least one alert was found
  1    output could not be written, not a single evaluation led to a decision, or recorded
       traffic of models lacks an answer
  2    wrong command line, or a place for output that is taken (--journal, --memory, --out)
  3    inconclusive: no origin found; the report ranks the candidates
  4    the input cannot be used, or with --strict a part of it; the message names file,
       place and reason
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP); what was found so far is reported"
    };
}

const EXIT_CODES: &str = exit_codes!();

const INVESTIGATE_HELP: &str = concat!(
    exit_codes!(),
    "\n\n\
Examples:
  eog investigate examples/flash-sale
  eog investigate Scenario-2 --architecture architecture.json --out result
  eog investigate Scenario-2 --policy command:./triage.py --budget 40
  eog investigate Scenario-2 --policy command:./triage.py --memory ~/.cache/eog
  eog investigate examples/flash-sale --format mermaid > chain.mmd
  eog investigate examples/flash-sale --not-cause 'database=its owner looked, it is healthy'"
);

#[derive(Debug, Args)]
#[command(after_help = INVESTIGATE_HELP)]
pub(crate) struct Investigate {
    #[command(flatten)]
    pub(crate) start: Start,

    /// Number of evaluations in progress at once, each started without waiting for those before it.
    /// This changes the order of evaluation, which the ledger records: messages from neighbours that
    /// arrive in the meantime come too late for evaluations in progress, so the steps, and possibly the
    /// result, differ between widths. The same width always gives the same ledger. To be faster without
    /// affecting the result, use --speculate.
    /// Default: 1; 3 with --controller hypotheses, one for each specialist; 5 with treeseeker.
    #[arg(long, value_name = "W", value_parser = parse_count)]
    pub(crate) width: Option<NonZeroU32>,

    /// File in which every step is stored before the next one is taken, so that `eog resume` can
    /// continue after a crash. Must not exist yet. Duration and cost of calls go to FILE.side.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Make no calls; write no files. Print the packets of the entities to start from, the first
    /// prompt for a language model with its exact number of tokens, and an upper bound for the
    /// whole investigation.
    #[arg(long, conflicts_with_all = ["journal", "live"])]
    pub(crate) dry_run: bool,

    /// For tests: do not wait until --journal is on disk. Faster, and what was stored still survives a
    /// crash of eog, but not one of the machine: steps may be lost or the file damaged.
    #[arg(long, requires = "journal")]
    pub(crate) no_fsync: bool,

    #[command(flatten)]
    pub(crate) running: Running,
}

// What an investigation begins with. (No documentation comment: clap would make it the description of
// the command.)
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Folder with the incident: a bundle or a snapshot. Or a file that names live sources or MCP servers.
    pub(crate) path: PathBuf,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Time window to investigate, as START/END in RFC 3339. Chosen from the alerts if absent.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// Controller: `eog` (Explanations over Graphs); the tree searches `lats` (language agent tree search),
    /// `bfs` (breadth-first), `beam` (the best few of each level), `hypotheses` (specialists for metrics,
    /// logs and traces investigate what may have caused it) and `treeseeker` (goals with alternative paths,
    /// on which each round goes on or back); or a baseline: `react` (one agent with a plan, who looks, calls
    /// tools and concludes) or `linear` (follows the newest lead, revises nothing and stops at the first
    /// origin). See docs/controllers.md.
    #[arg(long, value_name = "NAME", default_value_t = ControllerName::Eog, value_parser = controllers())]
    pub(crate) controller: ControllerName,

    /// Rules of the controller: `default` is recommended, `paper` is Algorithm 1 of the paper.
    #[arg(long, value_enum, default_value_t = Profile::Default)]
    pub(crate) profile: Profile,

    /// Maximum number of policy calls before the investigation stops.
    #[arg(long, value_name = "CALLS", default_value_t = 200, value_parser = parse_budget)]
    pub(crate) budget: u64,

    /// Turn off belief messages between neighbours (the paper's ablation).
    #[arg(long)]
    pub(crate) no_messages: bool,

    #[command(flatten)]
    pub(crate) search: Search,
}

/// What the tree searches leave to their user.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Search {
    /// Number of rounds (lats, hypotheses, treeseeker), plans (bfs, beam) or steps (react) at most. Default:
    /// 50, 6, 30, 20 and 60.
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) rounds: Option<NonZeroU32>,

    /// Depth of the tree at most; with lats, length of a trajectory. Default: 7 (lats), 3
    /// (hypotheses), 10.
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) depth: Option<NonZeroU32>,

    /// Children of a node (lats, hypotheses), survivors of a level (beam) or open paths of a goal
    /// (treeseeker) at most. Default: 5, 3, 3 and 5.
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) branch: Option<NonZeroU32>,

    /// Score from which a result is accepted, from 0 to 1000. Default: 900 (lats), 850.
    #[arg(long, value_name = "SCORE", value_parser = clap::value_parser!(u16).range(0..=1000),
          help_heading = TREE_SEARCH)]
    pub(crate) accept: Option<u16>,

    /// Keep the first score of each hypothesis (hypotheses), instead of scoring all of them again whenever
    /// findings came in.
    #[arg(long, help_heading = TREE_SEARCH)]
    pub(crate) no_rescore: bool,

    /// What results mean for the nodes above them (lats, hypotheses): the mean of what stands below, or the highest.
    /// Default: mean (lats), max (hypotheses).
    #[arg(long, value_enum, value_name = "HOW", help_heading = TREE_SEARCH)]
    pub(crate) backup: Option<BackedUp>,

    /// Have hypotheses proposed without sight of those that stand beside (hypotheses), to see what the sight is
    /// worth.
    #[arg(long, help_heading = TREE_SEARCH)]
    pub(crate) no_siblings: bool,

    /// So many bytes of what came of its steps are shown to the agent (react); beyond that the oldest steps become a
    /// summary. Give less for a model with a small context. Default: 200000.
    #[arg(long, value_name = "BYTES", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) shown: Option<NonZeroU32>,

    /// How moves on goals are chosen (treeseeker): from value, uncertainty and risk in words, or by lot among
    /// those that are admissible, to see what the words are worth. Default: signals.
    #[arg(long, value_enum, value_name = "HOW", help_heading = TREE_SEARCH)]
    pub(crate) textual: Option<Textual>,

    /// Seed of the lots (--textual random). Default: 0.
    #[arg(long, value_name = "N", requires = "textual", help_heading = TREE_SEARCH)]
    pub(crate) lot_seed: Option<u64>,
}

/// What results mean for the nodes above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackedUp {
    /// The mean.
    Mean,
    /// The highest.
    Max,
}

impl From<BackedUp> for eog_search::Backup {
    fn from(backed_up: BackedUp) -> Self {
        match backed_up {
            BackedUp::Mean => Self::Mean,
            BackedUp::Max => Self::Max,
        }
    }
}

/// How moves on goals are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Textual {
    /// From value, uncertainty and risk in words.
    Signals,
    /// By lot.
    Random,
}

impl Textual {
    /// The seed of the lots, if there are any.
    pub(crate) fn seed(self, seed: Option<u64>) -> Option<u64> {
        (self == Self::Random).then(|| seed.unwrap_or(0))
    }
}

const TREE_SEARCH: &str = "Tree search";

/// What a run needs, new, resumed or forked.
#[derive(Debug, Args)]
pub(crate) struct Running {
    #[command(flatten)]
    pub(crate) judging: Judging,

    #[command(flatten)]
    pub(crate) said: Said,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    policy_timeout: Option<Duration>,

    #[command(flatten)]
    pace: Pace,

    /// Folder in which decisions are kept and looked up first, so that no run repeats a call of another.
    /// Created if missing; any number of runs may share it. A policy that was changed, such as an edited
    /// program or one with other arguments, is called again (see docs/embedding.md).
    #[arg(long, value_name = "DIR")]
    pub(crate) memory: Option<PathBuf>,

    /// Time after which no new evaluation is started, in seconds from the start of the command, including
    /// the reading of the input and the choice of where to start. Evaluations in progress are completed, which may take as
    /// long as --policy-timeout and --retries allow. Each run, resumed or forked, has its own clock.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    deadline: Option<Duration>,

    /// Folder for agent_output.json, ledger.jsonl, graph.dot, report.md and report.html. Created if
    /// missing; files with these names are replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report: every piece of evidence with its query, those that only pass an
    /// effect on, alerts, and notes. Without it, what can be read in half a minute.
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Do not print progress or what --memory contributed.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Running {
    /// How long things may take, how many may be under way, how often they are tried.
    pub(crate) fn limits(&self) -> Limits {
        self.pace.calls.limits(self.policy_timeout)
    }

    /// When to begin nothing more, counted from when the input was read.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// How far to ask ahead, if at all.
    pub(crate) fn speculation(&self) -> Option<Speculation> {
        let Pace { speculate, max_waste, .. } = self.pace;
        speculate.map(|width| Speculation { width, max_wasted_calls: max_waste })
    }
}

/// How fast it goes. Nothing here changes a result.
#[derive(Debug, Args)]
struct Pace {
    /// Make calls ahead of time: while an answer is awaited, evaluate the entities that will probably be
    /// next, up to W at a time. This changes time and cost, never the result: an early answer is used
    /// only if its question is still the one to ask, and the ledger is the same byte for byte. Compare
    /// --width, which changes the order of evaluation.
    #[arg(long, value_name = "W", value_parser = parse_count)]
    speculate: Option<NonZeroU32>,

    /// Stop making calls ahead of time after this many wasted policy calls.
    #[arg(long, value_name = "CALLS", default_value_t = 100, requires = "speculate")]
    max_waste: u64,

    #[command(flatten)]
    calls: Calls,
}

/// How many calls may be under way, and how often they are tried.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// Maximum number of policy calls at once, for a service that takes no more. Default: as many as
    /// --width and --speculate need.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    policy_calls: Option<NonZeroU32>,

    /// Maximum number of evidence fetches at once. Default: unlimited.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    context_calls: Option<NonZeroU32>,

    #[command(flatten)]
    attempts: Attempts,
}

/// How often a policy call is tried.
#[derive(Debug, Args)]
pub(crate) struct Attempts {
    /// Retries after a transient failure, such as exit code 75 of a program, with growing delays in
    /// between. Time-outs and other failures are not retried. For requests to a language model see
    /// llm.retries in eog.toml.
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
}

impl Calls {
    pub(crate) fn limits(&self, policy_timeout: Option<Duration>) -> Limits {
        Limits {
            context_calls: self.context_calls,
            policy_calls: self.policy_calls,
            ..self.attempts.limits(policy_timeout)
        }
    }
}

impl Attempts {
    pub(crate) fn limits(&self, policy_timeout: Option<Duration>) -> Limits {
        let attempts = NonZeroU32::MIN.saturating_add(self.retries);
        Limits {
            policy_timeout,
            retry: Retry { attempts, ..Retry::default() },
            ..Limits::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Resume {
    /// The file written by `--journal`. New steps are appended to it.
    pub(crate) journal: PathBuf,

    /// For tests: do not wait until the journal is on disk. Faster, and what was stored still survives a
    /// crash of eog, but not one of the machine: steps may be lost or the file damaged.
    #[arg(long)]
    pub(crate) no_fsync: bool,

    /// Folder with the incident: the bundle or snapshot that the investigation started from.
    pub(crate) path: PathBuf,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) running: Running,
}

const FORK_HELP: &str = concat!(
    exit_codes!(),
    "\n\n\
Examples:
  eog replay result --entries
  eog fork result Scenario-2 --at 12 --budget 400
  eog fork run.journal Scenario-2 --at 3 --policy command:./triage.py --journal other.journal
  eog diff run.journal other.journal"
);

/// Whose tree is printed.
#[derive(Debug, Args)]
#[command(after_help = READING_CODES)]
pub(crate) struct Tree {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = FORK_HELP)]
pub(crate) struct Fork {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`. It is not modified.
    pub(crate) ledger: PathBuf,

    /// Folder with the incident: the bundle or snapshot that the ledger started from.
    pub(crate) path: PathBuf,

    /// The last entry that both ledgers share. `eog replay LEDGER --entries` lists them.
    #[arg(long, value_name = "N")]
    pub(crate) at: u64,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    /// Other rules of the controller from there on. Budget, width and messages stay unchanged.
    #[arg(long, value_enum)]
    pub(crate) profile: Option<Profile>,

    /// Another budget of policy calls. Calls of the shared entries count.
    #[arg(long, value_name = "CALLS", value_parser = parse_budget)]
    pub(crate) budget: Option<u64>,

    /// Turn off belief messages between neighbours from there on.
    #[arg(long)]
    pub(crate) no_messages: bool,

    /// Turn them on, if the ledger was started without.
    #[arg(long, conflicts_with = "no_messages")]
    pub(crate) messages: bool,

    /// Another number of evaluations in progress at once. This changes the order of evaluation, which
    /// the ledger records. To be faster without affecting the result, use --speculate.
    #[arg(long, value_name = "W", value_parser = parse_count)]
    pub(crate) width: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) search: Search,

    /// File in which the fork is stored, including the shared entries, so that `eog resume` can continue
    /// after a crash. Must not exist yet. Duration and cost of calls go to FILE.side.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// For tests: do not wait until --journal is on disk. Faster, and what was stored still survives a
    /// crash of eog, but not one of the machine: steps may be lost or the file damaged.
    #[arg(long, requires = "journal")]
    pub(crate) no_fsync: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) running: Running,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Profile {
    /// The recommended rules.
    Default,
    /// Algorithm 1 with visit limit and cooldown.
    Paper,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people, in colour on a terminal.
    Text,
    /// The report for a ticket or a chat.
    Markdown,
    /// The whole result for programs.
    Json,
    /// Causal graph for Graphviz.
    Dot,
    /// Causal graph for Mermaid.
    Mermaid,
}

impl Profile {
    pub(crate) fn config(self) -> Config {
        match self {
            Self::Default => Config::default(),
            Self::Paper => Config::paper(),
        }
    }
}

const REPLAY_CODES: &str = "\
Exit codes:
  0    an origin that explains at least one alert was found
  1    output could not be written, or not a single evaluation led to a decision
  2    wrong command line
  3    inconclusive: no origin found
  4    the ledger cannot be used: it cannot be read, was changed, or does not follow by the rules";

const READING_CODES: &str = "\
Exit codes:
  0    said, whatever it was
  1    output could not be written
  2    wrong command line
  4    a ledger or PATH cannot be used; the message names file, place and reason";

#[derive(Debug, Args)]
#[command(after_help = REPLAY_CODES)]
pub(crate) struct Replay {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// List the entries instead of the report, one per line: number, entity, label, why it was judged,
    /// what changed, which entities became active. `eog fork --at` takes these numbers.
    #[arg(long, conflicts_with = "format")]
    pub(crate) entries: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report: every piece of evidence with its query, those that only pass an
    /// effect on, alerts, and notes. Without it, what can be read in half a minute.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

macro_rules! printing_codes {
    () => {
        "\
Exit codes:
  0    printed
  1    output could not be written
  2    wrong command line"
    };
}

const PRINTING_CODES: &str = printing_codes!();

macro_rules! writing_codes {
    () => {
        "\
Exit codes:
  0    written
  1    it cannot be written
  2    wrong command line, or something is there already"
    };
}

const WRITING_CODES: &str = writing_codes!();

use {printing_codes, writing_codes};

const REPORT_HELP: &str = "\
Exit codes:
  0    written
  1    the file could not be written
  2    wrong command line
  4    the ledger or PATH cannot be used; the message names file, place and reason

Examples:
  eog report result --html report.html
  eog report result examples/flash-sale --html report.html";

/// How PATH is read says nothing without it.
fn of_path() -> ArgGroup {
    ArgGroup::new("of_path").args(["cache", "max_memory", "strict"]).multiple(true).requires("path")
}

#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP, group = of_path())]
pub(crate) struct HtmlReport {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// Folder with the incident: the bundle or snapshot that the ledger started from. Without it the
    /// page has no charts, and says so. Of live sources, an unfinished capture beside the journal is refused.
    pub(crate) path: Option<PathBuf>,

    /// The file to write. A file with this name is replaced.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) html: PathBuf,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = READING_CODES, group = of_path())]
pub(crate) struct Explain {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// The entity.
    pub(crate) entity: String,

    /// What was investigated. With it, commands are printed that show the evidence again. Another incident is refused;
    /// live sources and MCP servers are not asked for that, only a finished capture beside the journal is compared.
    pub(crate) path: Option<PathBuf>,

    /// Application architecture (JSON) that belongs to the snapshot, for these commands.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // Who judges the last packet again, whole and without each finding and message in turn.
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) policy_timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) attempts: Attempts,
}

#[derive(Debug, Args)]
#[command(after_help = READING_CODES)]
pub(crate) struct Diff {
    /// The first ledger, or a folder written by `--out`.
    pub(crate) first: PathBuf,

    /// The second ledger, or a folder written by `--out`.
    pub(crate) second: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = PRINTING_CODES)]
pub(crate) struct Schema {
    /// Which format.
    #[arg(value_enum)]
    pub(crate) name: SchemaName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaName {
    /// What a command policy reads on standard input: one packet, and on the second attempt a
    /// correction.
    CommandInput,
    /// What a command policy writes on standard output: one decision.
    Decision,
    /// What `eog serve --on-call` sends to webhooks: one message about an incident.
    OnCallMessage,
}

fn parse_window(text: &str) -> Result<Window, String> {
    let (start, end) = text
        .split_once('/')
        .ok_or("expected START/END, such as 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z")?;
    let instant = |text: &str| {
        text.parse::<Timestamp>()
            .map_err(|_| format!("{text:?} is not a time such as 2026-01-01T10:00:00Z"))
    };
    Window::new(instant(start)?, instant(end)?).map_err(|error| error.to_string())
}

/// A controller by its name. Shells complete the names.
fn controllers() -> impl TypedValueParser<Value = ControllerName> {
    let names = PossibleValuesParser::new(ControllerName::all().map(ControllerName::name));
    names.try_map(|name| name.parse::<ControllerName>())
}

/// How many calls of the policy an investigation may make.
fn parse_budget(text: &str) -> Result<u64, String> {
    let calls = text.parse().ok().filter(|calls| *calls > 0);
    calls.ok_or_else(|| "expected a whole number from 1 on, such as 200".to_owned())
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8765".to_owned())
}

fn parse_count(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("expected a whole number from 1 to {}", u32::MAX))
}

/// The longest time that can be set.
const MAX_SECONDS: Duration = Duration::from_secs(1_000_000_000);

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => Err("expected more than 0 seconds".to_owned()),
        Ok(duration) if duration <= MAX_SECONDS => Ok(duration),
        _ if seconds > 0.0 => {
            Err("expected at most 1000000000 seconds, which are 31 years".to_owned())
        }
        _ => Err("expected more than 0 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;

    /// Every command that does something, with its name.
    fn commands(command: &clap::Command, within: &str) -> Vec<(String, clap::Command)> {
        let name = format!("{within} {}", command.get_name());
        let mut inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
        let all: Vec<_> = inner.by_ref().flat_map(|inner| commands(inner, &name)).collect();
        if all.is_empty() { vec![(name, command.clone())] } else { all }
    }

    #[test]
    fn the_help_of_every_command_says_its_exit_codes() {
        for (name, mut command) in commands(&Cli::whole(), "") {
            let help = command.render_long_help().to_string();
            let codes = help.split("Exit codes:\n").nth(1).unwrap_or_default();
            assert!(codes.starts_with("  0 "), "{name}: {help}");
            assert!(codes.contains("\n  2 "), "{name}: {help}");
        }
    }
}
