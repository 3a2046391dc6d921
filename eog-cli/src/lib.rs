//! The `eog` command: root causes of an incident from the terminal.
//!
//! For the binary alone: a library, so that tests of this package can ask for all its features.

mod args;
mod bundle_files;
mod capture;
mod cases;
mod check;
mod doctor;
mod dry_run;
mod error;
mod eval;
mod files;
mod fork;
#[cfg(feature = "serve")]
mod front;
#[cfg(feature = "serve")]
mod http;
mod import;
mod init;
mod interrupt;
mod investigate;
#[cfg(feature = "serve")]
mod live;
#[cfg(not(feature = "serve"))]
#[path = "no_live.rs"]
mod live;
mod log;
#[cfg(feature = "serve")]
mod mcp;
mod memory;
#[cfg(feature = "nats")]
mod nats;
mod onward;
mod progress;
#[cfg(feature = "models")]
mod prompt;
#[cfg(feature = "models")]
mod reasoning;
#[cfg(not(feature = "models"))]
#[path = "no_reasoning.rs"]
mod reasoning;
mod report;
mod reports;
mod rules;
mod runtime;
mod schema;
mod shown;
mod simulate;
mod source;
mod strangers;
mod stress;
mod tool;
mod traces;
mod travel;
mod verify;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command};
use error::Exit;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Clap prints help and usage errors itself, and ends with code 2 for the latter.
    let matches = Cli::whole().get_matches_from(Cli::with_command(std::env::args_os()));
    let cli = Cli::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.format(&mut Cli::whole()).exit());
    #[cfg(feature = "nats")]
    if let Err(error) = args::acts_on_cluster(&matches) {
        error.say();
        return error.exit().into();
    }
    cli.color.write_global();
    let traces = traces::begin(cli.command.is_service());
    let done = match cli.command {
        Command::Investigate(arguments) => investigate::run(&arguments),
        Command::Resume(arguments) => investigate::resume(&arguments),
        Command::Fork(arguments) => fork::run(&arguments),
        Command::Replay(arguments) => travel::replay(&arguments),
        Command::Tree(arguments) => travel::tree(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Explain(arguments) => travel::explain(&arguments),
        Command::Diff(arguments) => travel::diff(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
        Command::Tool(arguments) => tool::run(&arguments),
        #[cfg(feature = "models")]
        Command::Prompt(what) => prompt::run(&what),
        #[cfg(not(feature = "models"))]
        Command::Prompt(_) => Err(error::CliError::not_built("language models", "models")),
        Command::Close(arguments) => cases::close(&arguments),
        Command::Cases(arguments) => cases::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Capture(arguments) => capture::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Mcp(arguments) => mcp::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => mcp::serve(&arguments, Some(args::SERVED_AT)),
        #[cfg(not(feature = "serve"))]
        Command::Mcp(_) | Command::Serve(_) => Err(error::CliError::not_built("servers", "serve")),
        #[cfg(feature = "nats")]
        Command::Submit(arguments) => nats::submit(&arguments),
        #[cfg(feature = "nats")]
        Command::Worker(arguments) => nats::worker(&arguments),
        #[cfg(feature = "nats")]
        Command::List(arguments) => nats::list(&arguments),
        #[cfg(feature = "nats")]
        Command::Tell(arguments) => nats::tell(&arguments),
        #[cfg(feature = "nats")]
        Command::Cancel(arguments) => nats::cancel(&arguments),
        #[cfg(feature = "nats")]
        Command::Fetch(arguments) => nats::fetch(&arguments),
        #[cfg(feature = "nats")]
        Command::Prune(arguments) => nats::prune(&arguments),
        #[cfg(not(feature = "nats"))]
        Command::OnCluster(_) => Err(error::CliError::not_built("NATS", "nats")),
        Command::Schema(arguments) => schema::print(arguments.name),
        Command::Completions(arguments) => init::completions(&arguments),
        Command::Man(arguments) => init::man(&arguments),
    };
    runtime::end_runtime();
    if let Some(traces) = traces {
        traces.end();
    }
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            error.say();
            error.exit().into()
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
