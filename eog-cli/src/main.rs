//! The `eog` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    eog_cli::main()
}
