//! The real binary, as the tests run it.

use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;

/// The `eog` command as it was built for these tests.
pub(crate) fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

/// Runs `eog investigate … --format json`: exit code, result, standard error.
pub(crate) fn investigate_json(arguments: &[&OsStr]) -> (i32, Value, String) {
    let output =
        eog().arg("investigate").args(arguments).args(["--format", "json"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no result: {error}\n{errors}"));
    (output.status.code().unwrap(), result, errors)
}
