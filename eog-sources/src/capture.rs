//! A capture: asks every source, keeps each answer, and writes all of it as an incident.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::Path;

use eog_core::{Timestamp, Window};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::alertmanager::{Alertmanager, SentAlert};
use crate::config::{Limits, SourceConfig};
use crate::error::{AskError, CaptureError};
use crate::jaeger::{Jaeger, distinct};
use crate::kubernetes::Kubernetes;
use crate::log_stores::LogStore;
use crate::otlp::Otlp;
use crate::period::Period;
use crate::piece::Piece;
use crate::prometheus::Prometheus;
use crate::report::{CaptureReport, REPORT, SourceReport};
use crate::store::{Store, write};
use crate::tempo::Tempo;
use crate::{bundle, changes, place, resolve, upstreams};

/// Receives progress updates of a capture: one line for each question that was answered.
pub type Progress<'a> = &'a dyn Fn(&str);

/// Asks every source of a configuration and writes what they say into a folder, as a bundle.
/// What was missing is in `capture.json`, and given back.
///
/// `window` is the time to investigate; what lies before is captured as well, as the configuration says.
/// Without it, it is the last part of the time up to `now`. A capture that was interrupted goes on if it is
/// begun again with the same configuration, window and folder.
///
/// # Errors
/// [`CaptureError`] when the folder cannot be used or no source gave anything.
pub async fn capture(
    config: &SourceConfig,
    window: Option<Window>,
    now: Timestamp,
    out: &Path,
    progress: Progress<'_>,
) -> Result<CaptureReport, CaptureError> {
    capture_for(config, &[], window, now, out, progress).await
}

/// The same for alerts that a client has sent: they are a part of what is captured, whether a source knows
/// them or not.
///
/// # Errors
/// As for [`capture`].
pub async fn capture_for(
    config: &SourceConfig,
    alerts: &[SentAlert],
    window: Option<Window>,
    now: Timestamp,
    out: &Path,
    progress: Progress<'_>,
) -> Result<CaptureReport, CaptureError> {
    // What cannot be configured leaves no folder behind.
    let cluster = match &config.kubernetes {
        Some(of) => Some(Kubernetes::open(of).await?),
        None => None,
    };
    let store = Store::open(out, &config.text, window, now)?;
    if store.goes_on {
        progress("going on with a capture that was interrupted");
    }
    let now = store.plan.now;
    let period = Period::of(window, alerts, config.history, now);
    let captured = as_window(period).ok_or_else(|| CaptureError::Folder {
        path: out.to_owned(),
        reason: "the window lies in the future: nothing can be captured yet".to_owned(),
    })?;
    let mut report = CaptureReport::new(&config.name, window, captured);
    let until = Instant::now() + config.limits.total.unsigned_abs();
    let mut all = Piece::default();
    let mut asked = Asked { store: &store, until, progress, report: &mut report, all: &mut all };
    if let Some(of) = &config.prometheus {
        let source = Prometheus::new(of, config)?;
        let mut parts = asked.begin("prometheus", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if let Some(of) = &config.alertmanager {
        let source = Alertmanager::new(of)?;
        let mut parts = asked.begin("alertmanager", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if let Some(source) = &cluster {
        let mut parts = asked.begin("kubernetes", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if let Some(of) = &config.otlp {
        let source = Otlp::new(of, config);
        let mut parts = asked.begin("otlp", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if let Some(of) = &config.jaeger {
        let source = Jaeger::new(of, config)?;
        let mut parts = asked.begin("jaeger", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if let Some(of) = &config.tempo {
        let source = Tempo::new(of, config)?;
        let mut parts = asked.begin("tempo", source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    for (store, of) in config.log_stores() {
        let source = LogStore::new(store, of, config)?;
        let mut parts = asked.begin(store.name(), source.place());
        source.capture(period, &mut parts).await;
        asked.end(parts, &config.limits)?;
    }
    if report.sources.iter().all(|source| source.answered == 0) {
        // The next try is to begin anew, with the time that it is then.
        store.abandon(out);
        return Err(CaptureError::Nothing(report.missing));
    }
    crate::alertmanager::sent(alerts, period, &mut all);
    changes::read(config, period, &mut all);
    report.missing.append(&mut all.missing);
    report.notes.append(&mut all.notes);
    report.notes.extend(upstreams::infer(&mut all));
    finish(config, &mut report, all, out)?;
    // Written last: a folder that has it is whole.
    write(&out.join(REPORT), &report)?;
    store.finish()?;
    Ok(report)
}

/// Joins what sources said, says what each alert is about, and writes all of it.
pub(crate) fn finish(
    config: &SourceConfig,
    report: &mut CaptureReport,
    mut all: Piece,
    out: &Path,
) -> Result<(), CaptureError> {
    resolve::names(&mut all);
    place::alerts(&mut all, &config.service_labels(), &config.topology);
    count(&all, report);
    // An alert without a place may be why nothing is found: it is said first.
    let left = bundle::write(config, report, all, out)?;
    report.missing.splice(0..0, left);
    Ok(())
}

fn as_window(period: Period) -> Option<Window> {
    let [start, end] = [period.from, period.until].map(Timestamp::from_millisecond);
    Window::new(start.ok()?, end.ok()?).ok().filter(|_| period.from < period.until)
}

fn count(all: &Piece, report: &mut CaptureReport) {
    report.count("alerts", all.alerts.len());
    report.count("changes", all.changes.len());
    report.count("events", all.events.len());
    report.count("states of objects", all.states.len());
    report.count("series", all.series.len());
    report.count("points", all.points());
    report.count("spans", all.spans.len());
    report.count("log lines", all.lines.len());
}

/// What was asked so far.
struct Asked<'a> {
    store: &'a Store,
    until: Instant,
    progress: Progress<'a>,
    report: &'a mut CaptureReport,
    all: &'a mut Piece,
}

impl<'a> Asked<'a> {
    fn begin(&self, source: &'static str, place: String) -> Parts<'a> {
        (self.progress)(&format!("asking {source} at {place}"));
        Parts {
            source,
            place,
            store: self.store,
            until: self.until,
            progress: self.progress,
            pieces: Vec::new(),
            missing: RefCell::default(),
            away: RefCell::default(),
            unwritten: RefCell::default(),
            asked: Cell::new(0),
            answered: Cell::new(0),
        }
    }

    /// Takes over what a source said, up to the bounds of the whole.
    fn end(&mut self, parts: Parts<'_>, limits: &Limits) -> Result<(), CaptureError> {
        if let Some(error) = parts.unwritten.into_inner() {
            return Err(error);
        }
        self.report.sources.push(SourceReport {
            source: parts.source.to_owned(),
            place: parts.place,
            asked: parts.asked.get(),
            answered: parts.answered.get(),
        });
        self.report.missing.extend(parts.missing.into_inner());
        for (name, mut piece) in parts.pieces {
            for missing in piece.missing.drain(..) {
                self.report.missing.push(format!("{name}: {missing}"));
            }
            let points = self.all.points() + piece.points();
            let series = self.all.series.len() + piece.series.len();
            if points > limits.points || series > limits.series {
                let (most, what) = match points > limits.points {
                    true => (limits.points, "points"),
                    false => (limits.series, "series"),
                };
                let left = piece.series.len();
                piece.series.clear();
                self.report.missing.push(format!(
                    "{name}: its {left} series are left out, beyond {most} {what} in all (limits.{what})"
                ));
            }
            self.all.join(piece);
        }
        Ok(())
    }
}

/// The questions to one source and their answers.
pub(crate) struct Parts<'a> {
    source: &'static str,
    place: String,
    store: &'a Store,
    until: Instant,
    progress: Progress<'a>,
    pieces: Vec<(String, Piece)>,
    missing: RefCell<Vec<String>>,
    /// Why nothing more is asked.
    away: RefCell<Option<AskError>>,
    unwritten: RefCell<Option<CaptureError>>,
    asked: Cell<u64>,
    answered: Cell<u64>,
}

impl Parts<'_> {
    /// A value that further questions rest on.
    pub(crate) async fn value<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        what: &str,
        ask: impl AsyncFn() -> Result<T, AskError>,
    ) -> Option<T> {
        self.one(name, ask()).await.map_err(|error| self.miss(what, &error)).ok()
    }

    /// One question.
    pub(crate) async fn piece(
        &mut self,
        name: &str,
        ask: impl AsyncFn() -> Result<Piece, AskError>,
    ) -> Option<&Piece> {
        let piece = self.value(name, name, ask).await?;
        self.pieces.push((name.to_owned(), piece));
        self.pieces.last().map(|(_, piece)| piece)
    }

    /// Takes over what was made of several answers.
    pub(crate) fn made(&mut self, name: &str, piece: Piece) {
        self.pieces.push((name.to_owned(), piece));
    }

    /// Keeps the first of each span.
    pub(crate) fn distinct_spans(&mut self) {
        distinct(&mut self.pieces);
    }

    /// Many questions, a few at once; the answers are in the order of the questions.
    pub(crate) async fn all<F: Future<Output = Result<Piece, AskError>>>(
        &mut self,
        questions: impl ExactSizeIterator<Item = (String, F)>,
        limits: &Limits,
    ) {
        let (this, count) = (&*self, questions.len());
        let mut found = Vec::new();
        let asked = questions.map(|(name, ask)| async move {
            let found = this.one(&name, ask).await;
            (name, found)
        });
        let mut answers = stream::iter(asked).buffered(limits.concurrency);
        // Answers come in the order of the questions, so that the same are left out each time.
        let mut spans = 0;
        while let Some((name, answer)) = answers.next().await {
            spans += answer.as_ref().map_or(0, |piece| piece.spans.len());
            found.push((name, answer));
            if spans > limits.spans {
                break;
            }
        }
        drop(answers);
        if found.len() < count {
            let (left, most) = (count - found.len(), limits.spans);
            let text = format!(
                "{}: {left} questions were not asked, beyond {most} spans (limits.spans)",
                self.source
            );
            self.missing.borrow_mut().push(text);
        }
        for (name, found) in found {
            match found {
                Ok(piece) => self.pieces.push((name, piece)),
                Err(error) => self.miss(&name, &error),
            }
        }
    }

    async fn one<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        ask: impl Future<Output = Result<T, AskError>>,
    ) -> Result<T, AskError> {
        self.asked.set(self.asked.get() + 1);
        if let Some(known) = self.store.recall::<T>(name) {
            self.answered.set(self.answered.get() + 1);
            return Ok(known);
        }
        if self.away.borrow().is_some() {
            return Err(AskError::NotAsked("the source was not reachable"));
        }
        let out_of_time = AskError::NotAsked("the time for all of it was over (limits.total)");
        if self.until <= Instant::now() {
            return Err(out_of_time);
        }
        let answer = match tokio::time::timeout_at(self.until, ask).await {
            Ok(answer) => answer,
            Err(_) => Err(out_of_time),
        };
        match &answer {
            Ok(answer) => {
                self.answered.set(self.answered.get() + 1);
                (self.progress)(name);
                if let Err(error) = self.store.keep(name, answer) {
                    *self.unwritten.borrow_mut() = Some(error);
                }
            }
            Err(error @ AskError::Away(_)) => *self.away.borrow_mut() = Some(error.clone()),
            Err(_) => {}
        }
        answer
    }

    fn miss(&self, what: &str, error: &AskError) {
        let (source, mut missing) = (self.source, self.missing.borrow_mut());
        let what = what.strip_prefix(source).map_or(what, str::trim_start);
        let text = format!("{source}: {what}: {error}");
        // One reason for many questions is reported once.
        let is_known = matches!(error, AskError::NotAsked(_))
            && missing.iter().any(|known| known.ends_with(&error.to_string()));
        if !is_known {
            missing.push(text);
        }
    }
}

/// What a source offers, or why it cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The name of its table in the configuration.
    pub source: &'static str,
    /// Where it is, without credentials.
    pub place: String,
    /// What it offers, a line each; or why it cannot be asked.
    pub found: Result<Vec<String>, String>,
}

/// Asks each source of a configuration what it offers. Nothing is written.
///
/// # Errors
/// [`CaptureError::Config`] when the configuration cannot be used.
pub async fn offers(config: &SourceConfig, now: Timestamp) -> Result<Vec<Offer>, CaptureError> {
    let period = Period::of(None, &[], config.history, now);
    let mut all = Vec::new();
    let offer = |source, place, found: Result<Vec<String>, AskError>| Offer {
        source,
        place,
        found: found.map_err(|error| error.to_string()),
    };
    if let Some(of) = &config.prometheus {
        let source = Prometheus::new(of, config)?;
        all.push(offer("prometheus", source.place(), source.offer(period).await));
    }
    if let Some(of) = &config.alertmanager {
        let source = Alertmanager::new(of)?;
        all.push(offer("alertmanager", source.place(), source.offer().await));
    }
    if let Some(of) = &config.kubernetes {
        let source = Kubernetes::open(of).await?;
        all.push(offer("kubernetes", source.place(), source.offer().await));
    }
    if let Some(of) = &config.otlp {
        let source = Otlp::new(of, config);
        all.push(offer("otlp", source.place(), source.offer()));
    }
    if let Some(of) = &config.jaeger {
        let source = Jaeger::new(of, config)?;
        all.push(offer("jaeger", source.place(), source.offer().await));
    }
    if let Some(of) = &config.tempo {
        let source = Tempo::new(of, config)?;
        all.push(offer("tempo", source.place(), source.offer(period).await));
    }
    for (store, of) in config.log_stores() {
        let source = LogStore::new(store, of, config)?;
        all.push(offer(store.name(), source.place(), source.offer(period).await));
    }
    for (place, found) in changes::offers(config) {
        all.push(Offer { source: "changes", place, found });
    }
    Ok(all)
}
