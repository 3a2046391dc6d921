//! Live progress on standard error, when it is a terminal.

use std::sync::Arc;
use std::time::Duration;

use eog::{BoxFuture, Event, EventStream, QuestionKind};
use eog_llm::Notice;
use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, ModelInfo};
use eog_report::clean::{clean, clean_line};
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

    /// Who says on standard error what the calls of models wait for, terminal or not.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let bar = self.bar.clone();
        let tell = move |line: &str| {
            let line = format!("eog: {line}");
            bar.suspend(|| eprintln!("{}", clean_line(&line)));
        };
        (!self.quiet).then(|| Notice::new(tell))
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

    /// Says when a model is asked, and for what.
    pub(crate) fn of_model(&self, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        Arc::new(Announced { model, bar: self.bar.clone() })
    }

    /// Shows events until the engine has ended.
    pub(crate) async fn follow(&self, events: &mut EventStream) {
        let mut evaluations = 0_u64;
        while let Some(event) = events.next().await {
            match event {
                Event::Asking { about, kind } => {
                    let doing = match kind {
                        QuestionKind::Context => "reading",
                        QuestionKind::Policy => "judging",
                    };
                    self.say(&format!("{evaluations} evaluated; {doing} {about}"));
                }
                Event::Appended(entry) => evaluations += u64::from(entry.evaluation().is_some()),
                _ => {}
            }
        }
    }
}

/// A model whose calls are shown.
struct Announced {
    model: Arc<dyn ChatModel>,
    bar: ProgressBar,
}

impl ChatModel for Announced {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        // Judging has a message of its own.
        if request.phase != "explore" {
            let name = &self.model.info().name;
            self.bar.set_message(clean(&format!("asking {name}: {}", request.phase)).into_owned());
        }
        self.model.chat(request)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
