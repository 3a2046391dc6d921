//! Exit codes, and the errors that lead to them.

use std::path::{Path, PathBuf};

use crate::shown::clean_line;
use eog::journal::JournalError;
use eog::ledger::ForkError;
use eog::memory::MemoryError;
use eog::side::{RecordError, SideError};
use eog_cases::CaseError;
use eog_cases::close::CloseError;
use eog_cases::pack::PackError;
use eog_eval::EvalError;
use eog_evidence::StartError;
use eog_report::clean::clean;
use eog_session::judge::{IdleOptions, JudgeError};
use eog_session::run::{RecordsError, RunError, Unbegun};
use eog_session::source::{Kind, OpenError, Opened};
use eog_session::travel::ReadError;
use eog_sources::CaptureError;
use eog_sre::tools::ToolError;

/// How the command ends. Documented in `eog investigate --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// At least one origin that explains an alert was found.
    Diagnosed = 0,
    /// Output could not be written, not a single evaluation led to a decision, or recorded traffic
    /// of models lacks an answer.
    Failed = 1,
    /// The command line is wrong, or names a place for output that is taken. Clap uses the same code.
    BadUsage = 2,
    /// The investigation ended without an origin that explains an alert.
    Inconclusive = 3,
    /// The input cannot be used.
    BadInput = 4,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Interrupted = 130,
}

/// What went wrong, in words for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{}: {reason}", path.display())]
    Input { path: PathBuf, reason: String },
    #[error("{error}{hint}", error = .0, hint = about_reading(.0))]
    Open(OpenError),
    #[error("{0}")]
    Capture(CaptureError),
    #[error("{error}{hint}", error = .0, hint = about_results(.0))]
    Ledger(ReadError),
    #[error("{0}")]
    Records(RecordsError),
    #[error("{}: {source}{}{}", path.display(), about_starts(path), as_notes(warnings))]
    Start { path: PathBuf, source: StartError, warnings: Vec<String> },
    #[error("{error}{hint}", error = .0, hint = about_ledgers(.0))]
    Journal(#[from] JournalError),
    #[error("stopped because the journal cannot be written: {error}{}", as_command(onward.as_deref()))]
    JournalStopped { error: Box<JournalError>, onward: Option<String> },
    #[error("{why} before the investigation began{}", as_command(onward.as_deref()))]
    NotBegun { why: &'static str, exit: Exit, onward: Option<String> },
    #[error("{0}")]
    Eval(EvalError),
    #[error("{0}")]
    NotRecorded(String),
    #[error("{0}")]
    Unrecorded(RecordError),
    #[error("{0}")]
    Side(#[from] SideError),
    #[error("{0}")]
    Memory(#[from] MemoryError),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[cfg(feature = "serve")]
    #[error("{0}; {hint}", hint = about_on_call(.0))]
    OnCall(#[from] eog_oncall::ConfigError),
    #[error("{0}")]
    Usage(String),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[cfg(feature = "nats")]
    #[error("{0}{hint}", hint = about_clusters(.0))]
    Nats(#[from] eog_nats::NatsError),
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
}

/// What is wrong with a ledger that has not begun.
pub(crate) const NOTHING_YET: &str = "it has no entries yet, so there is nothing to continue; run \
                                      the same eog investigate again";

#[cfg(feature = "serve")]
/// What to do about a configuration of a service on call: it names a file with the sources, which may be what is wrong.
fn about_on_call(error: &eog_oncall::ConfigError) -> &'static str {
    match error.to_string().starts_with("source: ") {
        true => "`eog init source` writes a file of sources",
        false => "`eog init on-call` writes such a file",
    }
}

/// What to start from instead, in the words of the command line.
pub(crate) fn about_starts(path: &Path) -> &'static str {
    match matches!(Kind::of(path), Ok(Kind::Bundle)) {
        true => {
            " (--window START/END; to start from an entity, add an alert on it to alerts.json, see \
             docs/bundle.md)"
        }
        false => " (--window START/END)",
    }
}

/// What the readers had to say, below the error that may follow from it.
fn as_notes(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("\n  note: {}", clean(warning))).collect()
}

/// What to do with a file that is no journal, or is not there.
fn about_ledgers(error: &JournalError) -> &'static str {
    match error {
        JournalError::Unusable { operation: "open", source, .. }
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            "; give the file of --journal"
        }
        JournalError::NotAJournal { .. } => {
            "; a journal is the file of --journal, while `eog fork` continues from a ledger, such \
             as ledger.jsonl of --out"
        }
        _ => "",
    }
}

/// The option or the command that helps where a source cannot be opened.
fn about_reading(error: &OpenError) -> String {
    use eog_evidence::BundleError::NeedsMemory;
    use eog_sre::SnapshotError::{OutOfMemory, TooLarge};
    match error {
        OpenError::Snapshot(TooLarge { needed, .. })
        | OpenError::Bundle(NeedsMemory { needed, .. }) => {
            return format!(" (--max-memory {})", as_size(*needed));
        }
        OpenError::Snapshot(OutOfMemory { .. }) => " (--max-memory, such as 6G or 500M)",
        OpenError::Unusable { .. } => ": omit --strict",
        OpenError::Absent { path } if path.extension().is_some_and(|it| it == "toml") => {
            " (`eog init source` writes one)"
        }
        _ => "",
    }
    .to_owned()
}

/// A number of bytes as --max-memory takes it, with a unit, rounded up.
fn as_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{}K", bytes.div_ceil(1_000)),
        1_000_000..10_000_000_000 => format!("{}M", bytes.div_ceil(1_000_000)),
        _ => format!("{}G", bytes.div_ceil(1_000_000_000)),
    }
}

/// Which options write what holds a ledger.
fn about_results(error: &ReadError) -> &'static str {
    match error {
        ReadError::NoLedgerInside { .. } | ReadError::Absent { .. } | ReadError::Other { .. } => {
            " (--out writes such a folder, --journal the file)"
        }
        _ => "",
    }
}

/// A field of the settings as the option that sets it.
fn as_option(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
}

/// Why there is no policy, in the words of the command line.
fn about_judges(error: &JudgeError) -> String {
    #[cfg(feature = "models")]
    use eog_prompts::PackError;
    match error {
        JudgeError::Option { option: "policy", reason } => {
            format!("--policy: {reason} (--policy-arg)")
        }
        JudgeError::Option { option, reason } => format!("{}: {reason}", as_option(option)),
        JudgeError::Idle(idle) => without_effect(idle),
        #[cfg(feature = "models")]
        JudgeError::Prompts(PackError::UnknownPack { name, known }) => format!(
            "--prompts {name}: there is neither a folder nor a pack of that name; the packs are \
             {known}, and `eog prompt export {name}` creates such a folder"
        ),
        #[cfg(feature = "models")]
        JudgeError::Prompts(PackError::Unreadable { path, .. }) if !path.exists() => format!(
            "--prompts {}: there is no such folder; `eog prompt export FOLDER` creates one",
            path.display()
        ),
        #[cfg(feature = "models")]
        JudgeError::Prompts(error) => format!("--prompts: {error}"),
        #[cfg(feature = "models")]
        JudgeError::Models(error) => format!("{error}; `eog doctor` checks the configuration"),
        error => error.to_string(),
    }
}

/// Which options have no effect.
pub(crate) fn without_effect(idle: &IdleOptions) -> String {
    idle.words(as_option)
}

/// What to do about a cluster.
#[cfg(feature = "nats")]
fn about_clusters(error: &eog_nats::NatsError) -> &'static str {
    use eog_nats::NatsError;
    match error {
        NatsError::StreamMissing { .. } => {
            "; eog worker or eog submit creates it; if it exists, check --nats-prefix"
        }
        NatsError::NoSuch { .. } => "; eog list shows them",
        NatsError::Unauthorized { .. } => {
            "; give --nats-creds, --nats-nkey-file, --nats-user or --nats-token-file, or set the \
             variables that their help names"
        }
        NatsError::Tls { .. } => {
            "; --nats-ca sets the trusted certificates, --nats-cert and --nats-key those of this client"
        }
        NatsError::Unreachable { .. } => {
            "; check that the address is right and a server runs there"
        }
        _ => "",
    }
}

/// The command to type, below what made it necessary.
fn as_command(onward: Option<&str>) -> String {
    onward.map_or_else(String::new, |command| format!("\n  then: {}", clean(command)))
}

impl From<JudgeError> for CliError {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::Settings { path, reason } => Self::Input { path, reason },
            JudgeError::Unusable(reason) => Self::NotRecorded(reason),
            JudgeError::Identity(error) => Self::Memory(error),
            error => Self::Usage(about_judges(&error)),
        }
    }
}

impl From<CaseError> for CliError {
    fn from(error: CaseError) -> Self {
        match error {
            CaseError::Write { path, source } => Self::Write { path, source },
            CaseError::File { path, source } => Self::Input { path, reason: source.to_string() },
            CaseError::Damaged { path, reason } | CaseError::Archive { path, reason } => {
                Self::Input { path, reason }
            }
            CaseError::Ledger(reason) => Self::NotRecorded(reason),
            error => Self::Usage(format!("{error}{}", about_cases(&error))),
        }
    }
}

/// What to do about cases.
fn about_cases(error: &CaseError) -> &'static str {
    match error {
        CaseError::NoFolder { .. } => "; `eog close` makes it with the first case",
        CaseError::Taken { .. } => "; --replace replaces it",
        CaseError::UnknownCause { .. } => {
            "; a cause outside of its topology is given by --not-in-topology"
        }
        _ => "",
    }
}

impl From<CloseError> for CliError {
    fn from(error: CloseError) -> Self {
        match error {
            CloseError::Case(error) => error.into(),
            CloseError::Pack(error) => error.into(),
            error => Self::Usage(error.to_string()),
        }
    }
}

impl From<PackError> for CliError {
    fn from(error: PackError) -> Self {
        match error {
            PackError::File { path, source } => Self::Input { path, reason: source.to_string() },
            PackError::TooLarge { path, most } => {
                let reason = format!(
                    "the packed incident has more than {most} bytes; remove unrelated data, or give a \
                     larger --max-incident"
                );
                Self::Input { path, reason }
            }
            error => Self::Usage(error.to_string()),
        }
    }
}

impl From<RecordsError> for CliError {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Journal(error) => Self::Journal(error),
            RecordsError::Side(error) => Self::Side(error),
            error => Self::Records(error),
        }
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Journal(error) => Self::Journal(error),
            error => Self::Ledger(error),
        }
    }
}

impl CliError {
    /// That this build lacks a part, and how to get it.
    #[cfg(not(all(feature = "models", feature = "serve", feature = "nats")))]
    pub(crate) fn not_built(what: &'static str, feature: &'static str) -> Self {
        Self::from(JudgeError::NotBuilt { what, feature })
    }

    /// The error that there is nothing to start from.
    pub(crate) fn start(from: &Opened, source: StartError) -> Self {
        let (path, warnings) = (from.path().to_owned(), from.incident().warnings.clone());
        Self::Start { path, source, warnings }
    }

    /// Why a run has no result. `ledger` is what it goes on with or forks, if it does.
    pub(crate) fn run(
        error: RunError,
        from: &Opened,
        ledger: Option<&Path>,
        onward: impl FnOnce() -> Option<String>,
    ) -> Self {
        let ledger = ledger.unwrap_or(from.path());
        let input = |reason: String| Self::Input { path: ledger.to_owned(), reason };
        match error {
            RunError::Start(error) => Self::start(from, error),
            RunError::Judge(error) => error.into(),
            RunError::NotBegun(Unbegun::Cancelled) => {
                Self::NotBegun { why: "interrupted", exit: Exit::Interrupted, onward: onward() }
            }
            RunError::NotBegun(Unbegun::TimeIsUp) => {
                Self::NotBegun { why: "the deadline passed", exit: Exit::Failed, onward: onward() }
            }
            RunError::Empty => input(NOTHING_YET.to_owned()),
            RunError::OtherSource => input(format!(
                "it was started with a different input than {} (topology or alerts differ); give \
                 the folder, and the --architecture, that it was started with",
                from.path().display()
            )),
            RunError::OtherJudge { then, now } => Self::other_judge(&then, &now),
            RunError::Fork(error) => input(match *error {
                ForkError::NoSuchEntry { .. } => {
                    format!("{error}; eog replay --entries lists the entries")
                }
                error => error.to_string(),
            }),
            RunError::Recorder(RecordError::NotStored(error)) => Self::Side(error),
            RunError::Recorder(error) => Self::Unrecorded(error),
            error => input(error.to_string()),
        }
    }

    /// Why no journal can be begun at a path. That something is there already is reported like any other place for
    /// output that is taken: the command line is to name another.
    pub(crate) fn new_journal(path: &Path, error: RecordsError) -> Self {
        match error {
            RecordsError::Journal(JournalError::Exists { .. }) if path.is_dir() => {
                Self::Usage(format!("--journal: {} is a folder; give a file", path.display()))
            }
            RecordsError::Journal(JournalError::Exists { .. } | JournalError::NotAFile { .. })
            | RecordsError::LeftOver { .. } => Self::Usage(error.to_string()),
            error => error.into(),
        }
    }

    /// Another judge than that of a ledger.
    pub(crate) fn other_judge(then: &str, now: &str) -> Self {
        Self::Usage(format!(
            "the policy of this ledger is {}, not {}; give the same --policy (and its \
             --policy-arg, or its --model), or change the policy from an entry on with `eog fork` \
             and --policy",
            clean(then),
            clean(now)
        ))
    }

    /// Says on standard error what went wrong.
    pub(crate) fn say(&self) {
        for line in format!("eog: {self}").lines() {
            eprintln!("{}", clean_line(line));
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Eval(EvalError::Stopped) => Exit::Interrupted,
            // Not what is read, but what was to be written.
            Self::Journal(JournalError::Unusable { operation: "create", .. })
            | Self::Memory(MemoryError::Unusable { operation: "create" | "write", .. })
            | Self::Open(OpenError::NoFolder { .. })
            | Self::Eval(EvalError::Ledger { .. }) => Exit::Failed,
            Self::Memory(MemoryError::NotAFolder { .. }) => Exit::BadUsage,
            // The folder that `eog capture` was asked for. Beside a journal it is a part of the input.
            Self::Capture(CaptureError::Folder { .. }) => Exit::BadUsage,
            Self::Open(OpenError::Capture(CaptureError::File { .. }))
            | Self::Capture(CaptureError::File { .. }) => Exit::Failed,
            Self::Input { .. }
            | Self::Capture(_)
            | Self::Open(_)
            | Self::Ledger(_)
            | Self::Records(_)
            | Self::Journal(_)
            | Self::Side(_)
            | Self::Eval(_)
            | Self::Unrecorded(_)
            | Self::Memory(_)
            | Self::Start { .. } => Exit::BadInput,
            #[cfg(feature = "serve")]
            Self::OnCall(_) => Exit::BadInput,
            Self::NotBegun { exit, .. } => *exit,
            Self::Usage(_) | Self::Tool(_) => Exit::BadUsage,
            #[cfg(feature = "nats")]
            Self::Nats(error) => match error {
                eog_nats::NatsError::BadName { .. } | eog_nats::NatsError::Exists { .. } => {
                    Exit::BadUsage
                }
                eog_nats::NatsError::NoSuch { .. }
                | eog_nats::NatsError::Access { .. }
                | eog_nats::NatsError::Tls { .. } => Exit::BadInput,
                _ => Exit::Failed,
            },
            Self::Write { .. }
            | Self::Runtime(_)
            | Self::NotRecorded(_)
            | Self::JournalStopped { .. } => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use eog_eval::EvalError;
    use eog_session::source::OpenError;
    use eog_sources::CaptureError;

    use super::{CliError, Exit};

    #[test]
    fn a_folder_that_is_taken_is_a_wrong_command_line_for_who_named_it() {
        let taken = || CaptureError::Folder { path: "taken".into(), reason: String::new() };
        assert_eq!(CliError::from(taken()).exit(), Exit::BadUsage);
        assert_eq!(CliError::from(OpenError::from(taken())).exit(), Exit::BadInput);
    }

    #[test]
    fn what_cannot_be_written_is_no_input_that_cannot_be_used() {
        let no_folder = OpenError::NoFolder { reason: String::new() };
        assert_eq!(CliError::from(no_folder).exit(), Exit::Failed);
        let ledger = EvalError::Ledger { path: "ledgers".into(), reason: String::new() };
        assert_eq!(CliError::Eval(ledger).exit(), Exit::Failed);
    }

    #[cfg(feature = "nats")]
    #[test]
    fn a_name_on_the_cluster_that_is_taken_is_a_wrong_command_line() {
        use eog_nats::NatsError;

        let id = || "run".parse().unwrap();
        assert_eq!(CliError::from(NatsError::Exists { id: id() }).exit(), Exit::BadUsage);
        assert_eq!(CliError::from(NatsError::NoSuch { id: id() }).exit(), Exit::BadInput);
    }
}
