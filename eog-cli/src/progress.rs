//! Live progress on standard error, when it is a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::shown::clean_line;
use eog::machine::QuestionKind;
use eog::stress::StressProgress as Stressing;
use eog_report::clean::clean;
use eog_session::{Listener, Step};
use indicatif::{ProgressBar, ProgressStyle};

/// A spinner that says what is going on; silent when standard error is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    pub(crate) fn start(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, quiet }
    }

    /// What is on the terminal.
    pub(crate) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Shows what goes on.
    pub(crate) fn listener(&self) -> Arc<dyn Listener> {
        let evaluations = AtomicU64::new(0);
        Arc::new(Shown { bar: self.bar.clone(), quiet: self.quiet, evaluations })
    }

    pub(crate) fn say(&self, message: &str) {
        self.bar.set_message(clean(message).into_owned());
    }

    /// Shows how far the reading of a snapshot has come.
    pub(crate) fn of_reading(&self) -> eog_sre::Progress {
        let bar = self.bar.clone();
        eog_sre::Progress::new(move |reading| {
            let percent = reading.done.saturating_mul(100) / reading.total.max(1);
            bar.set_message(format!("reading {} ({percent} %)", clean(reading.file)));
        })
    }
}

/// What goes on, on the terminal.
struct Shown {
    bar: ProgressBar,
    quiet: bool,
    evaluations: AtomicU64,
}

impl Shown {
    fn say(&self, message: &str) {
        self.bar.set_message(clean(message).into_owned());
    }
}

impl Listener for Shown {
    fn step(&self, step: &Step) {
        match step {
            Step::Asking { about, kind } => {
                let doing = match kind {
                    QuestionKind::Context => "reading",
                    QuestionKind::Policy => "judging",
                };
                let evaluations = self.evaluations.load(Ordering::Relaxed);
                self.say(&format!("{evaluations} evaluated; {doing} {about}"));
            }
            Step::Stored { judged: true, .. } => {
                self.evaluations.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn asking_model(&self, model: &str, phase: &str) {
        // Judging has a message of its own.
        if phase != "explore" {
            self.say(&format!("calling {model}: {phase}"));
        }
    }

    /// What the calls of models wait for, terminal or not.
    fn notice(&self, line: &str) {
        if !self.quiet {
            let line = format!("eog: {line}");
            self.bar.suspend(|| eprintln!("{}", clean_line(&line)));
        }
    }

    fn stressing(&self, progress: Stressing) {
        self.say(&match progress {
            Stressing::Baseline => "running the baseline".to_owned(),
            Stressing::Run { number, of, differing } => {
                format!("run {number} of {of}; {differing} with a different result")
            }
            Stressing::Shrinking { number, at_most } => {
                format!("shrinking the difference: run {number} of at most {at_most}")
            }
            _ => "working".to_owned(),
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
