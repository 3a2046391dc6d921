//! Sets of incidents whose causes are known, opened one at a time.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use eog::EntityId;
use eog_evidence::Bundle;
use eog_session::source::{OfBundle, OfSnapshot, Opened, ReadOptions};
use eog_simulate::Scenario;
use eog_simulate::files::list_folder;
use eog_simulate::snapshot::{Harmless, simulate};

use crate::error::EvalError;
use crate::generated::{World, write_one};
use crate::investigation::Investigation;
use crate::itbench::{GroundTruth, Output, score};
use crate::petshop;
use crate::suite::{SetScore, SuiteCase, cases_of};

/// A set of incidents.
#[derive(Clone, Debug)]
pub enum Incidents {
    /// A folder of bundles, each with a truth beside it; or a folder of such folders, whose names come first in the
    /// names of their incidents.
    Suite(PathBuf),
    /// The PetShop data set, with slices of its normal period.
    Petshop(PathBuf),
    /// Generated systems.
    Generated {
        /// Its kind.
        world: World,
        /// Their seeds.
        seeds: RangeInclusive<u64>,
    },
    /// Snapshots simulated from ground truths.
    Simulated {
        /// The ground truths.
        scenarios: Vec<Scenario>,
        /// The application.
        architecture: PathBuf,
        /// The seeds of each.
        seeds: RangeInclusive<u64>,
        /// About how many bytes each snapshot has.
        size: u64,
    },
    /// One recorded snapshot.
    Snapshot {
        /// Its folder.
        dir: PathBuf,
        /// The application.
        architecture: Option<PathBuf>,
        /// Its causes.
        truth: Box<GroundTruth>,
    },
}

/// One incident in memory.
pub(super) struct Incident {
    /// The data set of several that it belongs to.
    pub(super) set: Option<String>,
    pub(super) name: String,
    pub(super) source: Opened,
    pub(super) truth: Truth,
}

/// What is true of an incident, for the scoring alone.
pub(super) enum Truth {
    /// Entities; none in a normal time.
    Entities(BTreeSet<EntityId>),
    /// Groups of entities that stand for each other.
    Groups(Box<GroundTruth>),
}

/// What one result is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worth {
    /// Correct of the named.
    pub(super) precision: f64,
    /// Found of the causes.
    pub(super) recall: f64,
    /// Their harmonic mean.
    pub(super) f1: f64,
}

impl Incidents {
    /// What the set is called among several.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Suite(dir) | Self::Snapshot { dir, .. } => {
                dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned()
            }
            Self::Petshop(_) => "PetShop".to_owned(),
            Self::Generated { world, .. } => format!("generated {}", world.kind.name()),
            Self::Simulated { .. } => "simulated".to_owned(),
        }
    }

    /// Every incident, opened when its turn comes; how many there are.
    ///
    /// # Errors
    /// [`EvalError`] when there is none.
    pub(super) fn open(
        &self,
    ) -> Result<(usize, Box<dyn Iterator<Item = Opening> + '_>), EvalError> {
        Ok(match self {
            Self::Suite(dir) => {
                let cases = cases_below(dir)?;
                let open = |(set, name): (Option<String>, String)| {
                    let folder = set.as_ref().map_or(dir.clone(), |set| dir.join(set));
                    let incident = Incident::of_case(SuiteCase::read(&folder, &name, false)?);
                    Ok(Incident { set, ..incident })
                };
                (cases.len(), Box::new(cases.into_iter().map(open)))
            }
            Self::Petshop(dir) => {
                let cases = petshop::all(dir)?;
                (cases.len(), Box::new(cases.into_iter().map(|case| Ok(Incident::of_case(case)))))
            }
            Self::Generated { world, seeds } => {
                let open = |seed| {
                    let folder = folder()?;
                    let name = write_one(*world, seed, folder.path())?;
                    SuiteCase::read(folder.path(), &name, false).map(Incident::of_case)
                };
                (seeds.clone().count(), Box::new(seeds.clone().map(open)))
            }
            Self::Simulated { scenarios, architecture, seeds, size } => {
                let open = move |scenario: &Scenario, seed: u64| {
                    let truth = GroundTruth::of(scenario)?.counting_policies();
                    let folder = folder()?;
                    let dir = folder.path().join("snapshot");
                    simulate(scenario, architecture, Harmless::default(), seed, *size, &dir)?;
                    let name = format!("{} with seed {seed}", scenario.name);
                    Incident::of_snapshot(name, &dir, Some(architecture), truth)
                };
                let each = move |scenario| seeds.clone().map(move |seed| open(scenario, seed));
                let all = scenarios.len() * seeds.clone().count();
                (all, Box::new(scenarios.iter().flat_map(each)))
            }
            Self::Snapshot { dir, architecture, truth } => {
                let open = move |_| {
                    let (name, truth) = (dir.display().to_string(), truth.as_ref().clone());
                    Incident::of_snapshot(name, dir, architecture.as_deref(), truth)
                };
                (1, Box::new(std::iter::once(()).map(open)))
            }
        })
    }
}

/// An incident, or why there is none.
pub(super) type Opening = Result<Incident, EvalError>;

/// The incidents of a folder of bundles, or of each such folder in it, which names their set.
fn cases_below(dir: &Path) -> Result<Vec<(Option<String>, String)>, EvalError> {
    let own = match cases_of(dir) {
        Ok(names) => return Ok(names.into_iter().map(|name| (None, name)).collect()),
        Err(error) => error,
    };
    let mut all = Vec::new();
    for folder in list_folder(dir)?.into_iter().filter(|path| path.is_dir()) {
        let Ok(names) = cases_of(&folder) else { continue };
        let set = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        all.extend(names.into_iter().map(|name| (set.clone(), name)));
    }
    if all.is_empty() { Err(own) } else { Ok(all) }
}

fn folder() -> Result<tempfile::TempDir, EvalError> {
    tempfile::tempdir().map_err(|error| EvalError::file(&std::env::temp_dir(), error))
}

impl Incident {
    fn of_case(case: SuiteCase) -> Self {
        let SuiteCase { name, bundle, truth, .. } = case;
        Self { set: None, name, source: of_bundle(bundle), truth: Truth::Entities(truth.causes) }
    }

    /// Read whole, so that the folder is not needed any more.
    fn of_snapshot(
        name: String,
        dir: &Path,
        architecture: Option<&Path>,
        truth: GroundTruth,
    ) -> Opening {
        let architecture = architecture.map(Path::to_owned);
        let options = ReadOptions { architecture, ..ReadOptions::default() };
        let read = OfSnapshot::open(dir, &options).map_err(|error| EvalError::file(dir, error))?;
        let truth = Truth::Groups(Box::new(truth));
        Ok(Self { set: None, name, source: Opened::new(dir, read), truth })
    }

    /// Whether nothing was wrong.
    pub(super) fn is_normal(&self) -> bool {
        matches!(&self.truth, Truth::Entities(causes) if causes.is_empty())
    }

    /// The true causes by name, as far as failures are counted: where entities stand for each other, those named
    /// that stand for a cause.
    pub(super) fn truth_of(&self, named: &[String]) -> BTreeSet<String> {
        match &self.truth {
            Truth::Entities(causes) => causes.iter().map(ToString::to_string).collect(),
            Truth::Groups(truth) => {
                let is_cause = |name: &&String| {
                    EntityId::new(name.as_str()).is_ok_and(|entity| {
                        score(&Output::of_investigation(&[entity], &[]), truth).precision > 0.0
                    })
                };
                named.iter().filter(is_cause).cloned().collect()
            }
        }
    }

    /// What it is worth to have named these, with the claims of the investigation.
    pub(super) fn worth(&self, named: &BTreeSet<EntityId>, ended: &Investigation) -> Worth {
        match &self.truth {
            Truth::Entities(causes) => {
                let SetScore { precision, recall, f1 } = SetScore::of(named, causes);
                Worth { precision, recall, f1 }
            }
            Truth::Groups(truth) => {
                let named: Vec<EntityId> = named.iter().cloned().collect();
                let score = score(&Output::of_investigation(&named, &ended.claims()), truth);
                Worth { precision: score.precision, recall: score.recall, f1: score.f1 }
            }
        }
    }
}

fn of_bundle(bundle: Bundle) -> Opened {
    Opened::new("", OfBundle::new(bundle))
}
