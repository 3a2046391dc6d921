//! `eog init`: commented files to begin with. `eog completions` and `eog man`: what shells and readers of
//! manuals begin with.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use eog_evidence::{BundleWriter, Manifest};
use eog_report::clean::clean;

use crate::args::{Cli, Completions, Init, Initial, Man};
use crate::error::{CliError, Exit};
use crate::files;

const SOURCE: &str = include_str!("templates/source.toml");
const SETTINGS: &str = include_str!("templates/eog.toml");
const ON_CALL: &str = include_str!("templates/oncall.toml");
const README: &str = include_str!("templates/bundle.md");

/// `eog init`.
pub(crate) fn run(arguments: &Init) -> Result<Exit, CliError> {
    let usual = match arguments.what {
        Initial::Source => "source.toml",
        Initial::Settings => "eog.toml",
        Initial::OnCall => "oncall.toml",
        Initial::Bundle => "incident",
    };
    let path = arguments.path.clone().unwrap_or_else(|| PathBuf::from(usual));
    files::refuse_taken(&path, "give another path")?;
    match arguments.what {
        Initial::Source => write_new(&path, SOURCE)?,
        Initial::Settings => write_new(&path, SETTINGS)?,
        Initial::OnCall => write_new(&path, ON_CALL)?,
        Initial::Bundle => bundle(&path)?,
    }
    let shown = clean(&path.display().to_string()).into_owned();
    files::print(&format!(
        "wrote {shown}\nthen: eog check {}\n",
        eog_report::shell_word(&path.display().to_string())
    ))?;
    Ok(Exit::Diagnosed)
}

/// A bundle without records, and a page that says what to put there.
fn bundle(path: &Path) -> Result<(), CliError> {
    let name = path
        .file_name()
        .map_or_else(|| "incident".to_owned(), |name| name.to_string_lossy().into_owned());
    let failed = |error: std::io::Error| CliError::Write { path: path.to_owned(), source: error };
    fs::create_dir_all(path).map_err(failed)?;
    BundleWriter::new(Manifest::new(name))
        .write(path)
        .map_err(|error| failed(std::io::Error::other(error.reason)))?;
    write_new(&path.join("README.md"), README)
}

fn write_new(path: &Path, text: &str) -> Result<(), CliError> {
    let opened = fs::OpenOptions::new().write(true).create_new(true).open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| CliError::Write { path: path.to_owned(), source })
}

/// `eog completions`.
pub(crate) fn completions(arguments: &Completions) -> Result<Exit, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::whole(), "eog", &mut text);
    files::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Diagnosed)
}

/// `eog man`.
pub(crate) fn man(arguments: &Man) -> Result<Exit, CliError> {
    let out = &arguments.out;
    let failed = |source| CliError::Write { path: out.clone(), source };
    files::prepare(out)?;
    clap_mangen::generate_to(Cli::whole().disable_help_subcommand(true), out).map_err(failed)?;
    files::print(&format!("wrote the pages to {}\n", clean(&out.display().to_string())))?;
    Ok(Exit::Diagnosed)
}
