//! Systems with a fault and its repair, recorded in files that a service on call reads.

use std::path::Path;

use eog::Timestamp;
use serde_json::{Value, json};

/// What is done about an incident, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// The change that caused it is undone, and all returns.
    Right,
    /// It is undone, and nothing returns.
    WithoutEffect,
    /// It is undone, and one of two alerts returns.
    Partial,
    /// A person reports what no record has, and all returns.
    Reported,
    /// Nothing is done, and all returns.
    None,
}

/// Minutes before now: when the fault begins, until when requests are on record at first, when it is repaired.
const FAULT: i64 = -60;
const SEEN: i64 = -50;
pub(crate) const REPAIR: i64 = -48;
/// When all is as usual again, where it returns.
pub(crate) const WELL: i64 = -46;

/// Systems of three services each, `web` that calls `api` that calls `db`, and their incidents.
pub(crate) struct Systems {
    pub(crate) now: Timestamp,
    pub(crate) repairs: Vec<Repair>,
    /// By which systems differ from those of other services.
    pub(crate) seed: usize,
}

impl Systems {
    pub(crate) fn minute(&self, minute: i64) -> Timestamp {
        Timestamp::from_second(self.now.as_second() + 60 * minute).unwrap()
    }

    /// How long a call of a service takes by itself, in milliseconds.
    fn own(&self, system: usize, service: &str, minute: i64) -> u64 {
        let repair = self.repairs[system];
        let db_is_well = minute < FAULT || minute >= WELL && repair != Repair::WithoutEffect;
        match service {
            "db" if !db_is_well => 250 + 30 * ((self.seed + system) as u64 % 7),
            // What came with it and stays.
            "web" if minute >= FAULT && repair == Repair::Partial => 300,
            _ => 20 + (minute.unsigned_abs() * 7 + (self.seed + system) as u64) % 5,
        }
    }

    /// The requests until a minute, as OTLP.
    fn spans(&self, until: i64) -> String {
        let mut resources = Vec::new();
        for system in 0..self.repairs.len() {
            let mut spans: [Vec<Value>; 3] = Default::default();
            for quarter in -480..until * 4 {
                let minute = quarter.div_euclid(4);
                let start = (self.now.as_second() + 15 * quarter) as u64 * 1_000_000_000;
                let own = |service| self.own(system, service, minute) * 1_000_000;
                let took = [own("web") + own("api") + own("db"), own("api") + own("db"), own("db")];
                let trace = format!("{:032x}", (system as u64) << 32 | (quarter + 1_000) as u64);
                let id =
                    |at: usize| format!("{:016x}", (quarter + 1_000) as u64 * 4 + at as u64 + 1);
                for (at, took) in took.into_iter().enumerate() {
                    let begin = start + at as u64 * 1_000_000;
                    let parent = at.checked_sub(1).map(id).unwrap_or_default();
                    spans[at].push(json!({
                        "traceId": trace, "spanId": id(at), "parentSpanId": parent, "name": "GET /",
                        "kind": 2, "startTimeUnixNano": begin.to_string(),
                        "endTimeUnixNano": (begin + took).to_string(), "status": {},
                    }));
                }
            }
            for (service, spans) in ["web", "api", "db"].iter().zip(spans) {
                let name = json!([{
                    "key": "service.name", "value": {"stringValue": format!("{service}-{system}")},
                }]);
                resources.push(json!({
                    "resource": {"attributes": name}, "scopeSpans": [{"spans": spans}],
                }));
            }
        }
        json!({ "resourceSpans": resources }).to_string()
    }

    /// The changes until a minute.
    fn changes(&self, until: i64) -> String {
        let change = |system: usize, at: i64, old: &str, new: &str| {
            let (time, entity) = (self.minute(at).to_string(), format!("db-{system}"));
            json!({"time": time, "entity": entity, "path": "pool.size", "old": old, "new": new})
        };
        let mut lines = Vec::new();
        for (system, repair) in self.repairs.iter().enumerate() {
            lines.push(change(system, FAULT, "50", "5"));
            let is_recorded = !matches!(repair, Repair::Reported | Repair::None);
            if is_recorded && until > REPAIR {
                lines.push(change(system, REPAIR, "5", "50"));
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The files of the sources.
    pub(crate) fn recorded(&self, until: i64) -> [(&'static str, String); 2] {
        [("spans.json", self.spans(until)), ("changes.jsonl", self.changes(until))]
    }

    pub(crate) fn alert(&self, system: usize, service: &str, ends: Option<i64>) -> String {
        let (starts, status) = (
            self.minute(FAULT + 3).to_string(),
            if ends.is_some() { "resolved" } else { "firing" },
        );
        let ends = ends
            .map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |at| self.minute(at).to_string());
        json!({
            "version": "4", "groupKey": format!("g{system}"), "status": status, "receiver": "eog",
            "groupLabels": {}, "truncatedAlerts": 0,
            "alerts": [{
                "status": status, "fingerprint": format!("{service}-{system}"), "startsAt": starts, "endsAt": ends,
                "labels": {"alertname": "SlowRequests", "job": format!("{service}-{system}")},
                "annotations": {"summary": "requests are slow"},
            }],
        })
        .to_string()
    }
}

/// Puts files into a folder, each whole or not at all: they are read all the time.
pub(crate) fn record(folder: &Path, files: [(&str, String); 2]) {
    for (name, text) in files {
        let new = folder.join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, folder.join(name)).unwrap();
    }
}

/// A folder with the settings of a service on call over these files, as recorded at first.
pub(crate) fn desk(systems: &Systems, hook: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "source.toml",
        "history = '40m'\nchanges = ['changes.jsonl']\n[otlp]\nfiles = ['spans.json']\n",
    );
    let pace = "[pace]\nsettle = '1s'\npause = '0s'\nquiet = '30s'\nwatch = '1s'\n";
    write("oncall.toml", &format!("source = 'source.toml'\n{pace}{hook}"));
    record(folder.path(), systems.recorded(SEEN));
    folder
}
