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

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
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

/// Finds the root cause of an incident.
///
/// eog walks the dependency graph from the alerts, decides for each entity whether it is an
/// origin, a symptom or healthy, revises these labels with messages between neighbours, and reports
/// the smallest set of origins that explains the alerts.
#[derive(Debug, Parser)]
#[command(name = "eog", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) color: colorchoice_clap::Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// `eog PATH` is `eog investigate PATH`, unless a command has that name.
    pub(crate) fn with_command(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        let is_option = |argument: &OsString| argument.to_string_lossy().starts_with('-');
        let first = arguments.iter().skip(1).position(|argument| !is_option(argument));
        let Some(place) = first.map(|place| place + 1) else { return arguments };
        let is_path = arguments.get(place).is_some_and(|first| {
            Self::whole().find_subcommand(first).is_none() && Path::new(first).exists()
        });
        if is_path {
            arguments.insert(place, "investigate".into());
        }
        arguments
    }

    /// The command line with all options. A negative number is the value of the option before it, so that
    /// the parser of that option reports what is wrong with it.
    pub(crate) fn whole() -> clap::Command {
        fn taking_numbers(command: clap::Command) -> clap::Command {
            let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
                true if !arg.is_positional() => arg.allow_negative_numbers(true),
                _ => arg,
            };
            command.mut_args(takes).mut_subcommands(taking_numbers)
        }
        // What `-h` has no room for, although it is what `eog tell` is about.
        fn brief(command: clap::Command) -> clap::Command {
            command.mut_args(|arg| {
                let is_input = matches!(arg.get_id().as_str(), "cause" | "not_cause" | "note");
                let is_hidden = is_input || arg.is_hide_short_help_set();
                arg.hide_short_help(is_hidden)
            })
        }
        let commands = taking_numbers(Self::command());
        let long = ["investigate", "resume", "fork"];
        long.into_iter().fold(commands, |commands, name| commands.mut_subcommand(name, brief))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Investigate an incident in a folder, or a running system.
    ///
    /// PATH is an incident bundle (a folder with `bundle.json`, see docs/bundle.md), a Kubernetes
    /// snapshot in the ITBench layout (see docs/sre.md), or a file such as `source.toml` that names live
    /// sources, such as Prometheus (see docs/live-sources.md), or MCP servers that supply the evidence (see
    /// docs/mcp.md). Its kind is recognised by content.
    Investigate(Box<Investigate>),
    /// Resume an interrupted investigation from its journal.
    ///
    /// Calls whose answers are in the journal are not repeated. Window, profile, budget, width and policy stay
    /// the same: give the same --policy.
    ///
    /// Evidence is read from the folder again, so keep the folder unchanged. If its topology or alerts differ
    /// from those in the journal, eog refuses to resume; other changed files are listed in a note.
    Resume(Box<Resume>),
    /// Continue from an entry of a ledger with other settings.
    ///
    /// Such as another policy, budget or rule.
    ///
    /// The new ledger begins with copies of the entries up to that one, whose calls are not repeated, and
    /// records what was changed. Calls that were in progress at that entry are made again. The old
    /// ledger is not modified; `eog diff` compares the two.
    ///
    /// --policy always counts as a change of policy, since a program of the same name may have changed.
    /// Without it the built-in evidence policy judges, which is refused if the ledger names another policy.
    ///
    /// Evidence is read from the folder again, and only its topology and alerts are compared with those
    /// in the ledger, so keep the folder unchanged.
    Fork(Box<Fork>),
    /// Verify a ledger and print its report; makes no calls.
    ///
    /// Every entry is derived again and compared with the recorded one.
    Replay(Replay),
    /// Print the report of a ledger, or write it as one HTML page.
    ///
    /// The page needs no network. The ledger is verified as by `eog replay`. With PATH, the page has charts of the measured series that
    /// findings cite.
    Report(HtmlReport),
    /// Print the tree of a tree search.
    ///
    /// For --controller lats, bfs, beam, hypotheses, treeseeker and react: every node with what was found there,
    /// its score and visits, what was pruned and why, and why the search ended. The ledger is verified as by
    /// `eog replay`.
    Tree(Tree),
    /// Explain why an entity got its label.
    ///
    /// Shows its evaluations, the messages it received, and what the label depends on: --policy judges the last
    /// packet again, whole, then without each finding and message in turn. It must be the policy that the
    /// ledger names, if it names one.
    Explain(Explain),
    /// Show where two runs diverge, and what each concluded.
    Diff(Diff),
    /// Measure how much a result depends on the order of evaluation.
    ///
    /// Repeats the investigation in many orders. Equal packets get equal answers in all runs; only the order of
    /// the seeds and of the active set, the width and the speed of answers are varied.
    Stress(Box<Stress>),
    /// Query the records of an incident: alerts, changes, telemetry.
    ///
    /// Also events, objects and the graph. Without NAME, lists the tools. `eog tool NAME --help` explains one.
    Tool(Box<Tool>),
    /// Show the prompts for language models and their answer schemas.
    #[command(subcommand)]
    Prompt(Prompt),
    /// Score investigations of incidents with known causes.
    Eval(Eval),
    /// Write a simulated snapshot for a ground truth.
    Simulate(Simulate),
    /// Record live sources as an incident bundle.
    ///
    /// Queries the sources in `source.toml`: Prometheus, Alertmanager, Kubernetes, Jaeger, Tempo, files of the
    /// OpenTelemetry collector and others. Investigating the bundle gives the same ledger as investigating the
    /// sources at that time. What could not be fetched is printed and recorded in its capture.json. Secrets are
    /// masked before anything is written.
    Capture(Capture),
    /// Make an incident bundle from dumps, alerts, traces and logs.
    ///
    /// Files are recognised by content (see docs/bundle.md): objects and events of Kubernetes, dumps and support
    /// bundles; alerts of Alertmanager, Prometheus and others; responses of Prometheus, Loki, Elasticsearch, Jaeger,
    /// Tempo and Zipkin; OTLP; logs; CSV panels; compose files. How each file was used is printed.
    Import(Import),
    /// Write a commented configuration or an empty bundle.
    Init(Init),
    /// Check a configuration, a bundle, a snapshot or live sources.
    ///
    /// Lists what live sources offer.
    Check(Check),
    /// Check the settings of policies and models; makes no calls.
    Doctor(Doctor),
    /// Serve investigations and tools to agents over MCP.
    Mcp(Mcp),
    /// Serve web pages, MCP and an alert receiver on one port.
    ///
    /// `/` lists the investigations in --state. Each has a page, live while it runs: stop it, continue it, add
    /// what you know. Agents start investigations at `/mcp`. The command is `eog mcp serve` with --http
    /// 127.0.0.1:8765, unless another address is given.
    ///
    /// With --on-call it investigates the alerts that Alertmanager sends and posts the results to webhooks.
    /// /healthz, /readyz and, with --on-call, /metrics answer without a token.
    ///
    /// Ctrl-C, SIGTERM or SIGHUP ends the server within 5 seconds. Investigations that are running
    /// are interrupted; `resume` continues them, and those of --on-call continue after a restart. A
    /// second signal ends it at once.
    Serve(Box<Serve>),
    /// Submit an incident to the workers of a NATS cluster.
    ///
    /// See docs/many-machines.md. PATH is as for `eog investigate`, except MCP servers. It is packed and stored on the cluster, so
    /// workers need no access to it; live sources are captured first. The policy is that of the workers.
    /// Prints the name of the investigation.
    #[cfg(feature = "nats")]
    Submit(Box<Submit>),
    /// Investigate the incidents submitted to a NATS cluster.
    ///
    /// Start any number of workers, on any machines, with the same policy. When one dies, another continues
    /// from the ledger without repeating calls whose answers are stored. Ctrl-C, SIGTERM or SIGHUP returns the
    /// current investigation to the queue and ends the worker; a second signal ends it at once.
    #[cfg(feature = "nats")]
    Worker(Box<Worker>),
    /// List the investigations on a NATS cluster.
    #[cfg(feature = "nats")]
    List(List),
    /// Add what you know to an investigation on a NATS cluster.
    ///
    /// The worker that runs it evaluates these entities again, and the ledger records your input. An
    /// investigation that has ended continues with it.
    #[cfg(feature = "nats")]
    Tell(Tell),
    /// End an investigation on a NATS cluster.
    ///
    /// Its result is what was found so far.
    #[cfg(feature = "nats")]
    Cancel(Cancel),
    /// Download an investigation from a NATS cluster.
    ///
    /// The files are for `eog report`, `eog explain`, `eog resume` and the other commands. A running
    /// investigation is written as far as it has come. Journal and side file have the same bytes as those of
    /// `eog investigate --journal`.
    #[cfg(feature = "nats")]
    Fetch(Fetch),
    /// Remove ended investigations from a NATS cluster.
    ///
    /// By name, age or size.
    ///
    /// Waiting and running investigations are never removed. Ledger, side file, incident and report are deleted.
    #[cfg(feature = "nats")]
    Prune(Prune),
    // Recognised and refused with the name of the missing feature.
    #[cfg(not(feature = "nats"))]
    #[command(
        name = "submit",
        aliases = ["worker", "list", "tell", "cancel", "fetch", "prune"],
        hide = true,
        disable_help_flag = true
    )]
    OnCluster(OnCluster),
    /// Print JSON Schemas of command policies and on-call messages.
    ///
    /// The program of a policy is started once for each packet and must exit with code 0. Code 75 (EX_TEMPFAIL) means
    /// that it may answer later, and the call is retried; any other code is recorded as a failure.
    Schema(Schema),
    /// Print shell completions.
    Completions(Completions),
    /// Write manual pages.
    Man(Man),
}

/// The arguments of a command that this build does not have.
#[cfg(not(feature = "nats"))]
#[derive(Debug, Args)]
pub(crate) struct OnCluster {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<std::ffi::OsString>,
}

impl Command {
    /// Whether it is a service on call, which logs what it does.
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
  2    wrong command line, or an output path that is already in use (--journal, --memory, --out)
  3    inconclusive: no origin found; the report ranks the candidates
  4    the input cannot be used, or with --strict a part of it; the message names the file,
       the place and the reason
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
  eog investigate examples/flash-sale --not-cause 'database=its owner checked it, it is healthy'"
);

const BRIEF_HELP: &str = "\
Exit codes: 0 diagnosed, 3 inconclusive; `--help` lists them all, all options, and examples.";

#[derive(Debug, Args)]
#[command(after_help = BRIEF_HELP, after_long_help = INVESTIGATE_HELP)]
pub(crate) struct Investigate {
    #[command(flatten)]
    pub(crate) start: Start,

    /// Number of evaluations in progress at once.
    ///
    /// This changes the order of evaluation, which the ledger records: messages from neighbours arrive too late
    /// for evaluations in progress, so the steps, and possibly the result, differ between widths. The same width
    /// always gives the same ledger. For speed without an effect on the result, use --speculate.
    /// Default: 1; 3 with --controller hypotheses, one for each specialist; 5 with treeseeker.
    #[arg(long, hide_short_help = true, value_name = "W", value_parser = parse_count)]
    pub(crate) width: Option<NonZeroU32>,

    /// File that stores every step before the next, for `eog resume`.
    ///
    /// With it, `eog resume` can continue after a crash. The file must not exist yet. Duration and cost of calls
    /// go to FILE.side.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Make no calls and write no files; print what would be sent.
    ///
    /// Prints the packets of the entities to start from, the first prompt for a language model with its exact
    /// number of tokens, and an upper bound for the whole investigation.
    #[arg(long, hide_short_help = true, conflicts_with_all = ["journal", "live"])]
    pub(crate) dry_run: bool,

    /// For tests: do not wait until --journal is on disk. Faster; what was stored survives a crash of eog, but
    /// a crash of the machine may lose steps or damage the file.
    #[arg(long, requires = "journal", hide_short_help = true)]
    pub(crate) no_fsync: bool,

    #[command(flatten)]
    pub(crate) running: Running,
}

// What an investigation begins with. (No documentation comment: clap would make it the description of
// the command.)
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Folder of a bundle or a snapshot, or a file that names live sources or MCP servers.
    pub(crate) path: PathBuf,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Time window, START/END in RFC 3339; by default chosen from the alerts.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// What decides where to look next (see docs/controllers.md).
    ///
    /// `eog` (Explanations over Graphs); the tree searches `lats` (language agent tree search), `bfs`
    /// (breadth-first), `beam` (the best few of each level), `hypotheses` (specialists for metrics, logs and traces
    /// investigate possible causes) and `treeseeker` (goals with alternative paths, which each round extends or
    /// backtracks); or a baseline: `react` (one agent with a plan that looks, calls tools and concludes) or
    /// `linear` (follows the newest lead, revises nothing and stops at the first origin).
    #[arg(long, value_name = "NAME", default_value_t = ControllerName::Eog, value_parser = controllers())]
    pub(crate) controller: ControllerName,

    /// Rules of the controller: `default` is recommended, `paper` is Algorithm 1 of the paper.
    #[arg(long, hide_short_help = true, value_enum, default_value_t = Profile::Default)]
    pub(crate) profile: Profile,

    /// Maximum number of policy calls before the investigation stops.
    #[arg(long, value_name = "CALLS", default_value_t = 200, value_parser = parse_budget)]
    pub(crate) budget: u64,

    /// Turn off belief messages between neighbours (the paper's ablation).
    #[arg(long, hide_short_help = true)]
    pub(crate) no_messages: bool,

    #[command(flatten)]
    pub(crate) search: Search,
}

/// Options of the tree searches.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Search {
    /// Maximum number of rounds (lats, hypotheses, treeseeker), plans (bfs, beam) or steps (react). Default:
    /// 50, 6, 30, 20 and 60.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) rounds: Option<NonZeroU32>,

    /// Maximum depth of the tree; with lats, length of a trajectory. Default: 7 (lats), 3
    /// (hypotheses), 10.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) depth: Option<NonZeroU32>,

    /// Maximum number of children of a node (lats, hypotheses), survivors of a level (beam) or open paths of a
    /// goal (treeseeker). Default: 5, 3, 3 and 5.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) branch: Option<NonZeroU32>,

    /// Score from which a result is accepted, from 0 to 1000. Default: 900 (lats), 850.
    #[arg(long, hide_short_help = true, value_name = "SCORE", value_parser = clap::value_parser!(u16).range(0..=1000),
          help_heading = TREE_SEARCH)]
    pub(crate) accept: Option<u16>,

    /// Keep the first score of each hypothesis (hypotheses) instead of scoring all of them again when findings
    /// arrive.
    #[arg(long, hide_short_help = true, help_heading = TREE_SEARCH)]
    pub(crate) no_rescore: bool,

    /// How results are backed up to the nodes above (lats, hypotheses): the mean of the scores below, or the
    /// highest. Default: mean (lats), max (hypotheses).
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW", help_heading = TREE_SEARCH)]
    pub(crate) backup: Option<BackedUp>,

    /// Propose hypotheses without showing their siblings (hypotheses; an ablation).
    #[arg(long, hide_short_help = true, help_heading = TREE_SEARCH)]
    pub(crate) no_siblings: bool,

    /// Maximum number of bytes of earlier steps that the agent sees (react); older steps are summarised. Give less
    /// for a model with a small context. Default: 200000.
    #[arg(long, hide_short_help = true, value_name = "BYTES", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) shown: Option<NonZeroU32>,

    /// How moves on goals are chosen (treeseeker): from value, uncertainty and risk in words, or at random among
    /// the admissible ones (an ablation). Default: signals.
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW", help_heading = TREE_SEARCH)]
    pub(crate) textual: Option<Textual>,

    /// Seed of --textual random. Default: 0.
    #[arg(long, hide_short_help = true, value_name = "N", requires = "textual", help_heading = TREE_SEARCH)]
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
    /// At random.
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
    #[arg(long, hide_short_help = true, value_name = "SECONDS", value_parser = parse_seconds)]
    policy_timeout: Option<Duration>,

    #[command(flatten)]
    pace: Pace,

    /// Folder that caches decisions, so that no run repeats a call of another. Created if missing; any number
    /// of runs may share it. A changed policy, such as an edited program or one with other arguments, is
    /// called again (see docs/embedding.md).
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) memory: Option<PathBuf>,

    /// Time after which no new evaluation is started, in seconds from the start of the command, including
    /// reading the input and choosing where to start. Evaluations in progress are completed, which may take as
    /// long as --policy-timeout and --retries allow. Each run, resumed or forked, has its own clock.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", value_parser = parse_seconds)]
    deadline: Option<Duration>,

    /// Folder for the report (HTML, Markdown), the ledger and the graph.
    ///
    /// Files: agent_output.json, ledger.jsonl, graph.dot, report.md and report.html. The folder is created if
    /// missing; files with these names are replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// File for the report as one HTML page. A file with this name is replaced.
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = parse_file)]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report, with every piece of evidence and its query.
    ///
    /// Also lists entities that only pass an effect on, alerts, and notes. Without it, the report can be read in
    /// half a minute.
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Do not print progress or how --memory was used.
    #[arg(long, short, hide_short_help = true)]
    pub(crate) quiet: bool,
}

impl Running {
    /// How long things may take, how many may be under way, how often they are tried.
    pub(crate) fn limits(&self) -> Limits {
        self.pace.calls.limits(self.policy_timeout)
    }

    /// When to start no further evaluation, counted from when the input was read.
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
    /// Make calls ahead of time: while waiting for an answer, evaluate the entities that will probably be
    /// next, up to W at a time. This changes time and cost, never the result: an early answer is used
    /// only if its packet is still the same, and the ledger is the same byte for byte. Compare
    /// --width, which changes the order of evaluation.
    #[arg(long, hide_short_help = true, value_name = "W", value_parser = parse_count)]
    speculate: Option<NonZeroU32>,

    /// Stop making calls ahead of time after this many wasted policy calls.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "CALLS",
        default_value_t = 100,
        requires = "speculate"
    )]
    max_waste: u64,

    #[command(flatten)]
    calls: Calls,
}

/// How many calls may be in progress, and how often they are tried.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// Maximum number of concurrent policy calls. Default: as many as --width and --speculate need.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count)]
    policy_calls: Option<NonZeroU32>,

    /// Maximum number of concurrent evidence fetches. Default: unlimited.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count)]
    context_calls: Option<NonZeroU32>,

    #[command(flatten)]
    attempts: Attempts,
}

/// How often a policy call is tried.
#[derive(Debug, Args)]
pub(crate) struct Attempts {
    /// Retries after a transient failure, such as exit code 75 of a program, with increasing delays.
    /// Time-outs and other failures are not retried. For requests to a language model see llm.retries in
    /// eog.toml.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 2)]
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

    /// For tests: do not wait until the journal is on disk. Faster; what was stored survives a crash of eog, but
    /// a crash of the machine may lose steps or damage the file.
    #[arg(long, hide_short_help = true)]
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

    /// The last entry that both ledgers share. `eog replay LEDGER --entries` lists the entries.
    #[arg(long, value_name = "N")]
    pub(crate) at: u64,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    /// Other rules of the controller from that entry on. Budget, width and messages stay unchanged.
    #[arg(long, value_enum)]
    pub(crate) profile: Option<Profile>,

    /// Another budget of policy calls. Calls of the shared entries count towards it.
    #[arg(long, value_name = "CALLS", value_parser = parse_budget)]
    pub(crate) budget: Option<u64>,

    /// Turn off belief messages between neighbours from that entry on.
    #[arg(long)]
    pub(crate) no_messages: bool,

    /// Turn belief messages on, if the ledger was started without them.
    #[arg(long, conflicts_with = "no_messages")]
    pub(crate) messages: bool,

    /// Another number of evaluations in progress at once. This changes the order of evaluation, which
    /// the ledger records. For speed without an effect on the result, use --speculate.
    #[arg(long, value_name = "W", value_parser = parse_count)]
    pub(crate) width: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) search: Search,

    /// File that stores the fork, including the shared entries, for `eog resume`. Must not exist yet. Duration
    /// and cost of calls go to FILE.side.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// For tests: do not wait until --journal is on disk. Faster; what was stored survives a crash of eog, but
    /// a crash of the machine may lose steps or damage the file.
    #[arg(long, requires = "journal", hide_short_help = true)]
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
    /// For a ticket or a chat.
    Markdown,
    /// The whole result, for programs.
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
  4    the ledger cannot be used: it cannot be read, was changed, or cannot be derived again";

const READING_CODES: &str = "\
Exit codes:
  0    printed
  1    output could not be written
  2    wrong command line
  4    a ledger or PATH cannot be used; the message names the file, the place and the reason";

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

    /// Print the whole text report, with every piece of evidence and its query.
    ///
    /// Also lists entities that only pass an effect on, alerts, and notes. Without it, the report can be read in
    /// half a minute.
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
  1    output could not be written
  2    wrong command line, or the output exists already"
    };
}

const WRITING_CODES: &str = writing_codes!();

use {printing_codes, writing_codes};

const REPORT_HELP: &str = "\
Exit codes:
  0    printed or written
  1    the file could not be written
  2    wrong command line
  4    the ledger or PATH cannot be used; the message names the file, the place and the reason

Examples:
  eog report result
  eog report result --html report.html
  eog report result examples/flash-sale --html report.html";

/// Options for reading PATH need PATH.
fn of_path() -> ArgGroup {
    ArgGroup::new("of_path").args(["cache", "max_memory", "strict"]).multiple(true).requires("path")
}

#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP, group = of_path())]
pub(crate) struct HtmlReport {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// Folder with the incident: the bundle or snapshot that the ledger started from. Without it the
    /// page has no charts. An unfinished capture of live sources beside the journal is refused.
    pub(crate) path: Option<PathBuf>,

    /// Write the page to this file and print nothing. A file with this name is replaced.
    #[arg(long, value_name = "FILE", value_parser = parse_file, conflicts_with_all = ["format", "verbose"])]
    pub(crate) html: Option<PathBuf>,

    /// Output format of what is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report, with every piece of evidence and its query.
    #[arg(long, short)]
    pub(crate) verbose: bool,

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

    /// What was investigated. With it, commands are printed that show the evidence. A different incident is
    /// refused; live sources and MCP servers are not queried, only a finished capture beside the journal is compared.
    pub(crate) path: Option<PathBuf>,

    /// Application architecture (JSON) that belongs to the snapshot, for these commands.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // What judges the last packet again, whole and without each finding and message in turn.
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

/// A file to be written.
fn parse_file(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    match file.file_name().is_none() || file.is_dir() {
        true => Err("it is a folder; give a file".to_owned()),
        false => Ok(file),
    }
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
