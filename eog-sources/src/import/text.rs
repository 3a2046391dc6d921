//! Text files: logs of many forms, tables of `kubectl`, panels as CSV, and the history of a repository.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::sync::LazyLock;

use eog_core::evidence::Signal;
use eog_sre::read_time;
use eog_sre::subject::{SERVICE_LABELS, subjects};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use serde_json::{Value, json};

use super::files::{Input, MAX_WHOLE};
use super::records::line;
use super::{FileAccount, Importing};
use crate::piece::{Change, Line, Measured, Piece, Who};

/// Longest line of a log that is kept, in bytes; the rest of it is passed over.
const MAX_LINE: u64 = 1 << 20;

/// Longest message with its continuations, in bytes.
const MAX_MESSAGE: usize = 16 << 10;

/// A pattern that is known to be one.
fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

macro_rules! patterns {
    ($($name:ident = $pattern:literal;)+) => {
        $(static $name: LazyLock<Option<Regex>> = LazyLock::new(|| regex($pattern));)+
    };
}

patterns! {
    COMPOSE = r"^([A-Za-z0-9][A-Za-z0-9_.-]*?)\s+\| ?(.*)$";
    PREFIX = r"^\[pod/([^/\]]+)/([^\]]+)\] (.*)$";
    START = r"^==== START logs for container (\S+) of pod ([^/]+)/(\S+) ====";
    ISO = r"^[\[(]?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?) ?(Z|UTC|[+-]\d\d:?\d\d)?[\])]?[ :|-]*(.*)$";
    SLASHED = r"^(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) (.*)$";
    KLOG = r"^([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d+)\s+(.*)$";
    SYSLOG = r"^(?:<(\d{1,3})>)?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\S+) ([^:\[\s]+)(?:\[\d+\])?: (.*)$";
    SYSLOG5 = r"^<(\d{1,3})>1 (\S+) (\S+) (\S+) \S+ \S+ (?:-|\[[^\]]*\]) ?(.*)$";
    ACCESS = r#"^(\S+) \S+ \S+ \[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\] "([^"]*)" (\d{3}) (.*)$"#;
    ENVOY = r#"^\[(\d{4}-\d\d-\d\dT[\d:.]+Z)\] "([^"]*)" (\d{3}) (.*)$"#;
    PAIR = r#"(?:^|\s)(ts|time|t|timestamp|level|lvl|severity|msg|message|trace_id|traceID)=("(?:[^"\\]|\\.)*"|\S+)"#;
    LEVEL = r"(?:^|[^A-Za-z])(FATAL|CRITICAL|CRIT|PANIC|SEVERE|ERROR|ERR|WARNING|WARN|NOTICE|INFO|DEBUG|TRACE)(?:[^A-Za-z]|$)|[\[<(](fatal|crit|panic|error|err|warning|warn|notice|info|debug|trace)[\]>)]|level=(\w+)|^(?:[^:]{0,60} )?(panic|fatal|error|warning): ";
    TRACE = r#"(?i)\b(?:trace_?id|request_?id)["']?[=:] ?["']?([0-9a-zA-Z-]{8,64})"#;
}

fn captures<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<regex::Captures<'t>> {
    pattern.as_ref()?.captures(text)
}

/// The level that a line speaks of; empty where it says none.
pub(super) fn level_in(text: &str) -> &'static str {
    let end = text.char_indices().nth(160).map_or(text.len(), |(at, _)| at);
    let Some(found) = captures(&LEVEL, text.get(..end).unwrap_or_default()) else { return "" };
    let word = found.iter().skip(1).flatten().next().map_or("", |it| it.as_str()).to_lowercase();
    match word.as_str() {
        "fatal" | "panic" | "crit" | "critical" | "severe" => "fatal",
        "error" | "err" => "error",
        "warn" | "warning" => "warn",
        "debug" | "trace" => "debug",
        _ => "info",
    }
}

/// The writer of a log, by the labels of its stream.
pub(super) fn who_of_labels(labels: &BTreeMap<String, String>) -> Option<Who> {
    subjects(labels, &SERVICE_LABELS).first().map(crate::place::who_of)
}

/// The entity of a file, by its path: `NAMESPACE/POD/logs.txt` of a dump of a cluster, the folders of must-gather and of support
/// bundles, the names of the kubelet; else its name.
pub(super) fn who_of_path(path: &str) -> Who {
    let parts: Vec<&str> = path.split(['/', '!']).filter(|it| !it.is_empty()).collect();
    let pod = |namespace: &str, name: &str| Who::Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let stem = |name: &str| {
        let mut name = name;
        for end in [".gz", ".log", ".txt", ".json", ".jsonl", ".csv", ".out", "-previous"] {
            name = name.strip_suffix(end).unwrap_or(name);
        }
        name.to_owned()
    };
    match parts.as_slice() {
        [.., "namespaces", space, "pods", name, _, _, "logs", _] => pod(space, name),
        [.., "pods", "logs", space, name, _] => pod(space, name),
        [.., space, name, "logs.txt"] => pod(space, name),
        [.., folder, _, file] if folder.matches('_').count() == 2 && file.ends_with(".log") => {
            let mut names = folder.split('_');
            pod(names.next().unwrap_or_default(), names.next().unwrap_or_default())
        }
        [.., file] if file.matches('_').count() == 2 && file.ends_with(".log") => {
            let mut names = file.split('_');
            let (name, space) =
                (names.next().unwrap_or_default(), names.next().unwrap_or_default());
            pod(space, name)
        }
        [.., file] => Who::service(stem(file)),
        [] => Who::service("unknown"),
    }
}

impl Importing<'_> {
    pub(super) fn text(
        &mut self,
        head: &str,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> io::Result<()> {
        let first = head.lines().next().unwrap_or_default();
        if is_events(first) {
            return self.with_whole(input, account, Self::kubectl_events);
        }
        if first.starts_with("Name:") && head.contains("\nLabels:") {
            return self.with_whole(input, account, Self::described);
        }
        if first.strip_prefix("commit ").is_some_and(|it| it.len() >= 40) {
            return self.with_whole(input, account, Self::git_log);
        }
        if is_table(first, head) {
            return self.with_whole(input, account, Self::table);
        }
        self.lines(None, input, account)
    }

    fn with_whole(
        &mut self,
        input: &mut Input<'_>,
        account: &mut FileAccount,
        then: fn(&mut Self, &str, &Input<'_>, &mut FileAccount),
    ) -> io::Result<()> {
        match input.whole(MAX_WHOLE)? {
            Some(bytes) => then(self, &String::from_utf8_lossy(&bytes), input, account),
            None => account.lose(1, format!("longer than {MAX_WHOLE} bytes")),
        }
        Ok(())
    }

    pub(super) fn lines(
        &mut self,
        first: Option<Vec<u8>>,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> io::Result<()> {
        let (written, name) = (input.written, input.name.clone());
        self.read_lines(first, input.reader(), written, &name, account)
    }

    /// Lines of a log, one after the other, in little memory.
    pub(super) fn read_lines(
        &mut self,
        mut first: Option<Vec<u8>>,
        reader: &mut dyn BufRead,
        written: Option<i64>,
        name: &str,
        account: &mut FileAccount,
    ) -> io::Result<()> {
        let mut whose = match &self.options.entity {
            Some(name) => Who::service(name.as_str()),
            None => who_of_path(name),
        };
        let is_named = self.options.entity.is_some();
        let mut last: BTreeMap<Who, Line> = BTreeMap::new();
        let (mut bytes, mut taken, mut timeless, mut without_zone, mut cut) =
            (Vec::new(), 0, 0_u64, false, 0_u64);
        loop {
            bytes.clear();
            match first.take() {
                Some(line) => bytes = line,
                None => {
                    let read = reader.take(MAX_LINE).read_until(b'\n', &mut bytes)?;
                    if read == 0 {
                        break;
                    }
                    if bytes.last() != Some(&b'\n') && read as u64 == MAX_LINE {
                        cut += 1;
                        skip_line(reader)?;
                    }
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() || text.starts_with("==== END logs") {
                continue;
            }
            if let Some(found) = captures(&START, text) {
                let (space, pod) = (found[2].to_owned(), found[3].to_owned());
                whose = Who::Pod { namespace: space, name: pod };
                continue;
            }
            let mut who = whose.clone();
            let mut rest = text;
            if let Some(found) = captures(&PREFIX, text) {
                who = if is_named { who } else { Who::service(&found[2]) };
                rest = found.get(3).map_or("", |it| it.as_str());
            } else if let Some(found) = captures(&COMPOSE, text) {
                who = if is_named { who } else { Who::service(without_number(&found[1])) };
                rest = found.get(2).map_or("", |it| it.as_str());
            }
            let parsed = parse(rest, written);
            without_zone |= parsed.as_ref().is_some_and(|it| it.without_zone);
            match parsed {
                Some(Parsed { at, level, text, trace, host, .. }) => {
                    if let (Some(host), false) = (host, is_named) {
                        who = Who::service(host);
                    }
                    let new = line(at, &who, &level, text, &trace);
                    if let Some(done) = last.insert(who, new) {
                        self.put(&done)?;
                        taken += 1;
                    }
                }
                // What has no time goes on from the line before: stack traces do.
                None => match last.get_mut(&who) {
                    Some(before) if before.text.len() + rest.len() < MAX_MESSAGE => {
                        before.text.push('\n');
                        before.text.push_str(rest);
                    }
                    Some(_) => cut += 1,
                    None => timeless += 1,
                },
            }
        }
        for done in last.values() {
            self.put(done)?;
            taken += 1;
        }
        if taken > 0 {
            account.is("log lines");
            account.take("log lines", taken);
        }
        if timeless > 0 {
            let reason = "lines without a time; save them with times, as `kubectl logs --timestamps` and \
                          `docker compose logs --timestamps` do";
            account.lose(timeless, format!("{timeless} {reason}"));
        }
        if cut > 0 {
            account.lose(0, format!("{cut} lines are cut"));
        }
        if without_zone {
            account.lose(0, "times without a zone are taken for UTC");
        }
        Ok(())
    }

    /// The table of `kubectl get events`.
    fn kubectl_events(&mut self, text: &str, input: &Input<'_>, account: &mut FileAccount) {
        account.is("kubectl get events");
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let has_space = header.starts_with("NAMESPACE");
        let Some(written) = input.written else {
            return account.lose(1, "ages without a time at which the file was written");
        };
        let mut taken = 0;
        for row in lines.filter(|row| !row.trim().is_empty()) {
            let fields: Vec<&str> = columns(row, if has_space { 6 } else { 5 });
            let (space, fields) = match (has_space, fields.split_first()) {
                (true, Some((space, rest))) => (*space, rest.to_vec()),
                _ => ("default", fields),
            };
            let [age, kind, reason, object, message] = fields[..] else {
                account.lose(1, "a row with too few columns");
                continue;
            };
            let (Some(age), Some((of, name))) = (age_of(age), object.split_once('/')) else {
                account.lose(1, "a row without an age or an object");
                continue;
            };
            let at = written.saturating_sub(age);
            taken += self.event(&EventRow { space, at, kind, reason, of, name, message }, account);
        }
        account.take("events", taken);
        account.lose(0, "ages are counted from when the file was written");
    }

    /// Adds an event of a table; how many that makes.
    fn event(&mut self, row: &EventRow<'_>, account: &mut FileAccount) -> usize {
        let EventRow { space, at, kind, reason, of, name, message } = row;
        let time = Timestamp::from_millisecond(*at).unwrap_or_default().to_string();
        let event = json!({"kind": "Event", "metadata": {"name": format!("{name}.{at}"), "namespace": space},
            "involvedObject": {"kind": kind_of(of), "namespace": space, "name": name},
            "type": kind, "reason": reason, "message": message, "lastTimestamp": time, "firstTimestamp": time});
        match self.cluster.add(event) {
            Ok(_) => 1,
            Err(why) => {
                account.lose(1, why);
                0
            }
        }
    }

    /// What `kubectl describe` says: the events of each object, and what keeps its containers from running.
    fn described(&mut self, text: &str, input: &Input<'_>, account: &mut FileAccount) {
        account.is("kubectl describe");
        let written = input.written.unwrap_or_default();
        let (mut name, mut space, mut kind) = (String::new(), "default".to_owned(), "Pod");
        let (mut in_events, mut objects, mut events) = (false, 0, 0);
        for row in text.lines() {
            let value = |field: &str| row.strip_prefix(field).map(|it| it.trim().to_owned());
            if let Some(found) = value("Name:") {
                (name, in_events) = (found, false);
                (space, kind) = ("default".to_owned(), "Pod");
                objects += 1;
            } else if let Some(found) = value("Namespace:") {
                space = found;
            } else if row.starts_with("StrategyType:") {
                kind = "Deployment";
            } else if row.starts_with("Update Strategy:") {
                kind = "StatefulSet";
            } else if row.starts_with("Desired Number of Nodes") {
                kind = "DaemonSet";
            } else if row.starts_with("Capacity:") && space == "default" {
                kind = "Node";
            } else if row.starts_with("Events:") {
                in_events = true;
            } else if in_events && row.starts_with("  ") {
                let fields = columns(row.trim_start(), 5);
                let [of, reason, age, _, message] = fields[..] else { continue };
                let Some(age) = age_of(age) else { continue };
                let (space, at) = (space.as_str(), written.saturating_sub(age));
                let row = EventRow { space, at, kind: of, reason, of: kind, name: &name, message };
                events += self.event(&row, account);
            } else if !row.starts_with(' ') {
                in_events = false;
            }
        }
        account.take("events", events);
        if events == 0 {
            account.lose(
                objects,
                "objects without events; save them with `kubectl get -o yaml`, which says more",
            );
        } else {
            account
                .lose(0, "only events are taken of descriptions; `kubectl get -o yaml` says more");
        }
    }

    /// The history of a repository: each commit is a change.
    fn git_log(&mut self, text: &str, input: &Input<'_>, account: &mut FileAccount) {
        account.is("git log");
        let who = self.of(input);
        let mut piece = Piece::default();
        let (mut commit, mut at, mut subject) = (String::new(), None, String::new());
        let mut lost = 0;
        let mut end = |commit: &str, at: Option<i64>, subject: &str| {
            if commit.is_empty() {
                return;
            }
            let Some(at) = at else {
                lost += 1;
                return;
            };
            let short: String = commit.chars().take(12).collect();
            piece.changes.push(Change {
                at,
                who: who.clone(),
                signal: Signal::Configuration,
                path: format!("commit {short}"),
                old: None,
                new: Some(short),
                description: eog_evidence::shorten(&eog_evidence::mask_text(subject), 500),
            });
        };
        for row in text.lines() {
            if let Some(found) = row.strip_prefix("commit ") {
                end(&commit, at, &subject);
                commit = found.split(' ').next().unwrap_or_default().to_owned();
                (at, subject) = (None, String::new());
            } else if let Some(date) = row.strip_prefix("Date:") {
                let date = date.trim();
                let parsed = jiff::fmt::strtime::parse("%a %b %d %H:%M:%S %Y %z", date)
                    .ok()
                    .and_then(|it| it.to_timestamp().ok());
                let parsed = parsed.or_else(|| {
                    // As `--date=iso` writes it.
                    let (day, rest) = date.split_once(' ')?;
                    let (time, zone) = rest.split_once(' ').unwrap_or((rest, "+0000"));
                    read_time(&Value::from(format!("{day}T{time}{zone}")))
                });
                at =
                    parsed.or_else(|| read_time(&Value::from(date))).map(Timestamp::as_millisecond);
            } else if row.starts_with("    ") && subject.is_empty() {
                row.trim().clone_into(&mut subject);
            }
        }
        end(&commit, at, &subject);
        if lost > 0 {
            account.lose(lost, "commits without a date");
        }
        self.add(piece, account);
    }

    /// A panel as CSV: a column of times, and one for each series; or a column that names the series.
    fn table(&mut self, text: &str, input: &Input<'_>, account: &mut FileAccount) {
        account.is("CSV panel");
        let first = text.lines().next().unwrap_or_default();
        let sign =
            if first.matches(';').count() > first.matches(',').count() { b';' } else { b',' };
        let mut reader =
            csv::ReaderBuilder::new().delimiter(sign).flexible(true).from_reader(text.as_bytes());
        let header: Vec<String> = match reader.headers() {
            Ok(header) => header
                .iter()
                .map(|it| it.trim_start_matches('\u{feff}').trim().to_owned())
                .collect(),
            Err(error) => return account.lose(1, error.to_string()),
        };
        let place = |names: &[&str]| {
            header.iter().position(|it| names.iter().any(|name| it.eq_ignore_ascii_case(name)))
        };
        let Some(time) = place(&["time", "timestamp", "date", "datetime"]) else {
            return account.lose(1, "no column of times");
        };
        let value = place(&["value"]);
        let series = place(&["series", "metric", "group", "scope", "name", "tags"]);
        let mut found: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
        for row in reader.records() {
            let row = match row {
                Ok(row) => row,
                Err(error) => {
                    account.lose(1, error.to_string());
                    continue;
                }
            };
            let Some(at) = row.get(time).and_then(|it| read_time(&Value::from(it.trim()))) else {
                account.lose(1, "a row without a time");
                continue;
            };
            let at = at.as_millisecond();
            let mut add = |name: String, cell: Option<&str>| {
                let number = cell.and_then(|it| it.trim().parse::<f64>().ok());
                match number.filter(|it| it.is_finite()) {
                    Some(number) => found.entry(name).or_default().push((at, number)),
                    // Empty cells are gaps.
                    None if cell.is_none_or(|it| {
                        matches!(it.trim(), "" | "null" | "NaN" | "undefined")
                    }) => {}
                    None => account.lose(1, "a cell that is no number"),
                }
            };
            match (value, series) {
                (Some(value), Some(series)) => {
                    add(row.get(series).unwrap_or_default().to_owned(), row.get(value));
                }
                _ => {
                    for (at, name) in header.iter().enumerate().filter(|(at, _)| *at != time) {
                        add(name.clone(), row.get(at));
                    }
                }
            }
        }
        let mut piece = Piece::default();
        for (name, points) in found {
            let labels = labels_in(&name);
            let who = who_of_labels(&labels).unwrap_or_else(|| self.of(input));
            let metric = name.split(['{', ' ']).next().filter(|it| !it.is_empty()).unwrap_or(&name);
            let file = input.name.rsplit('/').next().unwrap_or_default();
            let (signal, unit) = match crate::prometheus::spoken(&name) {
                (Signal::Other, _) => crate::prometheus::spoken(file),
                known => known,
            };
            piece.series.push(Measured {
                who,
                peer: None,
                metric: eog_evidence::shorten(metric, 200),
                signal,
                unit: unit.to_owned(),
                points,
            });
        }
        self.add(piece, account);
    }
}

/// A row of a table of events.
struct EventRow<'a> {
    space: &'a str,
    at: i64,
    kind: &'a str,
    reason: &'a str,
    of: &'a str,
    name: &'a str,
    message: &'a str,
}

/// Passes over the rest of a line.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let at = buffer.iter().position(|c| *c == b'\n');
        let count = at.map_or(buffer.len(), |at| at + 1);
        reader.consume(count);
        if at.is_some() {
            return Ok(());
        }
    }
}

/// A line of a log.
struct Parsed {
    at: i64,
    level: String,
    text: String,
    trace: String,
    /// The entity that it names.
    host: Option<String>,
    without_zone: bool,
}

fn parse(text: &str, written: Option<i64>) -> Option<Parsed> {
    let year = written.and_then(|at| Timestamp::from_millisecond(at).ok());
    let year = year.map_or(1970, |at| at.to_zoned(TimeZone::UTC).year());
    let make =
        |at: Timestamp, level: &str, text: &str, host: Option<String>, without_zone: bool| {
            let trace = captures(&TRACE, text).map(|it| it[1].to_owned()).unwrap_or_default();
            let level = if level.is_empty() { level_in(text) } else { level };
            Some(Parsed {
                at: i64::try_from(at.as_nanosecond()).ok()?,
                level: level.to_owned(),
                text: text.to_owned(),
                trace,
                host,
                without_zone,
            })
        };
    let utc = |text: &str| text.parse::<Timestamp>().ok();
    if text.starts_with('{') {
        let (at, level, text, trace) =
            super::records::log_parts(&serde_json::from_str(text).ok()?)?;
        return Some(Parsed { at, level, text, trace, host: None, without_zone: false });
    }
    if let Some(found) = captures(&ENVOY, text) {
        let at = utc(&found[1])?;
        return make(
            at,
            of_status(&found[3]),
            text.split_once("] ").map_or(text, |it| it.1),
            None,
            false,
        );
    }
    if let Some(found) = captures(&ISO, text) {
        let zone = found.get(2).map(|it| it.as_str());
        let clock = found[1].replace(' ', "T").replace(',', ".");
        let zone_text = match zone {
            Some("UTC") | None => "Z",
            Some(zone) => zone,
        };
        if let Some(at) = read_time(&Value::from(format!("{clock}{zone_text}"))) {
            let rest = found.get(3).map_or("", |it| it.as_str());
            // A time of the kubelet or of compose stands before what the program wrote.
            return match parse_inner(rest) {
                Some(inner) => {
                    Some(Parsed { at: i64::try_from(at.as_nanosecond()).ok()?, ..inner })
                }
                None => make(at, "", rest, None, zone.is_none()),
            };
        }
    }
    if let Some(found) = captures(&ACCESS, text) {
        let month = month(&found[3])?;
        let clock = format!("{}-{month:02}-{}T{}{}", &found[4], &found[2], &found[5], &found[6]);
        let at = read_time(&Value::from(clock))?;
        return make(
            at,
            of_status(&found[8]),
            &format!("\"{}\" {} {}", &found[7], &found[8], &found[9]),
            None,
            false,
        );
    }
    if let Some(found) = captures(&SLASHED, text) {
        let at = utc(&format!("{}-{}-{}T{}Z", &found[1], &found[2], &found[3], &found[4]))?;
        return make(at, "", &found[5], None, true);
    }
    if let Some(found) = captures(&KLOG, text) {
        let at = utc(&format!("{year}-{}-{}T{}Z", &found[2], &found[3], &found[4]))?;
        let level = match &found[1] {
            "E" => "error",
            "F" => "fatal",
            "W" => "warn",
            _ => "info",
        };
        return make(at, level, &found[5], None, true);
    }
    if let Some(found) = captures(&SYSLOG5, text) {
        return make(
            utc(&found[2])?,
            of_priority(&found[1]),
            &found[5],
            Some(found[4].to_owned()),
            false,
        );
    }
    if let Some(found) = captures(&SYSLOG, text) {
        let (month, day) = (month(&found[2])?, found[3].parse::<u8>().ok()?);
        let at = utc(&format!("{year}-{month:02}-{day:02}T{}Z", &found[4]))?;
        let level = found.get(1).map_or("", |it| of_priority(it.as_str()));
        return make(at, level, &found[7], Some(found[6].to_owned()), true);
    }
    parse_inner(text)
}

/// What a program writes by itself in pairs or with a number in front.
fn parse_inner(text: &str) -> Option<Parsed> {
    if text.starts_with('{') {
        let (at, level, text, trace) =
            super::records::log_parts(&serde_json::from_str(text).ok()?)?;
        return Some(Parsed { at, level, text, trace, host: None, without_zone: false });
    }
    let pattern = PAIR.as_ref()?;
    let mut pairs: BTreeMap<&str, String> = BTreeMap::new();
    for found in pattern.captures_iter(text) {
        let (Some(name), Some(value)) = (found.get(1), found.get(2)) else { continue };
        let value = value.as_str();
        let plain = serde_json::from_str::<String>(value)
            .unwrap_or_else(|_| value.trim_matches('"').to_owned());
        pairs.entry(name.as_str()).or_insert(plain);
    }
    let of = |names: &[&str]| names.iter().find_map(|name| pairs.get(name)).cloned();
    let at =
        of(&["ts", "time", "timestamp", "t"]).and_then(|it| read_time(&Value::from(it.as_str())));
    let number = || {
        text.split(' ').next().filter(|it| it.len() >= 10).and_then(|it| {
            read_time(&Value::from(it)).filter(|_| it.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let at = at.or_else(number)?;
    let level = of(&["level", "lvl", "severity"]);
    Some(Parsed {
        at: i64::try_from(at.as_nanosecond()).ok()?,
        level: level.unwrap_or_else(|| level_in(text).to_owned()),
        text: text.to_owned(),
        trace: of(&["trace_id", "traceID"]).unwrap_or_default(),
        host: None,
        without_zone: false,
    })
}

/// The level of a request by its status.
pub(super) fn of_status(status: &str) -> &'static str {
    match status.as_bytes().first() {
        Some(b'5') => "error",
        _ => "info",
    }
}

/// The level of a priority of syslog.
fn of_priority(priority: &str) -> &'static str {
    match priority.parse::<u32>().map(|it| it % 8) {
        Ok(0..=3) => "error",
        Ok(4) => "warn",
        Ok(7) => "debug",
        Ok(_) => "info",
        Err(_) => "",
    }
}

fn month(name: &str) -> Option<usize> {
    let all = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    all.iter().position(|it| *it == name).map(|at| at + 1)
}

/// A container of compose without the number of its replica: `cart-1`, `shop-cart-1`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once(['-', '_']) {
        Some((stem, number))
            if !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

fn is_events(header: &str) -> bool {
    ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        .iter()
        .all(|column| header.contains(column))
}

/// Whether a text is a table of times and numbers.
fn is_table(first: &str, head: &str) -> bool {
    let first = first.trim_start_matches('\u{feff}').replace('"', "");
    let mut columns = first.split([',', ';']).map(str::trim);
    let is_time = |it: &str| {
        ["time", "timestamp", "date", "datetime", "series"]
            .iter()
            .any(|name| it.eq_ignore_ascii_case(name))
    };
    let names: Vec<&str> = columns.by_ref().collect();
    names.len() >= 2 && names.first().is_some_and(|it| is_time(it)) && head.lines().count() > 1
}

/// Columns that two spaces or more divide, the last with all that follows.
fn columns(row: &str, count: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = row.trim();
    while found.len() + 1 < count {
        let Some(at) = rest.find("  ") else { break };
        let (field, tail) = rest.split_at(at);
        found.push(field.trim());
        rest = tail.trim_start();
    }
    found.push(rest);
    found
}

/// An age such as `5m30s` or `2d`, in milliseconds; of `5m (x10 over 1h)` the first.
fn age_of(text: &str) -> Option<i64> {
    let text = text.split([' ', '(']).next()?;
    let (mut sum, mut number, mut any) = (0_i64, 0_i64, false);
    for c in text.chars() {
        let unit = match c {
            '0'..='9' => {
                number = number.checked_mul(10)?.checked_add(i64::from(c.to_digit(10)?))?;
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'y' => 31_536_000,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        (number, any) = (0, true);
    }
    any.then_some(sum.checked_mul(1000)?)
}

/// A kind as the API writes it, from the short form of a table.
fn kind_of(short: &str) -> &str {
    match short.to_lowercase().as_str() {
        "pod" | "po" => "Pod",
        "node" => "Node",
        "deployment" | "deployment.apps" => "Deployment",
        "replicaset" | "replicaset.apps" => "ReplicaSet",
        "statefulset" | "statefulset.apps" => "StatefulSet",
        "daemonset" | "daemonset.apps" => "DaemonSet",
        "job" | "job.batch" => "Job",
        "cronjob" | "cronjob.batch" => "CronJob",
        "service" => "Service",
        "horizontalpodautoscaler" | "horizontalpodautoscaler.autoscaling" => {
            "HorizontalPodAutoscaler"
        }
        "persistentvolumeclaim" => "PersistentVolumeClaim",
        "ingress" => "Ingress",
        _ => short,
    }
}

/// Labels within the name of a series: `rate{service="cart"}`, or tags: `service:cart,env:eu`.
fn labels_in(name: &str) -> BTreeMap<String, String> {
    let inner = name.split_once('{').map_or(name, |(_, rest)| rest.trim_end_matches('}'));
    let pair = |pair: &str| {
        let (label, value) = pair.split_once(['=', ':'])?;
        let (label, value) = (label.trim(), value.trim().trim_matches('"'));
        (!label.is_empty() && !value.is_empty()).then(|| (label.to_owned(), value.to_owned()))
    };
    inner.split(',').filter_map(pair).collect()
}
