//! What decides the answers of a program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use eog_core::Digest;

use super::MemoryError;

/// The identity of a [`CommandPolicy`](crate::CommandPolicy) for
/// [`Remembering`](crate::Remembering): the program as it is named, its arguments, the content of
/// the program's file, and the content of every file that an argument names. So an edited script
/// is asked anew, be it run itself or by an interpreter.
///
/// What the program reads besides, such as other files, its environment or a service, cannot be
/// seen. Files are read to their end.
///
/// # Errors
/// [`MemoryError::Program`] when the program cannot be found or read.
///
/// ```
/// # #[cfg(unix)] {
/// use eog::memory::command_identity;
/// let identity = command_identity("sh".as_ref(), &["-c".into(), "exit".into()])?;
/// assert!(identity.starts_with("command sh -c exit "));
/// assert_ne!(identity, command_identity("sh".as_ref(), &["-c exit".into()])?);
/// # }
/// # Ok::<(), eog::memory::MemoryError>(())
/// ```
pub fn command_identity(program: &OsStr, arguments: &[OsString]) -> Result<String, MemoryError> {
    let unreadable = |source| MemoryError::Program { path: program.into(), source };
    let file = found(program).ok_or_else(|| unreadable(io::ErrorKind::NotFound.into()))?;
    let content = digest_of_file(&file).map_err(unreadable)?;
    // What cannot be read counts as no file, as it does for a program of the same rights.
    let named: Vec<_> = arguments
        .iter()
        .map(|argument| (argument.as_encoded_bytes(), digest_of_file(Path::new(argument)).ok()))
        .collect();
    let digest = Digest::of(&(program.as_encoded_bytes(), content, named));
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    Ok(format!("command {} {digest}", words.join(" ")))
}

/// The file that a program is started from.
fn found(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).map(|folder| folder.join(path)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

fn digest_of_file(path: &Path) -> io::Result<String> {
    // Asked before it is opened: opening a pipe would wait for its other end.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            read => hasher.update(&buffer[..read]),
        };
    }
}
