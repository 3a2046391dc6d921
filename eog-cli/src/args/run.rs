//! Investigations: what they begin with, and how they run, anew, resumed or forked.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use eog::controller::Damping;
use eog::{Config, Limits, Retry, Speculation, Window};
use eog_search::Exploration;
use eog_session::controllers::ControllerName;

use super::codes::{EXIT_CODES, exit_codes};
use super::parse::{
    controllers, parse_budget, parse_count, parse_exploration, parse_file, parse_prompt,
    parse_seconds, parse_window,
};
use super::{Format, History, Judging, LiveArgs, Reading, Said};

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
    /// backtracks); or a baseline: `react` (one agent with a plan that checks entities, calls tools and concludes)
    /// or `linear` (follows the newest lead, revises nothing and stops at the first origin).
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

    /// What an entity that changes its mind too often counts as (eog): its last decision stands, or it is deferred and
    /// never evaluated again. Default: the profile's (default: last-word; paper: deferred as long as it changes).
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW")]
    pub(crate) damping: Option<Damped>,

    /// How often an entity may change its mind before it is damped (eog; the paper's k_thresh). Default: 3.
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) max_changes: Option<u32>,

    /// Maximum number of evaluations of one entity (eog; the paper's k_max). Default: 5.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count)]
    pub(crate) max_visits: Option<NonZeroU32>,

    /// Minimum number of other evaluations before an entity is evaluated again (eog; the paper's k_cool). Default: 2.
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) cooldown: Option<u32>,

    #[command(flatten)]
    pub(crate) search: Search,
}

impl Start {
    /// The options of EoG alone, and whether each is given.
    pub(crate) fn of_eog(&self) -> [(&'static str, bool); 6] {
        [
            ("--profile", !matches!(self.profile, Profile::Default)),
            ("--no-messages", self.no_messages),
            ("--damping", self.damping.is_some()),
            ("--max-changes", self.max_changes.is_some()),
            ("--max-visits", self.max_visits.is_some()),
            ("--cooldown", self.cooldown.is_some()),
        ]
    }

    /// The rules of EoG that the options choose.
    pub(crate) fn rules(&self) -> Config {
        let rules = self.profile.config();
        Config {
            broadcast: !self.no_messages,
            damping: self.damping.map_or(rules.damping, Into::into),
            flip_threshold: self.max_changes.unwrap_or(rules.flip_threshold),
            max_visits: self.max_visits.map(NonZeroU32::get).or(rules.max_visits),
            cooldown: self.cooldown.unwrap_or(rules.cooldown),
            ..rules
        }
    }
}

/// What an entity that changes its mind too often counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Damped {
    /// Its last decision stands.
    LastWord,
    /// It is deferred, and never evaluated again.
    Defer,
}

impl From<Damped> for Damping {
    fn from(damped: Damped) -> Self {
        match damped {
            Damped::LastWord => Self::LastWord,
            Damped::Defer => Self::Absorbing,
        }
    }
}

/// Options of the tree searches.
#[derive(Clone, Debug, Default, Args)]
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

    /// Maximum number of nodes of the tree, the root included (bfs, beam). Default: 50.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_count, help_heading = TREE_SEARCH)]
    pub(crate) nodes: Option<NonZeroU32>,

    /// Who scores nodes (bfs): an evaluator that sees what came of each, or the planner when it plans them. Default:
    /// judge.
    #[arg(long, hide_short_help = true, value_enum, value_name = "WHO", help_heading = TREE_SEARCH)]
    pub(crate) evaluator: Option<Evaluator>,

    /// How much the search explores (lats, hypotheses): the factor C of the upper confidence bound, or with lats also
    /// FROM..TO, from the first round to the last. Default: 1.414 (lats), 0.25 (hypotheses).
    #[arg(long, hide_short_help = true, value_name = "C", value_parser = parse_exploration, help_heading = TREE_SEARCH)]
    pub(crate) exploration: Option<Exploration>,

    /// How the candidates of an expansion are drawn (lats): all by one request, or each by a request of its own at
    /// temperature 0.8, where equal ones are refused. Default: together.
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW", help_heading = TREE_SEARCH)]
    pub(crate) sampling: Option<Sampling>,

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

    /// Text for the planner of the search, beside the incident: what to find, or what is known; @FILE reads it from a
    /// file. At most 4096 bytes. For models. [in eog.toml: search.initial_prompt]
    #[arg(long, hide_short_help = true, value_name = "TEXT|@FILE", value_parser = parse_prompt, help_heading = TREE_SEARCH)]
    pub(crate) initial_prompt: Option<String>,

    /// Seed of --textual random. Default: 0.
    #[arg(long, hide_short_help = true, value_name = "N", requires = "textual", help_heading = TREE_SEARCH)]
    pub(crate) lot_seed: Option<u64>,
}

/// What scores nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Evaluator {
    /// The evaluator.
    Judge,
    /// The planner.
    Planner,
}

/// How candidates are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sampling {
    /// All by one request.
    Together,
    /// Each by a request of its own.
    Apart,
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

    #[command(flatten)]
    pub(crate) history: History,

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
    /// Files: agent_output.json, ledger.jsonl, graph.dot, report.md, report.html and, of a tree search, metrics.json
    /// (OTLP). The folder is created if missing; files with these names are replaced.
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
pub(super) struct Pace {
    /// Make calls ahead of time: while waiting for an answer, evaluate the entities that will probably be
    /// next, up to W at a time. This changes time and cost, never the result: an early answer is used
    /// only if its packet is still the same, and the ledger is the same byte for byte. Compare
    /// --width, which changes the order of evaluation.
    #[arg(long, hide_short_help = true, value_name = "W", value_parser = parse_count)]
    pub(super) speculate: Option<NonZeroU32>,

    /// Stop making calls ahead of time after this many wasted policy calls.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "CALLS",
        default_value_t = 100,
        requires = "speculate"
    )]
    pub(super) max_waste: u64,

    #[command(flatten)]
    pub(super) calls: Calls,
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

impl Profile {
    pub(crate) fn config(self) -> Config {
        match self {
            Self::Default => Config::default(),
            Self::Paper => Config::paper(),
        }
    }
}
