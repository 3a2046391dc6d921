//! A folder for the runs of one test, with settings and nothing of the person who runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::server::Server;

/// The key that is given, and must be nowhere.
pub(crate) const KEY: &str = "planted-9f8e7d6c5b4a";

pub(crate) fn flash_sale() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale")
}

pub(crate) struct Lab {
    folder: tempfile::TempDir,
}

/// How a run ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) printed: String,
    pub(crate) said: String,
}

impl Run {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            printed: String::from_utf8_lossy(&output.stdout).into_owned(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The result of `--format json`.
    pub(crate) fn result(&self) -> Value {
        serde_json::from_str(&self.printed)
            .unwrap_or_else(|error| panic!("no result: {error}\n{}\n{}", self.printed, self.said))
    }
}

impl Lab {
    /// With settings for a model at a server. The lines belong to the section `[llm]`.
    pub(crate) fn at(server: &Server, llm: &str) -> Self {
        Self::with(&format!(
            "policy = \"llm\"\nfinalize = \"model\"\n[llm]\nmodel = \"openai/test\"\n{llm}\n\
             [llm.models.\"openai/test\"]\nbase_url = \"{}\"\n\
             capabilities = {{ tokenizer = \"gpt2\" }}\n",
            server.url
        ))
    }

    /// With this `eog.toml`.
    pub(crate) fn with(settings: &str) -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        lab.set(settings);
        lab
    }

    pub(crate) fn set(&self, settings: &str) {
        std::fs::write(self.path("eog.toml"), settings).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, in the folder, with a key and no other variable that it knows.
    pub(crate) fn eog(&self, arguments: &[&str]) -> Command {
        let mut eog = Command::new(env!("CARGO_BIN_EXE_eog"));
        eog.current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        eog.env_clear().env("HOME", self.folder.path()).env("PATH", "/usr/bin:/bin");
        eog.env("OPENAI_API_KEY", KEY);
        eog
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.eog(arguments).output().unwrap())
    }

    /// `eog investigate` of the shipped example.
    pub(crate) fn investigate(&self, arguments: &[&str]) -> Run {
        let path = flash_sale();
        self.run(&[&["investigate", path.to_str().unwrap()], arguments].concat())
    }

    /// The same, with the ledger it leaves.
    pub(crate) fn ledger(&self, arguments: &[&str]) -> (Run, String) {
        let out = self.path("out");
        let run = self.investigate(
            &[&["--format", "json", "--out", out.to_str().unwrap()], arguments].concat(),
        );
        let ledger = std::fs::read_to_string(out.join("ledger.jsonl")).unwrap_or_default();
        (run, ledger)
    }

    /// Every file of the folder with what it holds.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    files.push((path, String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        files
    }
}

/// The origins that explain an alert.
pub(crate) fn causes(result: &Value) -> Vec<String> {
    let groups = result["conclusion"]["frontier"].as_array().unwrap();
    let linked = groups.iter().filter(|group| group["covers"] != serde_json::json!([]));
    let origins = linked.flat_map(|group| group["origins"].as_array().unwrap());
    origins.map(|origin| origin.as_str().unwrap().to_owned()).collect()
}
