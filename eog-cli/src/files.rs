//! Writing: standard output, and the files of `--out`.

use std::io::Write;
use std::path::Path;

use crate::error::CliError;

/// Whether all outputs were written. Each is tried, whatever becomes of the others: what was paid
/// for is not lost with them. All failures but the last are said here, and the last is returned.
pub(crate) fn all(outputs: Vec<Result<(), CliError>>) -> Result<(), CliError> {
    let mut last = Ok(());
    for failed in outputs.into_iter().filter(Result::is_err) {
        if let Err(earlier) = std::mem::replace(&mut last, failed) {
            earlier.say();
        }
    }
    last
}

/// Prints text to standard output. A reader that has gone away is fine.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut output = anstream::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::Write { path: "standard output".into(), source: error })
        }
        _ => Ok(()),
    }
}

/// The width of the terminal that standard output is, if it is one; at most 120 columns, beyond
/// which lines are hard to read.
pub(crate) fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0).min(120))
}

/// The whole width of the terminal that standard output is, if it is one.
pub(crate) fn full_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0))
}

/// Refuses a place for something new where something is already, be it a link that leads nowhere. `instead` says what
/// to do.
pub(crate) fn refuse_taken(path: &Path, instead: &str) -> Result<(), CliError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let path = path.display();
    Err(CliError::Usage(format!("{path}: it exists already and is not changed; {instead}")))
}

/// Makes sure that files can be written to a folder, before anything is spent on the result.
pub(crate) fn prepare(folder: &Path) -> Result<(), CliError> {
    if !folder.is_dir() {
        refuse_taken(folder, "give a folder")?;
    }
    let attempt = || {
        std::fs::create_dir_all(folder)?;
        let probe = folder.join(".eog-write-test");
        std::fs::write(&probe, b"")?;
        std::fs::remove_file(&probe)
    };
    attempt().map_err(|source| CliError::Write { path: folder.to_owned(), source })
}

/// Removes a file that an earlier run may have left.
pub(crate) fn remove(folder: &Path, name: &str) -> Result<(), CliError> {
    let path = folder.join(name);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(CliError::Write { path, source })
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all: to a temporary name beside it, then renamed.
pub(crate) fn write(folder: &Path, name: &str, content: &str) -> Result<(), CliError> {
    write_bytes(folder, name, content.as_bytes())
}

/// As [`write()`], to the path of a file.
pub(crate) fn write_file(path: &Path, content: &str) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write(folder.unwrap_or(Path::new(".")), &name, content)
}

/// As [`write()`], of anything.
pub(crate) fn write_bytes(folder: &Path, name: &str, content: &[u8]) -> Result<(), CliError> {
    let path = folder.join(name);
    let temporary = folder.join(format!(".{name}.tmp"));
    let attempt = || {
        std::fs::write(&temporary, content)?;
        std::fs::rename(&temporary, &path)
    };
    attempt().map_err(|source| {
        let _ = std::fs::remove_file(&temporary);
        CliError::Write { path, source }
    })
}
