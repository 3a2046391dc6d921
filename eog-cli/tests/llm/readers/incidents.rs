//! Where the incidents of recordings are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::llm::lab::Lab;

/// What readers were asked about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incident {
    /// In the repository.
    path: Option<String>,
    /// Beside the repository, among real data.
    data: Option<String>,
    /// The ground truth that it is simulated from, if that is beside the repository.
    simulated: Option<String>,
    #[serde(default)]
    seed: u64,
    /// What it is, if it can neither be found nor made.
    elsewhere: Option<String>,
    prompts: Option<String>,
}

/// A snapshot, and the arguments that belong to it.
pub(crate) struct Snapshot {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// Keeps what was simulated.
    _made: Option<Lab>,
}

impl Incident {
    pub(crate) fn named(name: &str) -> Self {
        let list = super::folder().join("incidents.json");
        let mut all: BTreeMap<String, Self> =
            serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
        all.remove(name).unwrap_or_else(|| panic!("{}: {name} is missing", list.display()))
    }

    /// The snapshot.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn snapshot(&self, name: &str) -> Result<Snapshot, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let data = root.join("../shared/data");
        let architecture = data.join("itbench/architecture.json");
        let mut arguments = Vec::new();
        if let Some(prompts) = &self.prompts {
            arguments.extend(["--prompts".to_owned(), prompts.clone()]);
        }
        if let Some(path) = &self.path {
            return Ok(Snapshot { path: root.join(path), arguments, _made: None });
        }
        if architecture.exists() {
            arguments.extend(["--architecture".to_owned(), architecture.display().to_string()]);
        }
        let given = std::env::var_os("EOG_READERS_SNAPSHOTS").map(|at| Path::new(&at).join(name));
        let kept = self.data.as_ref().map(|path| data.join(path));
        if let Some(path) = [given, kept].into_iter().flatten().find(|path| path.exists()) {
            return Ok(Snapshot { path, arguments, _made: None });
        }
        let truths = data.join("itbench/ground_truths.json");
        match &self.simulated {
            Some(truth) if truths.exists() => {
                let lab = Lab::with("");
                let path = lab.path("snapshot");
                let [truths, written] = [&truths, &architecture].map(|it| it.display().to_string());
                let (out, seed) = (path.display().to_string(), self.seed.to_string());
                let run = lab.run(&[
                    "simulate",
                    &truths,
                    &written,
                    "--scenario",
                    truth,
                    "--out",
                    &out,
                    "--seed",
                    &seed,
                    "--size",
                    "4MB",
                ]);
                assert_eq!(run.code, Some(0), "{}", run.said);
                Ok(Snapshot { path, arguments, _made: Some(lab) })
            }
            _ => Err(format!(
                "its snapshot ({}) is not there; name a folder that holds {name} with \
                 EOG_READERS_SNAPSHOTS",
                self.elsewhere.as_deref().unwrap_or("from ../shared/data")
            )),
        }
    }
}
