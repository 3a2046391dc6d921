//! The command line.

mod cases;
mod codes;
mod eval;
mod judging;
mod ledger;
mod live;
mod mcp;
#[cfg(feature = "nats")]
mod nats;
mod parse;
mod prompt;
mod reading;
mod run;
mod said;
mod simulate;
mod sources;
mod stress;
mod tool;
mod verify;

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(crate) use cases::{Cases, CasesFormat, CheckCases, Close, History, OfCases, OnCases};
use codes::PRINTING_CODES;
pub(crate) use eval::{
    By as EvalBy, Controllers, Eval, EvalFormat, Evaluated, GeneratedSystem, OfJudge, OfSimulated,
    OnData, Runs,
};
pub(crate) use judging::{By, Judging};
pub(crate) use ledger::{Diff, Explain, HtmlReport, Replay, Tree, TreeFormat};
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
pub(crate) use run::{
    Attempts, Calls, Evaluator, Fork, Investigate, Resume, Running, Sampling, Search, Start,
};
pub(crate) use said::Said;
pub(crate) use simulate::Simulate;
pub(crate) use sources::{Capture, Check, Completions, Import, Init, Initial, Man};
pub(crate) use stress::{Stress, StressFormat};
pub(crate) use tool::{Asked, Call, Evidence, Tool, ToolFormat};
pub(crate) use verify::{Verify, VerifyFormat};

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
    /// Verify a diagnosis by what returned after a repair.
    ///
    /// A diagnosis predicts which alerts and harmed series return once its cause is repaired, and by when: as long after
    /// the repair as they began after the cause, and 5 minutes, but from 10 to 60 minutes. The report says so under TO BE
    /// SURE. This command finds the repair among the changes on record, or takes it from --at, and judges every
    /// prediction against what was usual before the incident.
    ///
    /// `verified`: all returned in time. `partial`: some did. `withdrawn`: no alert returned although the cause was
    /// repaired; the command that investigates again is printed. `too early`: the record ends before all had to
    /// return. `undecided`: no alert was active at the repair. What returned before the repair is no evidence.
    Verify(Box<Verify>),
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
    /// Close an incident: keep its investigation with what was true.
    ///
    /// The case is graded and, from then on, investigated again by `eog cases check`. It holds the ledger, a copy of the
    /// incident with secrets masked, what was true, who said so and when, and checksums. Closing the same investigation again
    /// needs --replace.
    Close(Box<Close>),
    Cases(Cases),
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
