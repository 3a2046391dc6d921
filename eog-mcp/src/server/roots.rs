//! The folders below which clients may name paths.

use std::path::{Path, PathBuf};

use super::error::{Problem, ServeError};

/// Longest path that a client may name, in bytes.
const MAX_PATH: usize = 4096;

/// Folders that are named when a path leads nowhere.
const MAX_NAMED: usize = 12;

/// The folders below which clients may name paths, without links in them.
#[derive(Debug)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    pub(super) fn open(folders: &[PathBuf]) -> Result<Self, ServeError> {
        if folders.is_empty() {
            return Err(ServeError::NoRoot);
        }
        let canonical = |folder: &PathBuf| {
            let unusable = |reason: String| ServeError::Root { path: folder.clone(), reason };
            let real = folder.canonicalize().map_err(|error| unusable(error.to_string()))?;
            if real.is_dir() { Ok(real) } else { Err(unusable("it is not a folder".to_owned())) }
        };
        folders.iter().map(canonical).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    /// The folder that a path means: an absolute one below a root, or one relative to a root (the
    /// first that has it). Nothing stands for the root, if there is only one.
    pub(super) fn folder(&self, path: Option<&str>) -> Result<PathBuf, Problem> {
        let found = self.find(path)?;
        match found.is_dir() {
            true => Ok(found),
            false => Err(Problem::Path(format!(
                "{}: this is a file; name the folder of a bundle or snapshot",
                path.unwrap_or(".")
            ))),
        }
    }

    /// The file that a path means, found as for [`Roots::folder`].
    pub(super) fn file(&self, path: &str) -> Result<PathBuf, Problem> {
        let found = self.find(Some(path))?;
        match found.is_file() {
            true => Ok(found),
            false => Err(Problem::Path(format!("{path}: this is no file"))),
        }
    }

    /// Whether a path that was found earlier, perhaps by another server, may be read here.
    pub(super) fn allow(&self, path: &Path) -> Result<PathBuf, Problem> {
        let shown = path.display().to_string();
        path.canonicalize().ok().filter(|real| self.holds(real)).ok_or_else(|| self.nowhere(&shown))
    }

    /// What a path is called towards clients: relative to its root, or in full if several roots
    /// have it.
    pub(super) fn name(&self, path: &Path) -> String {
        let inside = self.0.iter().find_map(|root| path.strip_prefix(root).ok());
        match inside {
            Some(rest) if rest.as_os_str().is_empty() && self.0.len() == 1 => ".".to_owned(),
            Some(rest)
                if !rest.as_os_str().is_empty()
                    && self.folder(rest.to_str()).is_ok_and(|found| found == path) =>
            {
                rest.display().to_string()
            }
            _ => path.display().to_string(),
        }
    }

    fn find(&self, path: Option<&str>) -> Result<PathBuf, Problem> {
        let Some(path) = path else {
            return match &self.0[..] {
                [only] => Ok(only.clone()),
                _ => Err(Problem::Path(format!(
                    "name a folder, for this server has several roots: {}",
                    self.named()
                ))),
            };
        };
        if path.len() > MAX_PATH || path.contains('\0') {
            return Err(Problem::Path(format!(
                "the path is longer than {MAX_PATH} bytes or holds a zero byte; name a folder below \
                 {}",
                self.named()
            )));
        }
        let real = |root: &PathBuf| root.join(path).canonicalize().ok();
        // Joining an absolute path gives that path. What is outside and what does not exist get the
        // same words, so that nobody learns what else is on the machine.
        self.0
            .iter()
            .filter_map(real)
            .find(|found| self.holds(found))
            .ok_or_else(|| self.nowhere(path))
    }

    fn holds(&self, real: &Path) -> bool {
        self.0.iter().any(|root| real.starts_with(root))
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
        let roots: Vec<String> = self.0.iter().map(|root| root.display().to_string()).collect();
        roots.join(", ")
    }

    /// The folders right below the roots, by name.
    pub(super) fn inside(&self) -> Vec<String> {
        let entries = self.0.iter().filter_map(|root| root.read_dir().ok()).flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names.truncate(MAX_NAMED);
        names
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
            assert_eq!(roots.folder(Some(path)).expect(path), deep);
        }
        assert_eq!(roots.folder(None).expect("the only root"), roots.folders()[0]);
        assert_eq!(roots.name(&deep), "one/deep");
        assert!(roots.folder(Some("file")).is_err(), "a file is no folder");
    }

    #[test]
    fn what_is_outside_looks_like_what_is_not_there() {
        let (all, roots) = roots();
        let outside = all.path().join("secret/plan");
        let outside = outside.to_str().expect("utf-8");
        let message = |path: &str| match roots.folder(Some(path)) {
            Err(problem) => problem.to_string().replacen(path, "PATH", 1),
            Ok(found) => panic!("{path} leads to {}", found.display()),
        };
        let absent = message("absent");
        for path in ["../secret/plan", outside, "/etc", "..", "one/../../secret", "~/x"] {
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
            std::os::unix::fs::symlink(all.path().join(target), all.path().join("open").join(name))
                .expect("a link");
        };
        link("escape", "secret");
        link("inner", "open/one");
        assert!(
            roots.folder(Some("escape")).is_err() && roots.folder(Some("escape/plan")).is_err()
        );
        assert!(roots.folder(Some("inner/deep")).is_ok(), "links within a root are fine");
    }
}
