//! Which files of a bundle are there, and which others lie beside them, perhaps under a wrong name.

use std::fmt::Write as _;
use std::path::Path;

use crate::shown::clean_line;
use eog_evidence::{Bundle, is_ground_truth, near_names};

/// Most names of files that are shown.
const MAX_NAMES: usize = 8;

/// Files that eog itself writes beside those of a bundle.
const OWN: [&str; 2] = ["capture.json", "agent_output.json"];

/// How names of files of records end.
const DATA: [&str; 6] = [".csv", ".json", ".jsonl", ".ndjson", ".tsv", ".gz"];

/// The files in the folder of a bundle, by name.
pub(crate) struct BundleFiles {
    read: Vec<String>,
    others: Vec<String>,
}

impl BundleFiles {
    /// The files of a folder, or of the folder that holds a file.
    pub(crate) fn of(path: &Path) -> Self {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let (read, others) =
            names.into_iter().partition(|name| Bundle::FILES.contains(&name.as_str()));
        Self { read, others }
    }

    /// What is read, and what is not.
    pub(crate) fn in_words(&self) -> String {
        let mut text = format!("reads {}", self.read.join(", "));
        if !self.others.is_empty() {
            let _ = write!(text, "; does not read {}", self.list(self.others.iter()));
        }
        text
    }

    /// The files that seem to be data and are not read. Notes, pictures and hidden files lie beside many bundles on
    /// purpose.
    fn ignored_data(&self) -> impl Iterator<Item = &String> {
        self.others.iter().filter(|name| {
            let is_open =
                !name.starts_with('.') && !is_ground_truth(name) && !OWN.contains(&name.as_str());
            is_open && is_data(name)
        })
    }

    /// The file of a bundle that is missing and has such a name.
    fn meant(&self, name: &str) -> Option<&'static str> {
        if !is_data(name) {
            return None;
        }
        let stem = |name: &'static str| name.split_once('.').map_or(name, |(stem, _)| stem);
        let missing = Bundle::FILES.iter().filter(|file| !self.read.iter().any(|it| it == *file));
        let stems: Vec<&str> = missing.map(|file| stem(file)).collect();
        let name = name.split_once('.').map_or(name, |(stem, _)| stem);
        let near = near_names(stems, name).into_iter().next()?;
        Bundle::FILES.into_iter().find(|file| stem(file) == near)
    }

    /// Names of files, each with what it is meant to be called, perhaps.
    fn list<'n>(&self, names: impl Iterator<Item = &'n String>) -> String {
        let mut list: Vec<String> = names
            .map(|name| match self.meant(name) {
                Some(meant) => format!("{name} (did you mean {meant}?)"),
                None => name.clone(),
            })
            .collect();
        let more = list.len().saturating_sub(MAX_NAMES);
        list.truncate(MAX_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        list.join(", ") + &more
    }
}

/// Whether a name is that of a file of records.
fn is_data(name: &str) -> bool {
    let name = name.to_lowercase();
    DATA.iter().any(|ending| name.ends_with(ending))
}

/// Says which files of a bundle seem to be data and are not read: a wrong name may be why nothing is found.
pub(crate) fn say_unread(path: &Path) {
    let files = BundleFiles::of(path);
    if files.ignored_data().next().is_some() {
        let list = files.list(files.ignored_data());
        let line = format!("eog: note: {}: does not read {list}", path.display());
        eprintln!("{}", clean_line(&line));
    }
}
