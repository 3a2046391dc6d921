//! A capture under way on disk, so that one that was interrupted goes on where it was.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use eog_core::{Timestamp, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::CaptureError;
use crate::report::REPORT;

/// The folder of what was answered so far, within that of the capture.
const FOLDER: &str = ".capture";

/// What a capture began with.
const PLAN: &str = "plan.json";

/// The version of the files within [`FOLDER`].
const VERSION: u32 = 1;

/// What a capture began with; it goes on with the same alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    version: u32,
    /// A digest of the configuration and of the program that wrote it.
    digest: String,
    pub(crate) window: Option<Window>,
    /// When it began: no later state is asked for.
    pub(crate) now: Timestamp,
}

/// The folder of a capture under way.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    pub(crate) plan: Plan,
    /// Whether it goes on with an earlier one.
    pub(crate) goes_on: bool,
}

impl Store {
    /// Begins a capture in a new or empty folder, or goes on with the one that was begun there.
    pub(crate) fn open(
        out: &Path,
        text: &str,
        window: Option<Window>,
        now: Timestamp,
    ) -> Result<Self, CaptureError> {
        let refused =
            |reason: &str| CaptureError::Folder { path: out.to_owned(), reason: reason.to_owned() };
        let folder = out.join(FOLDER);
        let digest = blake3::hash(format!("{}\n{text}", env!("CARGO_PKG_VERSION")).as_bytes());
        let digest = digest.to_hex().to_string();
        if out.join(REPORT).exists() {
            return Err(refused("there is a finished capture already; name a new folder"));
        }
        let path = folder.join(PLAN);
        if path.exists() {
            let plan: Plan = read(&path).map_err(|error| {
                refused(&format!(
                    "the unfinished capture there cannot be gone on with ({error}); remove the folder"
                ))
            })?;
            if plan.version != VERSION || plan.digest != digest || plan.window != window {
                return Err(refused(
                    "an unfinished capture of another configuration or window is there; give \
                     the same again to go on, or remove the folder",
                ));
            }
            return Ok(Self { folder, plan, goes_on: true });
        }
        // A crash before the plan was written, or while it was removed, leaves the folder of a capture under way
        // without one: nothing in it can be gone on with.
        if folder.is_dir() {
            fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        }
        let is_empty = match fs::read_dir(out) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == ErrorKind::NotFound && !out.is_symlink() => true,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(refused("it is not a folder; name a new one"));
            }
            Err(error) => return Err(failed(out, &error)),
        };
        if !is_empty {
            return Err(refused("the folder is not empty; name a new one"));
        }
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        let plan = Plan { version: VERSION, digest, window, now };
        write(&path, &plan)?;
        Ok(Self { folder, plan, goes_on: false })
    }

    /// What was answered to a question before, if it was.
    pub(crate) fn recall<T: DeserializeOwned>(&self, question: &str) -> Option<T> {
        let path = self.path(question);
        if !path.exists() {
            return None;
        }
        // What was cut off by a crash is asked again.
        read(&path).ok()
    }

    /// Keeps an answer.
    pub(crate) fn keep<T: Serialize>(
        &self,
        question: &str,
        answer: &T,
    ) -> Result<(), CaptureError> {
        write(&self.path(question), answer)
    }

    /// Removes what is kept: the capture is written.
    pub(crate) fn finish(self) -> Result<(), CaptureError> {
        fs::remove_dir_all(&self.folder).map_err(|error| failed(&self.folder, &error))
    }

    /// Removes what is kept, and the folder of the capture if it holds nothing else.
    pub(crate) fn abandon(self, out: &Path) {
        // A failed removal is reported when a capture begins there again.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_dir(out);
    }

    fn path(&self, question: &str) -> PathBuf {
        let name = blake3::hash(question.as_bytes()).to_hex();
        self.folder.join(format!("{name}.json"))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CaptureError> {
    let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| failed(path, &error))
}

/// Writes a file whole or not at all.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), CaptureError> {
    let text = serde_json::to_vec(value).map_err(|error| failed(path, &error))?;
    let part = path.with_extension("part");
    let written = fs::File::create(&part).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).map_err(|error| failed(path, &error))
}

pub(crate) fn failed(path: &Path, error: &dyn std::fmt::Display) -> CaptureError {
    CaptureError::File { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_goes_on_with_the_same_alone() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-01-01T11:00:00Z".parse().unwrap();
        let store = Store::open(&out, "a", None, now).unwrap();
        assert!(!store.goes_on && store.recall::<u32>("q").is_none());
        store.keep("q", &7_u32).unwrap();
        let again = Store::open(&out, "a", None, later).unwrap();
        assert!(again.goes_on);
        assert_eq!((again.plan.now, again.recall("q")), (now, Some(7_u32)));
        let other = Store::open(&out, "b", None, now).unwrap_err().to_string();
        assert!(other.contains("another configuration"), "{other}");
        again.finish().unwrap();
        std::fs::write(out.join("notes.txt"), "mine").unwrap();
        let full = Store::open(&out, "a", None, now).unwrap_err().to_string();
        assert!(full.contains("not empty"), "{full}");
    }

    #[test]
    fn what_is_no_folder_is_refused_as_a_place_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        let refused = Store::open(&file, "a", None, now).unwrap_err();
        assert!(matches!(&refused, CaptureError::Folder { .. }), "{refused}");
        assert!(refused.to_string().contains("not a folder"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_refused_as_a_place_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let refused = Store::open(&link, "a", None, now).unwrap_err();
        assert!(matches!(&refused, CaptureError::Folder { .. }), "{refused}");
    }

    #[test]
    fn an_unfinished_capture_with_a_damaged_plan_is_refused_as_a_place_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let store = Store::open(&out, "a", None, now).unwrap();
        std::fs::write(store.folder.join(PLAN), "{").unwrap();
        let refused = Store::open(&out, "a", None, now).unwrap_err();
        assert!(matches!(&refused, CaptureError::Folder { .. }), "{refused}");
        assert!(refused.to_string().contains("plan.json"), "{refused}");
    }

    #[test]
    fn what_a_crash_left_without_a_plan_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        // Killed between the folder and the plan; and amid the removal of what was kept.
        for left in ["plan.part", "0123.json"] {
            fs::create_dir_all(out.join(FOLDER)).unwrap();
            fs::write(out.join(FOLDER).join(left), "{").unwrap();
            let store = Store::open(&out, "a", None, now).unwrap();
            assert!(!store.goes_on);
            assert!(!out.join(FOLDER).join(left).exists());
            store.abandon(&out);
        }
    }

    #[test]
    fn an_answer_that_was_cut_off_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let store = Store::open(&folder.path().join("out"), "a", None, now).unwrap();
        store.keep("q", &vec![1, 2, 3]).unwrap();
        std::fs::write(store.path("q"), "[1, 2").unwrap();
        assert!(store.recall::<Vec<u32>>("q").is_none());
    }
}
