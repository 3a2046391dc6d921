//! `eog submit`: an incident waits for a worker.

use std::path::Path;
use std::time::Duration;

use eog::{Timestamp, Window};
use eog_nats::{Block, InvestigationId, NatsError};
use eog_report::clean::clean;
use eog_session::controllers::AnySettings;
use eog_session::run::Start;
use eog_session::source::{
    Capturing, FolderHandle, Kind, OfLive, OpenError, Opened, ReadOptions, Words,
};

use super::order::{Order, Saying};
use super::reach::Reached;
use super::state::{State, Status};
use super::worker;
use crate::args::Submit;
use crate::error::{CliError, Exit};
use crate::interrupt::interrupted;
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::{files, rules, source};
use eog_cases::pack::{Packed, pack};

/// How often `--wait` asks.
const ASKED: Duration = Duration::from_millis(500);

/// `eog submit`.
pub(crate) fn submit(arguments: &Submit) -> Result<Exit, CliError> {
    let start = &arguments.start;
    let id = arguments.id.as_deref().map(str::parse::<InvestigationId>).transpose()?;
    // The policy is chosen by the workers.
    let settings = rules::settings(start, arguments.width, None)?;
    let progress = Progress::start(arguments.quiet);
    let reached = Reached::preparing(&arguments.nats)?;
    let Submitted { opened, packed } = open(arguments, &progress)?;
    // What cannot be investigated is refused here, and not by a worker later.
    let begin = Start::of(&opened, settings.clone(), start.window);
    begin.map_err(|error| CliError::start(&opened, error))?;
    let words = arguments.said.words(&opened.incident().topology)?;

    let id = match id {
        Some(id) => id,
        None => {
            let block = Block::of(&packed.bytes).digest();
            let seed = eog::Digest::of(&(block, Timestamp::now(), std::process::id()));
            named(&opened.incident().name, &seed.to_string(), 8)?
        }
    };
    if arguments.id.is_some() && reached.register.order(&id)?.is_some() {
        return Err(NatsError::Exists { id }.into());
    }
    progress.say("storing the incident on the cluster");
    let has_architecture = start.architecture.is_some();
    let ready =
        Ready { opened: &opened, packed, settings, window: start.window, has_architecture, words };
    ready.hand_in(&reached, &id)?;
    drop(progress);
    files::print(&format!("{id}\n"))?;
    match arguments.wait {
        true => wait(&reached, &id),
        false => Ok(Exit::Diagnosed),
    }
}

/// An investigation that can be handed in.
pub(super) struct Ready<'a> {
    pub(super) opened: &'a Opened,
    pub(super) packed: Packed,
    pub(super) settings: AnySettings,
    pub(super) window: Option<Window>,
    pub(super) has_architecture: bool,
    pub(super) words: Words,
}

impl Ready<'_> {
    /// Has it wait for a worker. What is there already of this name stays.
    pub(super) fn hand_in(self, reached: &Reached, id: &InvestigationId) -> Result<(), CliError> {
        let Self { opened, packed, settings, window, has_architecture, words } = self;
        let block = reached.cluster.store(id, &packed.bytes)?;
        let incident = opened.incident();
        // A capture of this window is of no other.
        let window = window.filter(|window| incident.window != Some(*window));
        let mut order = Order::new(incident.name.clone(), block, packed.folder, settings, window);
        order.has_architecture = has_architecture;
        let order = order.written()?;
        reached.register.enter(id, &order)?;
        for (entity, word) in words {
            reached.register.say(id, &Saying::Word { entity, word }.written()?)?;
        }
        reached.queue.submit(id, &order)?;
        // Until it was in the queue, a clean-up may have removed it as belonging to nothing.
        reached.cluster.store(id, &packed.bytes)?;
        Ok(())
    }
}

/// An incident that was read and packed.
struct Submitted {
    opened: Opened,
    packed: Packed,
}

fn open(arguments: &Submit, progress: &Progress) -> Result<Submitted, CliError> {
    let start = &arguments.start;
    let (path, architecture) = (start.path.as_path(), start.architecture.as_deref());
    let packed = |folder: &Path| {
        progress.say(&format!("packing {}", folder.display()));
        let unreadable = |source| OpenError::Unreadable { path: folder.to_owned(), source };
        let handle = FolderHandle::open(folder).map_err(unreadable)?;
        Ok::<_, CliError>(pack(&handle, architecture, arguments.max_incident)?)
    };
    match Kind::of(path)? {
        Kind::Bundle | Kind::Snapshot => {
            let opened =
                source::open(progress, path, architecture, &start.reading, source::At::default())?;
            Ok(Submitted { packed: packed(path)?, opened })
        }
        Kind::Live => {
            let kept = tempfile::Builder::new().prefix("eog-submit-").tempdir();
            let kept =
                kept.map_err(|source| CliError::Write { path: std::env::temp_dir(), source })?;
            let into = kept.path().join("capture");
            let say = |line: &str| progress.say(line);
            let (window, now) = (start.window, Timestamp::now());
            let options = ReadOptions::default();
            let capturing = Capturing { window, now, into: Some(&into), progress: &say };
            let live = runtime()?.block_on(async {
                tokio::select! {
                    live = OfLive::open(path, &options, capturing) => Ok(live?),
                    () = interrupted() => {
                        let (why, exit) = ("interrupted", Exit::Interrupted);
                        Err(CliError::NotBegun { why, exit, onward: None })
                    }
                }
            })?;
            Ok(Submitted { packed: packed(&into)?, opened: Opened::new(path, live) })
        }
        Kind::Servers => Err(CliError::Usage(format!(
            "{} names MCP servers, which are queried during an investigation and cannot be \
             submitted; use eog investigate, or submit a folder or a file that names live sources",
            path.display()
        ))),
    }
}

/// A unique name: that of the incident, and so many digits, at most 16, of what stands for all that it is made of.
pub(super) fn named(name: &str, seed: &str, digits: usize) -> Result<InvestigationId, CliError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let plain: String = name.chars().map(plain).take(47).collect();
    let plain = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let stem = if plain.is_empty() { "incident" } else { &plain };
    let tail: String = seed.chars().filter(char::is_ascii_hexdigit).take(digits).collect();
    Ok(format!("{stem}-{tail}").parse()?)
}

/// Waits until an investigation has ended, and says what was found.
fn wait(reached: &Reached, id: &InvestigationId) -> Result<Exit, CliError> {
    let interrupt = interrupted();
    let mut interrupt = std::pin::pin!(interrupt);
    let runtime = runtime()?;
    loop {
        let state = State::read(&reached.register.state(id)?.unwrap_or_default())?;
        if let Some(state) = state.filter(|state| state.status.has_ended()) {
            return print(&state);
        }
        let is_interrupted = runtime.block_on(async {
            tokio::select! {
                biased;
                () = &mut interrupt => true,
                () = tokio::time::sleep(ASKED) => false,
            }
        });
        if is_interrupted {
            eprintln!(
                "eog: the investigation continues without this command; eog cancel {id} ends it"
            );
            return Ok(Exit::Interrupted);
        }
    }
}

fn print(state: &State) -> Result<Exit, CliError> {
    files::print(&format!("{}\n", clean(&worker::summary(state))))?;
    Ok(match state.status {
        Status::Failed => Exit::Failed,
        _ if state.origins.is_empty() => Exit::Inconclusive,
        _ => Exit::Diagnosed,
    })
}
