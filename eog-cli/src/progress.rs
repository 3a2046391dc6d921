//! Live progress on standard error, when it is a terminal.

use std::time::Duration;

use eog::{Event, EventStream};
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::clean;

/// A spinner that says what is going on; silent when standard error is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn start(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    pub(crate) fn say(&self, message: &str) {
        self.0.set_message(clean(message).into_owned());
    }

    /// Shows how far the reading of a snapshot has come.
    pub(crate) fn of_reading(&self) -> eog_sre::Progress {
        let bar = self.0.clone();
        eog_sre::Progress::new(move |reading| {
            let percent = reading.done.saturating_mul(100) / reading.total.max(1);
            bar.set_message(format!("reading {} ({percent} %)", clean(reading.file)));
        })
    }

    /// Shows events until the engine has ended.
    pub(crate) async fn follow(&self, events: &mut EventStream) {
        let mut evaluations = 0_u64;
        while let Some(event) = events.next().await {
            match event {
                Event::Fetching { entity, .. } => {
                    self.say(&format!("{evaluations} evaluated; reading {entity}"));
                }
                Event::Deciding { entity } => {
                    self.say(&format!("{evaluations} evaluated; judging {entity}"));
                }
                Event::Appended(entry) => evaluations += u64::from(entry.evaluation().is_some()),
                _ => {}
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
