//! Opening the input: a bundle or a snapshot, told apart by content.

use eog::{Case, ContextContract};
use eog_evidence::{Bundle, BundleContext, Incident, open_case};
use eog_sre::{ReadOptions, Snapshot, SnapshotContext, SnapshotError};

use crate::args::Investigate;
use crate::error::CliError;

/// An input that is ready to be investigated.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) case: Case,
    pub(crate) contract: Box<dyn ContextContract>,
}

/// Reads the folder that the arguments name.
pub(crate) fn open(arguments: &Investigate) -> Result<Source, CliError> {
    let path = &arguments.path;
    let unusable = |reason: &str| CliError::Input { path: path.clone(), reason: reason.to_owned() };
    if !path.exists() {
        return Err(unusable("there is no such folder"));
    }
    if !path.is_dir() {
        return Err(unusable("this is a file; give the folder of a bundle or snapshot"));
    }
    let manifest = path.join("bundle.json");
    if manifest.exists() && !manifest.is_file() {
        return Err(unusable("bundle.json is not a file"));
    }
    if manifest.is_file() {
        if arguments.architecture.is_some() {
            return Err(CliError::Usage(format!(
                "--architecture goes with a snapshot, but {} is a bundle, which holds its own \
                 topology; leave the option out",
                path.display()
            )));
        }
        open_bundle(arguments)
    } else {
        open_snapshot(arguments)
    }
}

fn open_bundle(arguments: &Investigate) -> Result<Source, CliError> {
    let bundle = Bundle::read(&arguments.path)?;
    let incident = bundle.incident();
    let case = start(&incident, arguments)?;
    Ok(Source { name: incident.name, case, contract: Box::new(BundleContext::new(bundle)) })
}

fn open_snapshot(arguments: &Investigate) -> Result<Source, CliError> {
    let options =
        ReadOptions { architecture: arguments.architecture.clone(), ..ReadOptions::default() };
    let snapshot = Snapshot::open(&arguments.path, &options).map_err(|error| match error {
        SnapshotError::NothingKnown { .. } => CliError::Input {
            path: arguments.path.clone(),
            reason: "neither a bundle (no bundle.json) nor a snapshot (no alerts, events, \
                     objects, logs, traces or metrics in the ITBench layout); see \
                     docs/bundle.md and docs/sre.md"
                .to_owned(),
        },
        other => other.into(),
    })?;
    let graph = snapshot.graph();
    let incident = snapshot.incident(&graph);
    let case = start(&incident, arguments)?;
    let contract = Box::new(SnapshotContext::new(snapshot, graph));
    Ok(Source { name: incident.name, case, contract })
}

fn start(incident: &Incident, arguments: &Investigate) -> Result<Case, CliError> {
    open_case(incident, arguments.window).map_err(|source| CliError::Start {
        path: arguments.path.clone(),
        source,
        warnings: incident.warnings.clone(),
    })
}
