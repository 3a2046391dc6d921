//! Ctrl-C, SIGTERM and SIGHUP: handled from the first request for them until the program ends, so that none is lost
//! between two stages of a run. A second one ends the program at once, with every process that it started.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use eog_session::run::{Cancel, Ended, RunError};
use indicatif::ProgressBar;
use tokio::sync::watch;

use crate::error::Exit;

/// How long the last words may take.
const SAYING: Duration = Duration::from_millis(500);
/// Whether the program is to end.
static WANTED: OnceLock<watch::Sender<bool>> = OnceLock::new();
/// What is on the terminal while no run handles signals, and nothing can be lost by ending.
static IDLE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Resolves when the person or the system wants the program to end; at once if that was so before.
///
/// Signals are handled from this call on, not only once the future is polled: a server polls it after it answered
/// its first request.
pub(crate) fn interrupted() -> impl Future<Output = ()> + Send + 'static {
    let mut wanted = wanted().subscribe();
    async move {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Makes a run; Ctrl-C cancels it.
pub(crate) async fn cancelling(
    cancel: &Cancel,
    run: impl Future<Output = Result<Ended, RunError>>,
) -> Result<Ended, RunError> {
    let interrupt = async {
        interrupted().await;
        cancel.cancel();
        std::future::pending().await
    };
    tokio::select! {
        ended = run => ended,
        never = interrupt => never,
    }
}

/// Whether the program is to end, for work that polls now and then. Signals are handled from the first call on.
pub(crate) fn is_interrupted() -> bool {
    *wanted().borrow()
}

/// Until this is dropped, a signal ends the program at once, with the progress cleared.
pub(crate) struct EndsAtOnce(());

impl EndsAtOnce {
    pub(crate) fn with(bar: ProgressBar) -> Self {
        wanted();
        *idle() = Some(bar);
        Self(())
    }
}

impl Drop for EndsAtOnce {
    fn drop(&mut self) {
        *idle() = None;
    }
}

fn idle() -> MutexGuard<'static, Option<ProgressBar>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wanted() -> &'static watch::Sender<bool> {
    WANTED.get_or_init(|| {
        let (sender, _) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        let notified = sender.clone();
        // Signals come while the other threads are busy, too. Without this thread they end the
        // program as they do any other.
        let thread = std::thread::Builder::new().name("signals".to_owned());
        if thread.spawn(move || listen(&notified, &ready)).is_ok() {
            // It fails where the thread could not listen, which is as above.
            let _ = is_ready.recv();
        }
        sender
    })
}

/// Handles every signal, for as long as the program runs.
fn listen(wanted: &watch::Sender<bool>, ready: &mpsc::Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    runtime.block_on(async {
        let Ok(mut signals) = Signals::new() else { return };
        let _ = ready.send(());
        loop {
            signals.next().await;
            if wanted.send_replace(true) {
                // The second, at once and without a word: the reader of standard error may be what is waited for.
                eog::processes::end_all();
                std::process::exit(Exit::Interrupted as i32);
            }
            if let Some(bar) = idle().take() {
                // The reader may have stalled: not waited for longer than a moment.
                let (done, is_done) = mpsc::channel();
                std::thread::spawn(move || {
                    bar.finish_and_clear();
                    eprintln!("eog: interrupted before the investigation began");
                    let _ = done.send(());
                });
                let _ = is_done.recv_timeout(SAYING);
                std::process::exit(Exit::Interrupted as i32);
            }
        }
    });
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            Some(()) = interrupt.recv() => {}
            Some(()) = terminate.recv() => {}
            Some(()) = hangup.recv() => {}
            else => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_not_waited_for_is_remembered() {
        wanted();
        let id = std::process::id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill is there").success());
        // It comes when it comes; without it this never ends.
        while !*wanted().borrow() {
            std::thread::yield_now();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(interrupted());
    }

    #[test]
    #[ignore = "run by the next test, in a process of its own"]
    fn reads_without_end() {
        let _ends = EndsAtOnce::with(ProgressBar::hidden());
        println!("reading");
        loop {
            std::thread::park();
        }
    }

    #[test]
    #[ignore = "run by the last test, in a process of its own"]
    fn reads_while_its_output_is_not_read() {
        let _ends = EndsAtOnce::with(ProgressBar::hidden());
        // Fills standard error, and holds its lock from then on.
        std::thread::spawn(|| {
            let mut full = std::io::stderr().lock();
            let block = [b'x'; 4096];
            let mut written = 0_usize;
            while std::io::Write::write_all(&mut full, &block).is_ok() {
                written += block.len();
                // More than this no pipe holds here, so the next one blocks.
                if written == 64 * 1024 - block.len() {
                    println!("reading");
                }
            }
        });
        loop {
            std::thread::park();
        }
    }

    /// This program with one of the tests above, once that reads.
    fn reading(test: &str) -> std::process::Child {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};

        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "--nocapture", &format!("interrupt::tests::{test}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let printed = BufReader::new(child.stdout.take().expect("piped"));
        let reads = |line: std::io::Result<String>| line.is_ok_and(|it| it.contains("reading"));
        assert!(printed.lines().any(reads), "it never reads");
        child
    }

    fn interrupt(child: &std::process::Child) {
        let id = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill is there").success());
    }

    #[test]
    fn one_signal_ends_the_program_though_its_output_is_not_read() {
        let mut child = reading("reads_while_its_output_is_not_read");
        interrupt(&child);
        // Patience for a busy machine, not a measure.
        let ended = (0..1200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(50));
            child.try_wait().expect("it is ours")
        });
        if ended.is_none() {
            let _ = child.kill();
        }
        assert_eq!(ended.and_then(|status| status.code()), Some(130));
    }

    #[test]
    fn a_signal_while_files_are_read_ends_the_program() {
        use std::io::Read;

        let mut child = reading("reads_without_end");
        interrupt(&child);
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        assert_eq!(said, "eog: interrupted before the investigation began\n");
    }
}
