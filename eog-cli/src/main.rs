//! The `eog` command: root causes of an incident from the terminal.

mod args;
mod bundle_files;
mod capture;
mod check;
mod doctor;
mod dry_run;
mod error;
mod eval;
mod files;
mod fork;
mod front;
mod html;
mod import;
mod init;
mod interrupt;
mod investigate;
mod live;
mod log;
mod mcp;
mod memory;
#[cfg(feature = "nats")]
mod nats;
mod onward;
mod progress;
mod prompt;
mod reasoning;
mod rules;
mod runtime;
mod schema;
mod simulate;
mod source;
mod strangers;
mod stress;
mod told;
mod tool;
mod traces;
mod travel;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command};
use error::Exit;

fn main() -> ExitCode {
    // Clap prints help and usage errors itself, and ends with code 2 for the latter.
    let matches = Cli::whole().get_matches();
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
        Command::Report(arguments) => html::run(&arguments),
        Command::Explain(arguments) => travel::explain(&arguments),
        Command::Diff(arguments) => travel::diff(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
        Command::Tool(arguments) => tool::run(&arguments),
        Command::Prompt(what) => prompt::run(&what),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Capture(arguments) => capture::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Serve(arguments) => mcp::serve(&arguments, Some(args::SERVED_AT)),
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
