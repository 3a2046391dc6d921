//! A child process and all that it starts, as one thing that ends.

use std::io;

use tokio::process::{Child, Command};

/// The processes that a program and its children form. On Unix all of them are killed when this goes
/// out of scope, so that none outlives what it was started for; elsewhere that is left to
/// [`Command::kill_on_drop`].
#[derive(Debug)]
pub struct ProcessGroup(Option<u32>);

impl ProcessGroup {
    /// Starts a program as the leader of a group of its own.
    ///
    /// # Errors
    /// Why the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let group = Self(child.id());
        Ok((child, group))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|id| i32::try_from(id).ok())
            && let Some(leader) = rustix::process::Pid::from_raw(leader)
        {
            // Fails when all have ended already, which is what is wanted.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
