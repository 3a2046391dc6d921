//! The folders below which clients may name paths.

use std::path::{Path, PathBuf};

use eog_evidence::is_ground_truth;
use eog_session::source::{FilePlace, FolderHandle, Kind};

use super::error::{Problem, ServeError};

/// Longest path that a client may name, in bytes.
const MAX_PATH: usize = 4096;

/// Folders that are named when a path leads nowhere.
const MAX_NAMED: usize = 12;

/// The folders below which clients may name paths. What is read is found from their handles.
#[derive(Debug)]
pub(super) struct Roots {
    open: Vec<Root>,
    /// Their paths, without links in them.
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct Root {
    folder: FolderHandle,
    /// As it was named, from the root of the system.
    named: PathBuf,
}

impl Roots {
    pub(super) fn open(folders: &[PathBuf]) -> Result<Self, ServeError> {
        if folders.is_empty() {
            return Err(ServeError::NoRoot);
        }
        let open = |folder: &PathBuf| {
            let unusable = |reason: String| ServeError::Root { path: folder.clone(), reason };
            if folder.is_file() {
                return Err(unusable("it is not a folder".to_owned()));
            }
            let opened =
                FolderHandle::open(folder).map_err(|error| unusable(error.to_string()))?.as_root();
            let named = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            Ok(Root { folder: opened, named })
        };
        let open: Vec<Root> = folders.iter().map(open).collect::<Result<_, _>>()?;
        let folders = open.iter().map(|root| root.folder.path().to_owned()).collect();
        Ok(Self { open, folders })
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether every root is a bundle itself, so that no snapshot can be below any of them.
    pub(super) fn are_bundles(&self) -> bool {
        let is_bundle = |root: &Root| matches!(Kind::of_folder(&root.folder), Ok(Kind::Bundle));
        self.open.iter().all(is_bundle)
    }

    /// The folder that a path means: an absolute one below a root, or one relative to a root (the
    /// first that has it). Nothing stands for the root, if there is only one.
    pub(super) fn folder(&self, path: Option<&str>) -> Result<FolderHandle, Problem> {
        match (path, &self.open[..]) {
            (Some(path), _) => self.folder_at(Path::new(path)),
            (None, [only]) => Ok(only.folder.clone()),
            (None, _) => Err(Problem::Path(format!(
                "name a folder, for this server has several roots: {}",
                self.named()
            ))),
        }
    }

    /// The same for a path that was found earlier, perhaps by another server.
    pub(super) fn folder_at(&self, path: &Path) -> Result<FolderHandle, Problem> {
        let found = self.find(path, |root, path| root.below(path).ok())?;
        found.ok_or_else(|| match self.file_at(path) {
            Ok(_) => Problem::Path(format!(
                "{}: this is a file; name the folder of a bundle or snapshot",
                path.display()
            )),
            Err(_) => self.nowhere(&path.display().to_string()),
        })
    }

    /// The file that a path means, found as for [`Roots::folder`].
    pub(super) fn file(&self, path: &str) -> Result<FilePlace, Problem> {
        self.file_at(Path::new(path))
    }

    /// The same for a path that was found earlier, perhaps by another server.
    pub(super) fn file_at(&self, path: &Path) -> Result<FilePlace, Problem> {
        let shown = path.display();
        if let Some(found) = self.find(path, |root, path| root.place(path).ok())? {
            return Ok(found);
        }
        match self.find(path, |root, path| root.below(path).ok())? {
            Some(_) => Err(Problem::Path(format!("{shown}: this is no file"))),
            None => Err(self.nowhere(&shown.to_string())),
        }
    }

    /// What a path is called towards clients: relative to its root, or in full if several roots
    /// have it.
    pub(super) fn name(&self, path: &Path) -> String {
        let inside = self.folders.iter().find_map(|root| path.strip_prefix(root).ok());
        match inside {
            Some(rest) if rest.as_os_str().is_empty() && self.open.len() == 1 => ".".to_owned(),
            Some(rest)
                if !rest.as_os_str().is_empty()
                    && self.folder_at(rest).is_ok_and(|found| found.path() == path) =>
            {
                rest.display().to_string()
            }
            _ => path.display().to_string(),
        }
    }

    /// What the first root has of this path that has anything.
    fn find<T>(
        &self,
        path: &Path,
        open: impl Fn(&FolderHandle, &Path) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let bytes = path.as_os_str().as_encoded_bytes();
        if bytes.len() > MAX_PATH || bytes.contains(&0) {
            return Err(Problem::Path(format!(
                "the path is longer than {MAX_PATH} bytes or holds a zero byte; name a folder below \
                 {}",
                self.named()
            )));
        }
        // What is outside and what does not exist get the same words, so that clients cannot learn what else is on
        // the machine.
        Ok(self.open.iter().find_map(|root| open(&root.folder, root.relative(path)?)))
    }

    fn nowhere(&self, path: &str) -> Problem {
        let path = eog_evidence::shorten(path, 200);
        let mut message = format!(
            "{path}: nothing of that name below {}; paths that lead outside, by `..` or by a link, \
             are refused",
            self.named()
        );
        let there = self.inside();
        if !there.is_empty() {
            message += &format!("; there are: {}", there.join(", "));
        }
        Problem::Path(message)
    }

    fn named(&self) -> String {
        let roots: Vec<String> =
            self.folders.iter().map(|root| root.display().to_string()).collect();
        roots.join(", ")
    }

    /// The folders right below the roots, by name.
    pub(super) fn inside(&self) -> Vec<String> {
        let entries = self.open.iter().filter_map(|root| root.folder.entries("").ok()).flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.is_folder)
            .map(|entry| entry.name)
            .filter(|name| !name.starts_with('.') && !is_ground_truth(name))
            .collect();
        names.sort();
        names.truncate(MAX_NAMED);
        names
    }
}

impl Root {
    /// A path as seen from this root; nothing for an absolute one that begins elsewhere.
    fn relative<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_relative() {
            return Some(path);
        }
        [self.folder.path(), &self.named].into_iter().find_map(|root| path.strip_prefix(root).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> (tempfile::TempDir, Roots) {
        let all = tempfile::tempdir().expect("a folder");
        for folder in ["open/one/deep", "secret/plan"] {
            std::fs::create_dir_all(all.path().join(folder)).expect("folders");
        }
        std::fs::write(all.path().join("open/file"), "x").expect("a file");
        let roots = Roots::open(&[all.path().join("open")]).expect("a root");
        (all, roots)
    }

    #[test]
    fn paths_below_a_root_are_found() {
        let (all, roots) = roots();
        let deep = all.path().join("open/one/deep").canonicalize().expect("it is there");
        for path in ["one/deep", "./one/../one/deep", deep.to_str().expect("utf-8")] {
            assert_eq!(roots.folder(Some(path)).expect(path).path(), deep);
        }
        assert_eq!(roots.folder(None).expect("the only root").path(), roots.folders()[0]);
        assert_eq!(roots.name(&deep), "one/deep");
        assert!(roots.folder(Some("file")).is_err(), "a file is no folder");
    }

    #[test]
    fn what_is_outside_is_reported_like_what_is_not_there() {
        let (all, roots) = roots();
        let outside = all.path().join("secret/plan");
        let outside = outside.to_str().expect("utf-8");
        let message = |path: &str| match roots.folder(Some(path)) {
            Err(problem) => problem.to_string().replacen(path, "PATH", 1),
            Ok(found) => panic!("{path} leads to {}", found.path().display()),
        };
        let absent = message("absent");
        let ways = ["../secret/../open/one", "../absent/../open/one", "one/../../secret"];
        for path in ["../secret/plan", outside, "/etc", "..", "~/x"].into_iter().chain(ways) {
            assert_eq!(message(path), absent, "{path}");
        }
        assert!(absent.contains("there are: one"), "{absent}");
        assert!(
            roots.folder(Some("a\0b")).is_err() && roots.folder(Some(&"a".repeat(5000))).is_err()
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_outside_are_refused() {
        let (all, roots) = roots();
        let link = |name: &str, target: &str| {
            std::os::unix::fs::symlink(target, all.path().join("open").join(name)).expect("a link");
        };
        link("escape", "../secret");
        link("inner", "one");
        assert!(
            roots.folder(Some("escape")).is_err() && roots.folder(Some("escape/plan")).is_err()
        );
        assert!(roots.folder(Some("inner/deep")).is_ok(), "links within a root are fine");
        std::fs::create_dir_all(all.path().join("open/ground_truth_1")).expect("a folder");
        assert!(
            roots.folder(Some("ground_truth_1")).is_err()
                && !roots.inside().contains(&"ground_truth_1".to_owned())
        );
    }
}
