//! One incident: a group of alerts, and what follows from one more. Without a clock and without a disk.
//!
//! ```text
//! first alert ─► waits (settle) ─► runs ─► at rest ─► closed, once all were resolved for `quiet`
//!                   ▲                        │
//!                   ├── an alert not seen ───┤
//!                   └── cause withdrawn ─────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use crate::alert::Alert;
pub use crate::watch::{Recovery, Repair, Watch};

/// The version of the file.
const VERSION: u32 = 1;
/// How often a run without a result is tried again, and after which time.
const RETRIES: [SignedDuration; 4] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_secs(20),
    SignedDuration::from_secs(60),
    SignedDuration::from_secs(240),
];

/// By how much clocks are corrected in passing: no reason not to wait.
const SLEW: SignedDuration = SignedDuration::from_secs(60);
/// The last of them.
const LONGEST_RETRY: SignedDuration = RETRIES[RETRIES.len() - 1];

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the first alert that was not seen to the run that investigates it.
    pub settle: SignedDuration,
    /// From the end of a run to the next of the same incident, at least.
    pub pause: SignedDuration,
    /// How long all alerts must be resolved until the incident is closed.
    pub quiet: SignedDuration,
    /// How often the sources are checked for the repair of a cause; zero if never.
    pub watch: SignedDuration,
}

/// A group of alerts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    version: u32,
    /// Its number.
    pub number: u64,
    /// What its alerts have in common, by which they are grouped. Untrusted.
    pub key: String,
    /// Keys of other groups whose alerts are on neighbours of what its alerts are about. Untrusted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub joined: BTreeSet<String>,
    /// The labels of the group. Untrusted.
    pub labels: BTreeMap<String, String>,
    /// When its first alert came in.
    pub opened_at: Timestamp,
    /// Its alerts by identity.
    pub alerts: BTreeMap<String, Alert>,
    /// Alerts that are not kept, beyond the bound or left out by Alertmanager.
    pub left_out: u64,
    /// How often an alert fired again after it was resolved.
    pub flaps: u64,
    /// Alerts that a run has investigated.
    pub seen: BTreeSet<String>,
    /// Since when there are alerts that no run has investigated.
    pub news_at: Option<Timestamp>,
    /// The run that is under way, or was when the process ended.
    pub run: Option<Run>,
    /// How many runs were begun: also the number of the last capture.
    pub runs: u32,
    /// When the last run ended.
    pub ran_at: Option<Timestamp>,
    /// Its investigation.
    pub investigation: Option<String>,
    /// Why the last run has no result.
    pub problem: Option<String>,
    /// How sure the last result is.
    pub confidence: Option<String>,
    /// The causes of the last result. Untrusted.
    pub causes: Vec<String>,
    /// Since when no alert fires.
    pub resolved_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// How many messages were sent about it.
    #[serde(rename = "told")]
    pub messages: u32,
    /// The watch on the cause of the last result.
    #[serde(default)]
    pub watch: Option<Watch>,
    /// Causes whose repair had no effect, with what was observed. Untrusted.
    #[serde(default)]
    pub withdrawn: BTreeMap<EntityId, String>,
    /// The case that it was kept as, after its diagnosis was verified; empty where it could not be.
    #[serde(default)]
    pub case: Option<String>,
}

/// A run of an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The alerts that it investigates.
    pub alerts: BTreeSet<String>,
    /// Tries without a result.
    pub failed: u32,
    /// When it is tried again, after a try without a result.
    pub again_at: Option<Timestamp>,
    /// Whether it is being worked on. Never after a restart.
    #[serde(skip)]
    pub is_under_way: bool,
}

/// What one more alert means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// One that was not there before.
    New,
    /// One that fires still, or again: nothing follows.
    Known,
    /// One that does not fire any more.
    Resolved,
    /// One beyond the bound, which is only counted.
    LeftOut,
    /// One that is older than what is known, or that ended before it was received.
    Stale,
}

impl Incident {
    /// An incident without alerts.
    pub fn new(number: u64, key: String, labels: BTreeMap<String, String>, now: Timestamp) -> Self {
        Self {
            version: VERSION,
            number,
            key,
            joined: BTreeSet::new(),
            labels,
            opened_at: now,
            alerts: BTreeMap::new(),
            left_out: 0,
            flaps: 0,
            seen: BTreeSet::new(),
            news_at: None,
            run: None,
            runs: 0,
            ran_at: None,
            investigation: None,
            problem: None,
            confidence: None,
            causes: Vec::new(),
            resolved_at: None,
            closed_at: None,
            messages: 0,
            watch: None,
            withdrawn: BTreeMap::new(),
            case: None,
        }
    }

    /// Its id, such as `in-000001`.
    pub fn id(&self) -> String {
        id(self.number)
    }

    /// The keys of all its groups.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.key).chain(&self.joined)
    }

    /// What to call it, from the alert that came first. Untrusted.
    pub fn title(&self) -> String {
        let first = self.alerts.values().min_by_key(|alert| (alert.starts_at, alert.name()));
        let name = first.map_or("alerts", Alert::name);
        match self.alerts.len() {
            0 | 1 => name.to_owned(),
            many => format!("{name} and {} more", many - 1),
        }
    }

    /// What its page shows.
    pub(crate) fn shown(&self) -> eog_page::Incident {
        let in_words = |alert: &Alert| {
            let labels = alert.labels.iter().filter(|(name, _)| *name != "alertname");
            labels.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
        };
        let alerted = |alert: &Alert| eog_page::Alerted {
            name: alert.name().to_owned(),
            since: alert.starts_at,
            until: alert.ends_at,
            says: alert.says().to_owned(),
            labels: in_words(alert),
        };
        eog_page::Incident {
            id: self.id(),
            title: self.title(),
            stage: self.stage().to_owned(),
            opened: self.opened_at,
            investigation: self.investigation.clone(),
            confidence: self.confidence.clone(),
            causes: self.causes.clone(),
            problem: self.problem.clone(),
            recovery: self.recovery().map(|found| found.summary.clone()),
            alerts: self.alerts.values().map(alerted).collect(),
            left_out: self.left_out,
        }
    }

    /// What followed the repair of the causes, if one is known.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.watch.as_ref()?.recovery.as_ref()
    }

    /// Takes an alert in. `most`: how many are kept.
    pub fn receive(
        &mut self,
        fingerprint: &str,
        alert: Alert,
        now: Timestamp,
        most: usize,
    ) -> Meaning {
        let meaning = self.take_in(fingerprint, alert, now, most);
        if self.alerts.values().any(Alert::is_firing) {
            self.resolved_at = None;
        } else if !self.alerts.is_empty() {
            self.resolved_at.get_or_insert(now);
        }
        meaning
    }

    fn take_in(&mut self, fingerprint: &str, alert: Alert, now: Timestamp, most: usize) -> Meaning {
        let Some(known) = self.alerts.get_mut(fingerprint) else {
            if !alert.is_firing() {
                return Meaning::Stale;
            }
            if self.alerts.len() >= most {
                self.left_out = self.left_out.saturating_add(1);
                return Meaning::LeftOut;
            }
            self.alerts.insert(fingerprint.to_owned(), alert);
            self.news_at.get_or_insert(now);
            return Meaning::New;
        };
        if alert.starts_at < known.starts_at {
            // Requests may overtake each other.
            return Meaning::Stale;
        }
        match (known.is_firing(), alert.is_firing()) {
            (_, false) => {
                *known = alert;
                Meaning::Resolved
            }
            (false, true) if known.ends_at.is_some_and(|end| alert.starts_at < end) => {
                Meaning::Stale
            }
            (was_firing, true) => {
                self.flaps = self.flaps.saturating_add(u64::from(!was_firing));
                *known = alert;
                Meaning::Known
            }
        }
    }

    /// Whether its next run is to begin.
    pub fn is_due(&self, now: Timestamp, pace: &Pace) -> bool {
        if self.closed_at.is_some() {
            return false;
        }
        if let Some(run) = &self.run {
            return !run.is_under_way
                && run.again_at.is_none_or(|at| is_due_at(at, now, LONGEST_RETRY));
        }
        let Some(news_at) = self.news_at else { return false };
        let passed = |since, by| is_due_at(later(since, by), now, by);
        passed(news_at, pace.settle) && self.ran_at.is_none_or(|ran| passed(ran, pace.pause))
    }

    /// Begins its next run, or goes on with an interrupted one.
    pub fn begin(&mut self) {
        match &mut self.run {
            Some(run) => (run.is_under_way, run.again_at) = (true, None),
            None => {
                self.runs = self.runs.saturating_add(1);
                self.news_at = None;
                let alerts = self.alerts.keys().cloned().collect();
                self.run = Some(Run { alerts, failed: 0, again_at: None, is_under_way: true });
            }
        }
    }

    /// Its run has a result.
    pub fn end(
        &mut self,
        investigation: String,
        confidence: String,
        causes: Vec<String>,
        now: Timestamp,
    ) {
        self.investigation = Some(investigation);
        let before = self.watch.take();
        let (reported, reported_at) =
            before.map(|watch| (watch.reported, watch.reported_at)).unwrap_or_default();
        self.watch =
            (!causes.is_empty()).then(|| Watch { reported, reported_at, ..Watch::begin(now) });
        (self.confidence, self.causes, self.problem) = (Some(confidence), causes, None);
        self.close_run(now);
    }

    /// Its run was cut off, and goes on later.
    pub fn cut_off(&mut self) {
        if let Some(run) = &mut self.run {
            run.is_under_way = false;
        }
    }

    /// Its run has no result. Whether it is tried again.
    pub fn fail(&mut self, problem: String, may_again: bool, now: Timestamp) -> bool {
        self.problem = Some(problem);
        let Some(run) = &mut self.run else { return false };
        run.is_under_way = false;
        let pause = RETRIES.get(run.failed as usize).filter(|_| may_again);
        run.failed = run.failed.saturating_add(1);
        match pause {
            Some(pause) => run.again_at = Some(later(now, *pause)),
            None => self.close_run(now),
        }
        pause.is_some()
    }

    fn close_run(&mut self, now: Timestamp) {
        if let Some(run) = self.run.take() {
            self.seen.extend(run.alerts);
        }
        self.ran_at = Some(now);
    }

    /// Whether the sources are to be checked for a repair.
    pub fn is_check_due(&self, now: Timestamp, pace: &Pace) -> bool {
        let is_at_rest = self.closed_at.is_none() && self.run.is_none() && self.news_at.is_none();
        let watch = self.watch.as_ref().filter(|_| is_at_rest && pace.watch.is_positive());
        watch.is_some_and(|watch| watch.is_due(now, pace.watch))
    }

    /// The sources were checked: what followed a repair, if one is known, or why the check failed. A cause whose repair had no
    /// effect, as two checks in a row say, is news for a further run. Whether there is a verdict that was not there before.
    pub fn checked(
        &mut self,
        found: Option<Recovery>,
        problem: Option<String>,
        without_effect: &[EntityId],
        now: Timestamp,
    ) -> bool {
        let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_open()) else { return false };
        watch.is_under_way = false;
        watch.checks = watch.checks.saturating_add(1);
        watch.problem = problem;
        let Some(found) = found else { return false };
        let is_first = !std::mem::replace(&mut watch.seems_ineffective, !without_effect.is_empty());
        if is_first && !without_effect.is_empty() {
            return false;
        }
        for origin in without_effect {
            self.withdrawn.insert(origin.clone(), found.in_words());
            self.news_at.get_or_insert(now);
        }
        watch.recovery = Some(found);
        if !without_effect.is_empty() {
            watch.reported = None;
        }
        !watch.is_open()
    }

    /// Whether it is to become a case before it is closed: its only cause was verified.
    pub fn is_to_be_kept(&self) -> bool {
        let is_verified = |it: &Recovery| it.is_verified() && it.causes.len() == self.causes.len();
        self.case.is_none() && self.recovery().is_some_and(is_verified)
    }

    /// A person reports a repair. The next check is due at once.
    ///
    /// # Errors
    /// Why it cannot be verified.
    pub fn report(&mut self, repair: Repair, now: Timestamp) -> Result<(), &'static str> {
        let watch = match &mut self.watch {
            Some(watch) if watch.is_open() => watch,
            Some(_) => return Err("its last diagnosis has a verdict already"),
            None => return Err("it names no cause"),
        };
        watch.reported = Some(repair);
        (watch.recovery, watch.reported_at) = (None, Some(now));
        Ok(())
    }

    /// A clock that was set back has it quiet from now on: what is to come is not waited for.
    pub fn clock_says(&mut self, now: Timestamp) {
        if self.resolved_at.is_some_and(|at| at > later(now, SLEW)) {
            self.resolved_at = Some(now);
        }
    }

    /// Whether it is to be closed: nothing fires for long enough, and nothing is left to investigate.
    pub fn is_over(&self, now: Timestamp, pace: &Pace) -> bool {
        self.closed_at.is_none()
            && self.run.is_none()
            && self.news_at.is_none()
            && self.resolved_at.is_some_and(|at| {
                let is_held = pace.watch.is_positive()
                    && self.watch.as_ref().is_some_and(|watch| watch.holds(at, now));
                later(at, pace.quiet) <= now && !is_held
            })
    }

    /// How it stands, in a word: `queued`, `running`, `firing`, `resolved` or `closed`.
    pub fn stage(&self) -> &'static str {
        match &self.run {
            _ if self.closed_at.is_some() => "closed",
            Some(run) if run.is_under_way => "running",
            Some(_) => "queued",
            None if self.news_at.is_some() => "queued",
            None if self.resolved_at.is_some() => "resolved",
            None => "firing",
        }
    }
}

pub(crate) fn id(number: u64) -> String {
    format!("in-{number:06}")
}

/// Whether a time has come that was so far away at most when it was set. It has, too, where it is farther away now: then the
/// clock was set back meanwhile, and what it said is not waited for.
pub(crate) fn is_due_at(at: Timestamp, now: Timestamp, within: SignedDuration) -> bool {
    at <= now || at > later(later(now, within), SLEW)
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        settle: SignedDuration::from_secs(1),
        pause: SignedDuration::from_secs(60),
        quiet: SignedDuration::from_secs(300),
        watch: SignedDuration::from_secs(120),
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_261_600 + second).unwrap()
    }

    fn alert(starts: i64, ends: Option<i64>) -> Alert {
        let labels = BTreeMap::from([("alertname".to_owned(), "A".to_owned())]);
        Alert { labels, annotations: BTreeMap::new(), starts_at: at(starts), ends_at: ends.map(at) }
    }

    fn incident() -> Incident {
        let mut incident = Incident::new(1, "k".to_owned(), BTreeMap::new(), at(0));
        assert_eq!(incident.receive("a", alert(0, None), at(0), 3), Meaning::New);
        incident
    }

    fn ran(incident: &mut Incident, now: i64) {
        incident.begin();
        incident.end("inv-000001".to_owned(), "likely".to_owned(), vec![], at(now));
    }

    #[test]
    fn an_alert_is_investigated_once_and_a_further_one_later() {
        let mut incident = incident();
        assert!(!incident.is_due(at(0), &PACE), "others may follow");
        assert!(incident.is_due(at(1), &PACE));
        incident.begin();
        assert!(!incident.is_due(at(1), &PACE), "it runs");
        assert_eq!(incident.receive("b", alert(2, None), at(2), 3), Meaning::New);
        incident.end("inv-000001".to_owned(), "likely".to_owned(), vec![], at(3));
        assert_eq!(incident.seen.len(), 1, "the second came too late for the run");
        assert!(!incident.is_due(at(62), &PACE), "not one run after the other");
        assert!(incident.is_due(at(63), &PACE));
        ran(&mut incident, 64);
        for now in [65, 300] {
            assert_eq!(incident.receive("a", alert(0, None), at(now), 3), Meaning::Known);
        }
        assert!(!incident.is_due(at(900), &PACE), "repeats are no news");
    }

    #[test]
    fn flapping_opens_nothing_and_closes_nothing() {
        let mut incident = incident();
        ran(&mut incident, 2);
        for round in 1..=20 {
            let t = round * 10;
            incident.receive("a", alert(t - 10, Some(t - 5)), at(t - 5), 3);
            assert_eq!(incident.stage(), "resolved");
            assert_eq!(incident.receive("a", alert(t, None), at(t), 3), Meaning::Known);
            assert!(!incident.is_due(at(t + 1), &PACE) && !incident.is_over(at(t + 299), &PACE));
        }
        assert_eq!((incident.flaps, incident.runs, incident.stage()), (20, 1, "firing"));
    }

    #[test]
    fn it_is_over_when_all_is_quiet_and_nothing_is_left_to_investigate() {
        let mut incident = incident();
        incident.receive("a", alert(0, Some(1)), at(1), 3);
        assert!(!incident.is_over(at(999), &PACE), "it is not investigated yet");
        assert!(incident.is_due(at(2), &PACE), "why it fired is still of interest");
        ran(&mut incident, 3);
        assert!(!incident.is_over(at(300), &PACE) && incident.is_over(at(301), &PACE));
    }

    fn recovery(verdict: &str) -> Recovery {
        Recovery {
            verdict: verdict.to_owned(),
            causes: vec!["db".to_owned()],
            repair: "rolled back".to_owned(),
            repaired_at: at(500).to_string(),
            is_recorded: true,
            returned: vec![],
            not_returned: vec!["A on web".to_owned()],
            awaited: vec![],
            summary: "text".to_owned(),
        }
    }

    /// An incident whose cause was named at second 2.
    fn with_cause() -> Incident {
        let mut incident = incident();
        incident.begin();
        let causes = vec!["db".to_owned()];
        incident.end("inv-000001".to_owned(), "likely".to_owned(), causes, at(2));
        incident
    }

    fn check(incident: &mut Incident, now: i64) {
        let watch = incident.watch.as_mut().unwrap();
        (watch.is_under_way, watch.checked_at) = (true, at(now));
    }

    #[test]
    fn a_named_cause_is_watched_until_there_is_a_verdict() {
        let mut nothing_named = incident();
        ran(&mut nothing_named, 2);
        assert!(!nothing_named.is_check_due(at(900), &PACE));
        let mut incident = with_cause();
        assert!(!incident.is_check_due(at(121), &PACE) && incident.is_check_due(at(122), &PACE));
        check(&mut incident, 122);
        assert!(!incident.is_check_due(at(900), &PACE), "it is under way");
        assert!(!incident.checked(None, None, &[], at(123)));
        assert!(!incident.is_check_due(at(241), &PACE) && incident.is_check_due(at(242), &PACE));
        check(&mut incident, 242);
        assert!(!incident.checked(Some(recovery("too_early")), None, &[], at(243)));
        check(&mut incident, 362);
        assert!(incident.checked(Some(recovery("verified")), None, &[], at(363)));
        assert!(!incident.is_check_due(at(9_000), &PACE) && incident.is_to_be_kept());
        incident.causes.push("web".to_owned());
        assert!(!incident.is_to_be_kept(), "of the other cause nothing is known");
    }

    #[test]
    fn a_cause_that_was_repaired_without_effect_is_news() {
        let mut incident = with_cause();
        check(&mut incident, 122);
        let db = EntityId::new("db").unwrap();
        let once = std::slice::from_ref(&db);
        assert!(!incident.checked(Some(recovery("withdrawn")), None, once, at(123)));
        assert!(incident.is_check_due(at(242), &PACE), "the verdict needs two");
        check(&mut incident, 242);
        assert!(incident.checked(Some(recovery("withdrawn")), None, once, at(243)));
        assert_eq!(incident.stage(), "queued");
        assert!(incident.withdrawn[&db].contains("A on web did not return"));
        assert!(incident.is_due(at(244), &PACE) && !incident.is_check_due(at(900), &PACE));
        ran(&mut incident, 245);
        assert!(incident.watch.is_none(), "nothing is named");
    }

    #[test]
    fn it_stays_open_until_its_repair_is_judged() {
        let quiet = |checked_at: Option<i64>, found: Option<&str>| {
            let mut incident = with_cause();
            incident.receive("a", alert(0, Some(100)), at(100), 3);
            if let Some(now) = checked_at {
                check(&mut incident, now);
                incident.checked(found.map(recovery), None, &[], at(now + 1));
            }
            incident
        };
        assert!(!quiet(None, None).is_over(at(900), &PACE), "not checked since");
        assert!(!quiet(Some(99), None).is_over(at(900), &PACE));
        assert!(quiet(Some(130), None).is_over(at(900), &PACE));
        assert!(!quiet(Some(130), Some("too_early")).is_over(at(900), &PACE));
        assert!(quiet(Some(130), Some("too_early")).is_over(at(100 + 3 * 3_600), &PACE));
        assert!(quiet(Some(130), Some("verified")).is_over(at(900), &PACE));
        let mut reported = quiet(Some(130), None);
        check(&mut reported, 250);
        let repair = Repair { at: at(90), cause: None, action: "restarted".to_owned() };
        assert_eq!(reported.report(repair.clone(), at(251)), Ok(()));
        reported.checked(None, None, &[], at(252));
        assert!(!reported.is_over(at(900), &PACE), "that check began before the report");
        assert!(reported.is_check_due(at(253), &PACE), "at once");
        check(&mut reported, 253);
        assert!(reported.checked(Some(recovery("partial")), None, &[], at(254)));
        assert!(reported.report(repair, at(255)).is_err() && reported.is_over(at(900), &PACE));
    }

    #[test]
    fn requests_that_overtake_each_other_change_nothing() {
        let mut incident = incident();
        incident.receive("a", alert(0, Some(50)), at(50), 3);
        assert_eq!(incident.receive("a", alert(0, None), at(51), 3), Meaning::Stale);
        assert_eq!(incident.receive("a", alert(-9, None), at(52), 3), Meaning::Stale);
        assert_eq!(incident.receive("z", alert(0, Some(1)), at(53), 3), Meaning::Stale);
        assert_eq!(incident.stage(), "queued");
        assert!(incident.alerts.values().all(|alert| !alert.is_firing()));
    }

    #[test]
    fn beyond_the_bound_alerts_are_counted() {
        let mut incident = incident();
        for name in ["b", "c"] {
            incident.receive(name, alert(1, None), at(1), 3);
        }
        assert_eq!(incident.receive("d", alert(1, None), at(1), 3), Meaning::LeftOut);
        assert_eq!((incident.alerts.len(), incident.left_out), (3, 1));
    }

    #[test]
    fn a_run_without_a_result_is_tried_again_a_few_times() {
        let mut incident = incident();
        let mut now = 1;
        for tried in 0..=RETRIES.len() {
            assert!(incident.is_due(at(now), &PACE), "try {tried}");
            incident.begin();
            let again = incident.fail("away".to_owned(), true, at(now));
            assert_eq!(again, tried < RETRIES.len());
            assert!(!incident.is_due(at(now), &PACE));
            now += 240;
        }
        assert_eq!((incident.runs, incident.stage()), (1, "firing"));
    }

    /// A clock that is set back keeps nothing waiting, and closes nothing; one that is set forward does what time does.
    #[test]
    fn a_clock_that_jumps_keeps_nothing_waiting() {
        for back in [1, 59, 3_600, 86_400 * 365] {
            let mut news = incident();
            assert_eq!(news.is_due(at(-back), &PACE), back > 60, "{back} s: an alert waits");
            ran(&mut news, 5);
            news.receive("b", alert(6, None), at(6), 3);
            assert_eq!(news.is_due(at(5 - back), &PACE), back > 60, "{back} s: the next run waits");
            let mut failed = incident();
            failed.begin();
            failed.fail("away".to_owned(), true, at(0));
            assert_eq!(failed.is_due(at(-back), &PACE), back > 295, "{back} s: a retry waits");
            let mut over = incident();
            over.receive("a", alert(0, Some(1)), at(1), 3);
            ran(&mut over, 3);
            assert!(!over.is_over(at(-back), &PACE), "{back} s: it is closed too early");
            assert!(over.is_over(at(1 + 86_400), &PACE));
            over.clock_says(at(-back));
            let quiet_from = if back > 59 { -back } else { 1 };
            assert!(!over.is_over(at(quiet_from + 299), &PACE), "{back} s: not quiet for long");
            assert!(over.is_over(at(quiet_from + 300), &PACE), "{back} s: it stays open");
        }
    }

    #[test]
    fn a_run_that_was_cut_off_goes_on_after_a_restart() {
        let mut incident = incident();
        incident.begin();
        let text = serde_json::to_string(&incident).unwrap();
        let mut again: Incident = serde_json::from_str(&text).unwrap();
        assert!(again.is_due(at(1), &PACE), "it is not worked on any more");
        again.begin();
        assert_eq!((again.runs, again.run.unwrap().alerts.len()), (1, 1));
    }
}
