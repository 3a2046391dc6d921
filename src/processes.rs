//! A child process and all that it starts, as one thing that ends.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};

/// The groups that were not ended yet, by their leaders; nothing once all were ended for good. Locked
/// while one is started, so that [`end_all`] misses none.
static GROUPS: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

/// The processes that a program and its children form. On Unix all of them are killed when this goes
/// out of scope, so that none outlives what it was started for; elsewhere that is left to
/// [`Command::kill_on_drop`].
#[derive(Debug)]
pub struct ProcessGroup(Option<u32>);

impl ProcessGroup {
    /// Starts a program as the leader of a group of its own.
    ///
    /// # Errors
    /// Why the program cannot be started: after [`end_all`] none can.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        #[cfg(unix)]
        command.process_group(0);
        let mut groups = groups();
        let Some(groups) = &mut *groups else {
            return Err(io::Error::other("this process is ending"));
        };
        let child = command.spawn()?;
        groups.extend(child.id());
        let group = Self(child.id());
        Ok((child, group))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            if let Some(groups) = &mut *groups() {
                groups.remove(&leader);
            }
            kill(leader);
        }
    }
}

/// Kills every group of this process and lets no further one begin, for a program that ends without
/// anything going out of scope.
pub fn end_all() {
    groups().take().into_iter().flatten().for_each(kill);
}

fn groups() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(leader: u32) {
    #[cfg(unix)]
    if let Some(leader) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        // Fails when all have ended already, which is what is wanted.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn all_groups_end_with_what_they_started() {
        let mut command = Command::new("sh");
        // The pipe stays open as long as one of the two has it.
        command.args(["-c", "sleep 3600 & echo started; wait"]).stdout(Stdio::piped());
        let (mut child, group) = ProcessGroup::spawn(&mut command).unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut said = [0; 8];
        output.read_exact(&mut said).await.unwrap();
        end_all();
        let mut rest = Vec::new();
        let rest = tokio::time::timeout(Duration::from_secs(30), output.read_to_end(&mut rest));
        rest.await.expect("both are killed").unwrap();
        assert!(ProcessGroup::spawn(&mut Command::new("true")).is_err(), "none begins any more");
        drop(group);
    }
}
