//! What a server may read, store and take on.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Investigations that stay in the state folder, unless something else is set.
const KEEP: NonZeroUsize = NonZeroUsize::new(1000).expect("1000 is not 0");

/// Which tools a server lists. Every tool can be called by its name, listed or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Toolset {
    /// Investigations, contexts, and one tool `query` for all tables of an incident, without schemas of
    /// answers: a list that fits into the prompt of an agent.
    #[default]
    Compact,
    /// A tool for each table, and the schemas of all answers: for programs.
    Full,
}

/// What a server may read, store and take on.
///
/// ```
/// use eog_mcp::server::Settings;
/// let settings = Settings::new(vec!["incidents".into()], "state".into());
/// assert_eq!(settings.max_waiting, 256);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The folders below which clients may name paths.
    pub roots: Vec<PathBuf>,
    /// Where investigations are stored; made if absent. Two servers may share it. It must not lie
    /// below a root, where clients could read it as an incident.
    pub state: PathBuf,
    /// Where closed incidents are kept, unless it is `cases` in the state folder.
    pub cases: Option<PathBuf>,
    /// Most investigations that stay there. When one more begins, the oldest that does not run is
    /// removed.
    pub keep: NonZeroUsize,
    /// Application architecture (JSON) for snapshots, unless a call names another.
    pub architecture: Option<PathBuf>,
    /// Folder that keeps what was read of snapshots, for the next start.
    pub cache: Option<PathBuf>,
    /// About how many bytes of folders, by the size of their files, are kept in memory while they are not used.
    /// Each counts as 64 KiB at least.
    pub max_loaded_bytes: u64,
    /// Most memory that one snapshot may need, by a cautious estimate; a larger one is refused.
    pub max_memory: Option<u64>,
    /// Whether incidents are refused of which records cannot be used.
    pub strict: bool,
    /// Most investigations at once.
    pub max_running: NonZeroUsize,
    /// Most investigations that wait for their turn; more are refused.
    pub max_waiting: usize,
    /// Longest time for an investigation, unless the call gives a shorter one.
    pub max_time: Duration,
    /// How long a person may take to answer one question.
    pub answer_time: Duration,
    /// Which tools are listed.
    pub toolset: Toolset,
    /// A task that no client has asked for in this time is cancelled.
    pub task_patience: Duration,
}

impl Settings {
    /// The usual bounds: as many investigations at once as the machine has cores, 256 that wait,
    /// 1 GB of folders in memory, one hour for each investigation, 1000 that stay.
    pub fn new(roots: Vec<PathBuf>, state: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            roots,
            state,
            cases: None,
            keep: KEEP,
            architecture: None,
            cache: None,
            max_loaded_bytes: 1_000_000_000,
            max_memory: None,
            strict: false,
            max_running: cores,
            max_waiting: 256,
            max_time: Duration::from_secs(3600),
            answer_time: Duration::from_secs(600),
            toolset: Toolset::Compact,
            task_patience: Duration::from_secs(300),
        }
    }
}
