//! Messages on their way: on disk before any receiver is called, tried again until they arrive or are given up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::durable::{self, Disk};
use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Webhook;
use crate::incident::is_due_at;
use crate::message::Message;
use crate::metrics::{Kind, Metrics};
use crate::template::Form;

/// The version of the files.
const VERSION: u32 = 1;
/// Longest time between two tries.
const MAX_DELAY: SignedDuration = SignedDuration::from_mins(10);
/// Longest time until a next try, of those that receivers may ask for.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_hours(1);
/// Longest file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// A message to one receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    version: u32,
    to: String,
    id: String,
    media_type: String,
    body: String,
    /// Tries so far.
    tried: u32,
    /// When it is tried next.
    next_at: Timestamp,
    /// What came of the last try.
    last: Option<String>,
    /// The incident of the receiver that it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
}

/// What is to be done when: by receiver, the files with their times.
type Waiting = BTreeMap<String, BTreeMap<String, Timestamp>>;

/// Messages on their way. Clones are the same.
#[derive(Clone)]
pub(crate) struct Outbox(Arc<Shared>);

struct Shared {
    disk: Arc<dyn Disk>,
    clock: Clock,
    waiting: PathBuf,
    dead: PathBuf,
    webhooks: Vec<Webhook>,
    index: Mutex<Waiting>,
    news: Notify,
    metrics: Arc<Metrics>,
}

impl Outbox {
    /// Opens the folder. What waits there is delivered.
    ///
    /// # Errors
    /// What cannot be used, and why.
    pub(crate) fn open(
        folder: &Path,
        webhooks: Vec<Webhook>,
        metrics: Arc<Metrics>,
        disk: Arc<dyn Disk>,
        clock: Clock,
    ) -> Result<Self, String> {
        let (waiting, dead) = (folder.join("outbox"), folder.join("dead"));
        for folder in [&waiting, &dead] {
            durable::create_folders(&*disk, folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let mut index = Waiting::new();
        let entries = waiting.read_dir().map_err(|it| format!("{}: {it}", waiting.display()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".json") {
                continue;
            }
            match read(&entry.path()) {
                Ok(letter) => {
                    index.entry(letter.to).or_default().insert(name, letter.next_at);
                }
                // It cannot be delivered; people may inspect it.
                Err(reason) => {
                    put_aside(&*disk, &entry.path(), &dead, &reason);
                }
            }
        }
        for (to, messages) in &index {
            if !webhooks.iter().any(|webhook| webhook.name == *to) {
                let count = messages.len();
                tracing::warn!(
                    ?to,
                    count,
                    "messages are waiting for a webhook that is no longer configured"
                );
            }
        }
        let shared = Shared {
            disk,
            clock,
            waiting,
            dead,
            webhooks,
            index: Mutex::new(index),
            news: Notify::new(),
            metrics,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Stores a message for every receiver. The same message again takes the place of the first.
    /// Blocks.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub(crate) fn put(&self, message: &Message, now: Timestamp) -> Result<(), String> {
        for webhook in &self.0.webhooks {
            let about = match webhook.body.form() {
                // A note belongs to an incident of PagerDuty: what others sent has none.
                Form::PagerDuty => match message.incident.pager_duty() {
                    Some(incident) => Some(incident),
                    None => continue,
                },
                _ => None,
            };
            let body = webhook.body.render(message)?;
            let letter = Letter {
                version: VERSION,
                to: webhook.name.clone(),
                id: message.id.clone(),
                media_type: webhook.body.media_type().to_owned(),
                body,
                tried: 0,
                next_at: now,
                last: None,
                about,
            };
            self.0.write(&letter)?;
            let name = file_name(&letter);
            self.0.index().entry(letter.to).or_default().insert(name, now);
        }
        self.0.news.notify_waiters();
        Ok(())
    }

    /// Delivers until it is to stop: to each receiver one message after the other.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let mut all = tokio::task::JoinSet::new();
        for at in 0..self.0.webhooks.len() {
            let (outbox, stop) = (self.clone(), stop.clone());
            all.spawn(async move { outbox.serve(at, stop).await });
        }
        all.join_all().await;
    }

    async fn serve(&self, at: usize, stop: CancellationToken) {
        let Some(webhook) = self.0.webhooks.get(at) else { return };
        loop {
            let news = self.0.news.notified();
            let next = self.0.next(&webhook.name);
            let now = self.0.clock.now();
            match next {
                Some((name, when)) if is_due_at(when, now, LONGEST_PAUSE) => {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return,
                        () = self.0.deliver(webhook, &name) => {}
                    }
                }
                other => {
                    let pause = other.map_or(SignedDuration::from_secs(60), |(_, when)| {
                        when.duration_since(now).min(SignedDuration::from_secs(60))
                    });
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return,
                        () = news => {}
                        () = tokio::time::sleep(pause.unsigned_abs()) => {}
                    }
                }
            }
        }
    }

    /// Brings the figures up to date. Blocks.
    pub(crate) fn measure(&self) {
        let count = |folder: &Path| folder.read_dir().map_or(0, Iterator::count);
        for (kind, folder) in [("waiting", &self.0.waiting), ("dead", &self.0.dead)] {
            let count = i64::try_from(count(folder)).unwrap_or(i64::MAX);
            self.0.metrics.messages.get_or_create(&Kind::of(kind)).set(count);
        }
    }

    /// Removes dead letters that are older than this. Blocks.
    pub(crate) fn forget(&self, before: std::time::SystemTime) {
        for entry in self.0.dead.read_dir().into_iter().flatten().flatten() {
            let written = entry.metadata().and_then(|meta| meta.modified());
            if written.is_ok_and(|at| at < before) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

impl Shared {
    fn index(&self) -> MutexGuard<'_, Waiting> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The message to a receiver that is tried next.
    fn next(&self, to: &str) -> Option<(String, Timestamp)> {
        let index = self.index();
        let all = index.get(to)?.iter().map(|(name, at)| (name.clone(), *at));
        all.min_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)))
    }

    fn write(&self, letter: &Letter) -> Result<(), String> {
        let path = self.waiting.join(file_name(letter));
        let text = serde_json::to_vec(letter).map(durable::sealed);
        let text = text.map_err(|error| error.to_string())?;
        durable::replace(&*self.disk, &path, &path.with_extension("tmp"), &[&text])
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    async fn deliver(&self, webhook: &Webhook, name: &str) {
        let path = self.waiting.join(name);
        let mut letter = match read(&path) {
            Ok(letter) => letter,
            Err(reason) => {
                put_aside(&*self.disk, &path, &self.dead, &reason);
                return self.drop_from_index(&webhook.name, name);
            }
        };
        let tried = send(webhook, &letter).await;
        letter.tried += 1;
        let kind = match tried {
            Ok(()) => {
                let _ = std::fs::remove_file(&path);
                self.drop_from_index(&webhook.name, name);
                "delivered"
            }
            Err(Failed { reason, is_final, after }) => {
                let is_dead = is_final || letter.tried >= webhook.attempts;
                let (to, id, tried) = (&webhook.name, &letter.id, letter.tried);
                match is_dead {
                    true => tracing::error!(%to, %id, tried, ?reason, "message given up"),
                    false => tracing::warn!(%to, %id, tried, ?reason, "message not delivered yet"),
                }
                letter.last = Some(reason);
                let pause = pause(webhook.first_delay, letter.tried).max(after.unwrap_or_default());
                let next = self.clock.now().checked_add(pause).unwrap_or(Timestamp::MAX);
                letter.next_at = next;
                // Tried anew from its last state where this cannot be written.
                let _ = self.write(&letter);
                if is_dead {
                    let _ = self.disk.rename(&path, &self.dead.join(name));
                    self.drop_from_index(&webhook.name, name);
                } else {
                    let mut index = self.index();
                    index.entry(letter.to).or_default().insert(name.to_owned(), next);
                }
                if is_dead { "dead" } else { "failed" }
            }
        };
        self.metrics.deliveries.get_or_create(&Kind::of(kind)).inc();
    }

    fn drop_from_index(&self, to: &str, name: &str) {
        if let Some(all) = self.index().get_mut(to) {
            all.remove(name);
        }
    }
}

/// A try that came to nothing.
struct Failed {
    reason: String,
    /// Whether the same would come of a further one.
    is_final: bool,
    /// The time that the receiver wants to have first.
    after: Option<SignedDuration>,
}

async fn send(webhook: &Webhook, letter: &Letter) -> Result<(), Failed> {
    let now = Timestamp::now().as_second();
    let mut url = webhook.url.clone();
    if let (Some(incident), Ok(mut path)) = (&letter.about, url.path_segments_mut()) {
        path.pop_if_empty().extend(["incidents", incident, "notes"]);
    }
    let mut request = webhook
        .client
        .post(url)
        .timeout(webhook.timeout)
        .header("content-type", &letter.media_type)
        .header("webhook-id", &letter.id)
        .header("webhook-timestamp", now.to_string());
    if let Some(secret) = &webhook.secret {
        let signature = secret.sign(&letter.id, now, &letter.body);
        request = request.header("webhook-signature", signature);
    }
    let answer = request.body(letter.body.clone()).send().await.map_err(|error| {
        // The address may be a secret.
        let mut inner: &dyn std::error::Error = &error;
        while let Some(source) = inner.source() {
            inner = source;
        }
        let reason =
            if error.is_timeout() { "no answer in time".to_owned() } else { inner.to_string() };
        Failed { reason: eog_evidence::shorten(&reason, 300), is_final: false, after: None }
    })?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| text.trim().parse::<i64>().ok());
    let after =
        after.map(|seconds| SignedDuration::from_secs(seconds.clamp(0, LONGEST_PAUSE.as_secs())));
    let is_final = matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::GONE
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::UNPROCESSABLE_ENTITY
    );
    Err(Failed { reason: format!("HTTP {status}"), is_final, after })
}

/// How long until the next try.
fn pause(first: SignedDuration, tried: u32) -> SignedDuration {
    let times = 2_i32.saturating_pow(tried.saturating_sub(1).min(20));
    first.checked_mul(times).unwrap_or(MAX_DELAY).min(MAX_DELAY)
}

fn file_name(letter: &Letter) -> String {
    format!("{}--{}.json", letter.to, letter.id)
}

fn read(path: &Path) -> Result<Letter, String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("longer than {MAX_FILE} bytes"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let letter: Letter =
        serde_json::from_slice(&durable::unsealed(&text)?).map_err(|error| error.to_string())?;
    match path.file_name().is_some_and(|name| *name == *file_name(&letter)) {
        true => Ok(letter),
        false => Err(format!("it holds message {}, unlike its file name", letter.id)),
    }
}

/// Moves a message that cannot be delivered to the dead ones, where people may inspect it.
fn put_aside(disk: &dyn Disk, path: &Path, dead: &Path, reason: &str) {
    let Some(name) = path.file_name() else { return };
    tracing::error!(file = ?name, ?reason, "a message cannot be read; moved to the dead messages");
    // What stays is moved when the service begins the next time.
    let _ = disk.rename(path, &dead.join(name));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use eog_testkit::SimFolders;

    use super::*;

    fn letter(number: u32) -> Letter {
        Letter {
            version: VERSION,
            to: "a".to_owned(),
            id: format!("in-{number:06}.1"),
            media_type: "application/json".to_owned(),
            body: "{}".repeat(300 * number as usize),
            tried: 0,
            next_at: Timestamp::UNIX_EPOCH,
            last: None,
            about: None,
        }
    }

    fn open(folder: &Path, disk: &SimFolders) -> Outbox {
        let disk = Arc::new(disk.clone());
        Outbox::open(folder, Vec::new(), Arc::new(Metrics::new()), disk, Clock::system()).unwrap()
    }

    fn waiting(outbox: &Outbox) -> BTreeSet<String> {
        outbox.0.index().values().flat_map(|all| all.keys().cloned()).collect()
    }

    fn dead(folder: &Path) -> usize {
        folder.join("dead").read_dir().unwrap().count()
    }

    #[test]
    fn a_message_that_was_stored_outlives_a_crash_and_one_that_is_damaged_is_dead() {
        for seed in 0..200 {
            let (place, disk) = (tempfile::tempdir().unwrap(), SimFolders::default());
            let outbox = open(place.path(), &disk);
            disk.cut_power_after(seed % 23);
            let stored = (1..=5).map(letter).filter(|letter| outbox.0.write(letter).is_ok());
            let stored: BTreeSet<String> = stored.map(|letter| file_name(&letter)).collect();
            disk.crash(seed);
            let found = waiting(&open(place.path(), &disk));
            assert!(found.is_superset(&stored), "seed {seed}: {stored:?} of {found:?}");
            assert_eq!(dead(place.path()), 0, "seed {seed}: nothing is half written");
            if found.is_empty() {
                continue;
            }
            let damage = if seed % 2 == 0 { SimFolders::rot } else { SimFolders::lose_sector };
            let file = damage(&place.path().join("outbox"), seed);
            let mut left = found;
            left.remove(file.file_name().unwrap().to_str().unwrap());
            assert_eq!(waiting(&open(place.path(), &disk)), left, "seed {seed}: {file:?}");
        }
    }

    #[test]
    fn a_message_in_the_place_of_another_is_not_sent() {
        for (victim, other) in [(1, 3), (3, 1)] {
            let (place, disk) = (tempfile::tempdir().unwrap(), SimFolders::default());
            let outbox = open(place.path(), &disk);
            outbox.0.write(&letter(victim)).unwrap();
            disk.misdirect(&outbox.0.waiting.join(file_name(&letter(victim))));
            outbox.0.write(&letter(other)).unwrap();
            assert!(waiting(&open(place.path(), &disk)).is_empty());
            assert_eq!(dead(place.path()), 2, "both are there for people");
        }
    }

    /// Whatever the clock says by then, the next try comes at the latest after the longest pause.
    #[test]
    fn a_clock_that_jumps_delays_no_message_for_long() {
        let next = Timestamp::UNIX_EPOCH + LONGEST_PAUSE;
        for hours in [-24 * 365, -2, 0, 2, 24 * 365] {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
            assert_eq!(is_due_at(next, now, LONGEST_PAUSE), hours != 0, "{hours} h");
        }
    }

    #[test]
    fn pauses_double_up_to_a_bound() {
        let first = SignedDuration::from_secs(1);
        let pauses: Vec<i64> = (1..=12).map(|tried| pause(first, tried).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(pause(SignedDuration::from_hours(1), 100), MAX_DELAY);
    }
}
