//! What can go wrong with a memory.

use std::io;
use std::path::PathBuf;

/// A decision memory that cannot be used.
///
/// ```
/// use eog::DecisionMemory;
/// use eog::memory::MemoryError;
/// let file = tempfile::NamedTempFile::new()?;
/// let error = DecisionMemory::open(file.path()).expect_err("it is a file");
/// assert!(matches!(error, MemoryError::NotAFolder { .. }));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The path names something that is no folder.
    #[error("{} is not a folder; name the folder of a decision memory", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error(
        "cannot {operation} {} of the decision memory: {source}; name a folder that can be written \
         to",
        path.display()
    )]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What was tried: `create`, `read` or `write`.
        operation: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Another place than a folder refused.
    #[error("cannot {operation} {entry} of the decision memory: {source}")]
    Elsewhere {
        /// What the place calls the decision.
        entry: String,
        /// What was tried: `read` or `write`.
        operation: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A program whose answers are to be remembered cannot be read.
    #[error(
        "cannot read the program {}: {source}; its answers are remembered by its content, so that \
         a changed program is asked anew",
        path.display()
    )]
    Program {
        /// The program.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}
