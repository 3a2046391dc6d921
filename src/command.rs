//! The command policy: any program that reads one packet and writes one decision.

use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::processes::ProcessGroup;

/// The most a program may write to standard output, in bytes.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;
/// How much of standard error goes into a failure, in bytes.
const STDERR_TAIL_BYTES: usize = 2 << 10;
/// How much of a wrong output is shown to the program in the correction round, in bytes.
const SHOWN_OUTPUT_BYTES: usize = 16 << 10;
/// How much of the errors in an output goes into a failure, in characters.
const MAX_ERROR_CHARS: usize = 500;
/// How long the outputs of a program that has ended are read on, if another process holds them
/// open.
const LEFT_OPEN: Duration = Duration::from_millis(500);
/// The exit code of a program that asks to be started again later: `EX_TEMPFAIL` of sysexits.h.
const EX_TEMPFAIL: i32 = 75;

/// Asks a program: one packet as JSON on standard input, one decision as JSON on standard output.
///
/// The program is started anew for each packet. When its output is not a decision, it is asked
/// once more: the same packet with one more field, `"correction": {"output": …, "error": …}`,
/// that shows what it wrote and what was wrong. Output that is still invalid is a recorded
/// failure, and so is an exit code other than 0. Code 75 (`EX_TEMPFAIL`) says that asking again
/// later may help, as when a service is busy: the failure is
/// [transient](crate::Failure::transient), and the engine tries again as often as
/// [`Limits::retry`](crate::Limits::retry) allows. The time-out is the engine's
/// [`Limits::policy_timeout`](crate::Limits::policy_timeout) and covers a question with its
/// correction. A program has answered when it has ended, even if one that it started still holds its
/// outputs open; that is killed then. When the time-out expires, or the investigation is cancelled, the program is killed, on Unix
/// with every program that it started in its process group.
///
/// ```
/// use eog::CommandPolicy;
/// let policy = CommandPolicy::new("./triage.py").arg("--strict");
/// # let _ = policy;
/// ```
#[derive(Clone, Debug)]
pub struct CommandPolicy {
    program: OsString,
    arguments: Vec<OsString>,
    hidden: Vec<OsString>,
}

impl CommandPolicy {
    /// A policy that runs this program. No shell is involved.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), hidden: Vec::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Keeps a variable of the environment from the program, such as a key that belongs to another. It
    /// gets all others.
    #[must_use]
    pub fn without_variable(mut self, name: impl Into<OsString>) -> Self {
        self.hidden.push(name.into());
        self
    }

    async fn ask(&self, packet: &ContextPacket) -> Result<Answer, Failure> {
        let mut question = serde_json::to_value(packet).map_err(unwritable)?;
        let first = self.run(&to_json(&question)?).await?;
        let error = match parse(&first) {
            Ok(decision) => return Ok(decision.into()),
            Err(error) => error,
        };
        let shown = String::from_utf8_lossy(&first[..first.len().min(SHOWN_OUTPUT_BYTES)]);
        question["correction"] = serde_json::json!({ "output": shown, "error": error });
        let second = self.run(&to_json(&question)?).await?;
        parse(&second).map(Answer::from).map_err(|error| {
            Failure::policy(format!("{} wrote no valid decision: {error}", self.name()))
        })
    }

    /// Runs the program once and returns what it wrote.
    async fn run(&self, question: &[u8]) -> Result<Vec<u8>, Failure> {
        let cannot = |what: &str, error: std::io::Error| {
            Failure::policy(format!("{what} {}: {error}", self.name()))
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for name in &self.hidden {
            command.env_remove(name);
        }
        let (mut child, _group) =
            ProcessGroup::spawn(&mut command).map_err(|error| cannot("cannot start", error))?;
        let (output, stderr, status) = converse(&mut child, question)
            .await
            .map_err(|error| cannot("cannot talk to", error))?;
        if status.success() {
            Ok(output)
        } else {
            let stderr = String::from_utf8_lossy(&stderr);
            let said =
                if stderr.trim().is_empty() { "nothing on standard error" } else { stderr.trim() };
            let failure = Failure::policy(format!("{} ended with {status}: {said}", self.name()));
            let may_pass = status.code() == Some(EX_TEMPFAIL);
            Err(if may_pass { failure.transient() } else { failure })
        }
    }

    fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

impl AbductivePolicy for CommandPolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(self.ask(packet))
    }
}

/// Writes the question and reads both outputs at once, so that no pipe can fill up and stall.
///
/// When the program has ended, its output is complete. A process that it left behind may hold its outputs
/// open: that is not waited for.
async fn converse(
    child: &mut Child,
    question: &[u8],
) -> std::io::Result<(Vec<u8>, Vec<u8>, ExitStatus)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program may answer without reading everything; that is its own choice.
            let _ = stdin.write_all(question).await;
        }
        Ok(())
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let read_output = async {
        if let Some(stdout) = stdout {
            stdout.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut output).await?;
        }
        if output.len() as u64 > MAX_OUTPUT_BYTES {
            // Ends the conversation: a program that writes without end is not waited for.
            let limit = MAX_OUTPUT_BYTES >> 20;
            return Err(std::io::Error::other(format!("it wrote more than {limit} MiB")));
        }
        Ok(())
    };
    let read_errors = async {
        if let Some(mut stderr) = stderr {
            let mut buffer = [0; 1024];
            loop {
                let read = stderr.read(&mut buffer).await?;
                if read == 0 {
                    break;
                }
                errors.extend_from_slice(&buffer[..read]);
                let excess = errors.len().saturating_sub(STDERR_TAIL_BYTES);
                errors.drain(..excess);
            }
        }
        Ok::<_, std::io::Error>(())
    };
    let mut talk = Box::pin(async { tokio::try_join!(write, read_output, read_errors) });
    let status = tokio::select! {
        talked = &mut talk => {
            talked?;
            child.wait().await?
        }
        status = child.wait() => {
            let status = status?;
            if let Ok(talked) = tokio::time::timeout(LEFT_OPEN, &mut talk).await {
                talked?;
            }
            status
        }
    };
    drop(talk);
    Ok((output, errors, status))
}

pub(crate) fn parse(output: &[u8]) -> Result<Decision, String> {
    serde_json::from_slice(output).map_err(|error| {
        if output.iter().all(u8::is_ascii_whitespace) {
            "the output is empty; expected one decision as JSON".to_owned()
        } else {
            // The error may quote the output at any length.
            let error: String = error.to_string().chars().take(MAX_ERROR_CHARS).collect();
            format!("the output is not a decision: {error}")
        }
    })
}

fn to_json(value: &serde_json::Value) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(unwritable)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands errors over by value")]
fn unwritable(error: serde_json::Error) -> Failure {
    Failure::policy(format!("the packet cannot be written as JSON: {error}"))
}
