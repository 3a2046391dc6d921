//! Evidence, neighbours and claims as short lines: nothing is said twice.

use eog_core::contract::Hint;
use eog_core::evidence::{EvidenceTime, PeerRole, Signal};
use eog_core::incident::{CLAIM_RELATION, Direction, Neighbour, Onset, to_the_second};
use eog_core::{Claim, EvidenceKind, Finding, Label, Timestamp, Window};
use eog_evidence::{
    MASK, is_secret_field, mask_named, mask_text, rounded, shorten, shorten_change, shorten_line,
};
use serde::Serialize;

/// Shows times without the day that the prompt names once.
pub(crate) struct Clock {
    day: String,
    start: Timestamp,
}

impl Clock {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            day: to_the_second(window.start()).chars().take(10).collect(),
            start: window.start(),
        }
    }

    pub(crate) fn day(&self) -> &str {
        &self.day
    }

    /// `12:08`, `12:08:30`, or `2026-03-19 12:08` on another day.
    pub(crate) fn show(&self, at: Timestamp) -> String {
        let text = to_the_second(at);
        let (day, time) = text.split_once('T').unwrap_or(("", &text));
        let time = time.trim_end_matches('Z');
        let time = time.strip_suffix(":00").unwrap_or(time);
        if day == self.day { time.to_owned() } else { format!("{day} {time}") }
    }

    /// A text of ours in which instants stand as they are written elsewhere: `12:08` for
    /// `2026-03-20T12:08:00Z`.
    fn within(&self, text: &str) -> String {
        const LENGTH: usize = "2026-03-20T12:08:00Z".len();
        let mut said = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let instant = rest.get(..LENGTH).filter(|_| first.is_ascii_digit());
            match instant.and_then(|instant| instant.parse().ok()) {
                Some(at) if !said.ends_with(|before: char| before.is_ascii_digit()) => {
                    said += &self.show(at);
                    rest = &rest[LENGTH..];
                }
                _ => {
                    said.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        said
    }

    /// When an alert became active; said as such if that was before the window.
    pub(crate) fn show_alert(&self, at: Timestamp) -> String {
        let time = self.show(at);
        if at < self.start { format!("{time} (before the window)") } else { time }
    }

    /// The end of a window. Many end one second after the last instant they speak of.
    pub(crate) fn show_end(&self, end: Timestamp) -> String {
        let text = self.show(end);
        match text.strip_suffix(":01") {
            Some(minute) if minute.contains(':') => minute.to_owned(),
            _ => text,
        }
    }

    fn span(&self, time: EvidenceTime) -> String {
        match time {
            EvidenceTime::At(at) => self.show(at),
            EvidenceTime::During(window) => {
                format!("{}-{}", self.show(window.start()), self.show_end(window.end()))
            }
        }
    }

    /// The interval in which something began, or the instant. How long before the window says nothing
    /// more than that it was before the window.
    pub(crate) fn interval(&self, onset: Onset) -> String {
        if onset.latest() < self.start {
            return format!("before the window, by {}", self.show(onset.latest()));
        }
        if onset.earliest() < self.start {
            return format!("by {}", self.show(onset.latest()));
        }
        let [earliest, latest] = [onset.earliest(), onset.latest()].map(|at| self.show(at));
        if earliest == latest { earliest } else { format!("{earliest}-{latest}") }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FindingLine {
    number: u32,
    /// The last number, where one line stands for several findings that differ by the other entity alone.
    until: Option<u32>,
    time: String,
    /// The interval in which it began; empty where that is not known, or is the time.
    began: String,
    kind: &'static str,
    signal: String,
    /// Empty when it is steady.
    trend: &'static str,
    peer: Option<PeerPart>,
    /// Numbers of evidence that speaks against it.
    against: Vec<u32>,
    /// What the text does not say already: value or change.
    detail: String,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PeerPart {
    role: &'static str,
    entity: String,
    /// The other entities of a line that stands for several findings.
    others: Vec<String>,
}

/// What a line that stands for several findings says in place of the name of the other entity.
const EACH: &str = "each of these";

impl FindingLine {
    /// The same line with numbers of evidence that speaks against it.
    pub(crate) fn with_against(self, against: Vec<u32>) -> Self {
        Self { against, ..self }
    }

    /// One line for this and the next finding, if they differ by the other entity alone.
    fn joined(&self, next: &Self) -> Option<Self> {
        let (peer, other) = (self.peer.as_ref()?, next.peer.as_ref()?);
        let text = match self.until {
            None => with_name_replaced(&self.text, &peer.entity, EACH)?,
            Some(_) => self.text.clone(),
        };
        let same = Self {
            number: next.number,
            until: None,
            text: next.text.clone(),
            peer: next.peer.clone(),
            ..self.clone()
        };
        let is_same = same == *next;
        let is_next = self.until.unwrap_or(self.number).checked_add(1) == Some(next.number);
        let alike = with_name_replaced(&next.text, &other.entity, EACH)? == text;
        if !(is_same && is_next && alike && peer.role == other.role && peer.entity != other.entity)
        {
            return None;
        }
        let mut peer = peer.clone();
        peer.others.push(other.entity.clone());
        Some(Self { until: Some(next.number), text, peer: Some(peer), ..self.clone() })
    }
}

/// A text with one entity's name replaced; nothing where the name does not stand there as a whole.
fn with_name_replaced(text: &str, name: &str, by: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        said += before;
        said += if is_whole { by } else { name };
        rest = after;
    }
    said += rest;
    (said != text).then_some(said)
}

/// One line for findings in a row that differ by the other entity alone: equal shares of many
/// neighbours take one line, not one each.
pub(crate) fn joined_lines<T>(
    lines: impl IntoIterator<Item = T>,
    line_of: impl Fn(&mut T) -> &mut FindingLine,
    is_of_same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut joined: Vec<T> = Vec::new();
    for mut line in lines {
        if let Some(last) = joined.last_mut()
            && is_of_same(last, &line)
            && let Some(both) = line_of(last).joined(line_of(&mut line))
        {
            *line_of(last) = both;
        } else {
            joined.push(line);
        }
    }
    joined
}

pub(crate) fn finding_line(
    finding: &Finding,
    number: u32,
    clock: &Clock,
    limit: Option<usize>,
) -> FindingLine {
    let mut text = finding.excerpt.clone();
    let mut detail = String::new();
    if let Some(change) = &finding.change {
        let values = [&change.old, &change.new];
        for value in values.into_iter().flatten() {
            if is_secret_field(&change.path, value) {
                text = text.replace(value.as_str(), MASK);
            }
        }
        // What the text says as a quoted string is said once, and not quoted twice.
        for value in values.into_iter().flatten() {
            if !text.contains(value.as_str()) {
                text = text.replace(&format!("{value:?}"), "…");
            }
        }
        // What the text does not say whole is said here.
        let is_given = |value: &Option<String>| {
            value.as_ref().is_none_or(|value| {
                is_secret_field(&change.path, value) || text.contains(value.as_str())
            })
        };
        if finding.signal == Signal::Impact {
            // The change is one of the entity itself, which stands there whole.
            detail.clone_from(&change.path);
        } else if !text.contains(&change.path) || !values.into_iter().all(is_given) {
            let [old, new] = values.map(|value| match value {
                Some(value) => mask_named(&change.path, value),
                None => "nothing".to_owned(),
            });
            detail = format!("{}: {old} -> {new}", change.path);
        }
    }
    if let Some(quantity) = &finding.quantity {
        let observed = rounded(quantity.observed);
        // Counted things are described by their text.
        if detail.is_empty() && text.is_empty() {
            let before = quantity.baseline.map(|baseline| format!("{} -> ", rounded(baseline)));
            detail = format!("{}{observed} {}", before.unwrap_or_default(), quantity.unit);
        }
    }
    let shown = |text: &str| match limit {
        Some(limit) if finding.kind == EvidenceKind::Change => shorten_change(text, limit),
        Some(limit) if finding.kind == EvidenceKind::Log => shorten_line(text, limit),
        _ => cut(text, limit),
    };
    // What was recorded stays as it is.
    if matches!(finding.kind, EvidenceKind::Note | EvidenceKind::Alert) {
        text = clock.within(&text);
    }
    let is_measured = !matches!(finding.kind, EvidenceKind::Note | EvidenceKind::Change);
    let time = clock.span(finding.time);
    // An interval that begins nowhere and ends after the first observation says less than that one.
    let is_precise =
        |onset: &Onset| onset.earliest() >= clock.start || onset.latest() <= finding.time.start();
    let began = finding.onset.filter(is_precise).map(|onset| clock.interval(onset));
    FindingLine {
        number,
        until: None,
        began: began.filter(|began| *began != time).unwrap_or_default(),
        time,
        kind: kind_word(finding.kind),
        signal: snake(&finding.signal),
        // Of what is compared the text gives both values; "rising" beside values that fall would
        // speak of the deviation.
        trend: match finding.trend {
            _ if !is_measured || finding.signal == Signal::Other => "",
            eog_core::evidence::Trend::Rising => "rising",
            eog_core::evidence::Trend::Falling => "falling",
            eog_core::evidence::Trend::Steady => "",
        },
        peer: finding.peer.as_ref().map(|peer| PeerPart {
            role: role_word(peer.role),
            entity: peer.entity.to_string(),
            others: Vec::new(),
        }),
        against: Vec::new(),
        detail: shown(&mask_text(&detail)),
        text: shown(&mask_text(&text)),
    }
}

/// The neighbours that stand and are related alike.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NeighbourLine {
    direction: &'static str,
    /// Empty when only a claim joins them.
    relation: String,
    outgoing: bool,
    names: Vec<NeighbourName>,
}

#[derive(Clone, Debug, Serialize)]
struct NeighbourName {
    entity: String,
    /// What is known of it before it is evaluated; empty where nothing is.
    hint: String,
}

/// A hint in words, such as `2 alerts, 1 change`.
fn hint_words(hint: &Hint) -> String {
    let counted = |count: u32, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let parts = [counted(hint.anomalies, "alert"), counted(hint.changes, "change")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn neighbour_lines<'a>(
    neighbours: impl Iterator<Item = &'a Neighbour>,
    hints: &[Hint],
) -> Vec<NeighbourLine> {
    let mut lines: Vec<(Direction, NeighbourLine)> = Vec::new();
    for neighbour in neighbours {
        let hint = hints.iter().find(|hint| hint.entity == neighbour.entity);
        let hint = hint.map(hint_words).unwrap_or_default();
        let name = NeighbourName { entity: neighbour.entity.to_string(), hint };
        let claimed = neighbour.relation == CLAIM_RELATION;
        let relation = if claimed { String::new() } else { neighbour.relation.clone() };
        let outgoing = neighbour.outgoing || claimed;
        let alike = lines.iter_mut().find(|(direction, line)| {
            *direction == neighbour.direction
                && line.relation == relation
                && line.outgoing == outgoing
        });
        match alike {
            Some((_, line)) => line.names.push(name),
            None => {
                let direction = match neighbour.direction {
                    Direction::Upstream => "upstream",
                    Direction::Downstream => "downstream",
                    Direction::Both => "both ways",
                };
                let line = NeighbourLine { direction, relation, outgoing, names: vec![name] };
                lines.push((neighbour.direction, line));
            }
        }
    }
    lines.sort_by(|(a, line), (b, other)| {
        (a, &line.relation, line.outgoing).cmp(&(b, &other.relation, other.outgoing))
    });
    lines.into_iter().map(|(_, line)| line).collect()
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClaimPart {
    cause: String,
    effect: String,
    condition: String,
    observed: String,
}

impl ClaimPart {
    pub(crate) fn new(claim: &Claim, limit: Option<usize>) -> Self {
        Self {
            cause: claim.cause.to_string(),
            effect: claim.effect.to_string(),
            condition: cut(&mask_text(&claim.condition), limit),
            observed: cut(&mask_text(&claim.observed), limit),
        }
    }

    /// Without how it shows, where that is of no use.
    pub(crate) fn of_others(self) -> Self {
        Self { observed: String::new(), ..self }
    }
}

/// A label as prompts write it.
pub(crate) fn label_word(label: Label) -> &'static str {
    match label {
        Label::Healthy => "healthy",
        Label::Symptom => "symptom",
        Label::Origin => "origin",
        Label::Defer => "defer",
    }
}

/// Masked before it is cut: what is cut off may be what makes it recognisable as a secret.
pub(crate) fn cut(text: &str, limit: Option<usize>) -> String {
    limit.map_or_else(|| text.to_owned(), |limit| shorten(text, limit))
}

pub(crate) fn kind_word(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Change => "change",
        EvidenceKind::Event => "event",
        EvidenceKind::Metric => "metric",
        EvidenceKind::Log => "log",
        EvidenceKind::Span => "span",
        EvidenceKind::Alert => "alert",
        EvidenceKind::Note => "note",
    }
}

/// Several of a kind.
pub(crate) fn kinds_word(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Change => "changes",
        EvidenceKind::Event => "events",
        EvidenceKind::Metric => "metrics",
        EvidenceKind::Log => "logs",
        EvidenceKind::Span => "spans",
        EvidenceKind::Alert => "alerts",
        EvidenceKind::Note => "notes",
    }
}

fn role_word(role: PeerRole) -> &'static str {
    match role {
        PeerRole::Caller => "sender",
        PeerRole::Callee => "receiver",
        PeerRole::NextUpstream => "from",
        PeerRole::NextDownstream => "on to",
        _ => "about",
    }
}

/// The name under which a signal is stored.
fn snake(signal: &eog_core::evidence::Signal) -> String {
    let name = serde_json::to_value(signal).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u32, peer: &str, text: &str) -> FindingLine {
        let peer = PeerPart { role: "from", entity: peer.into(), others: Vec::new() };
        FindingLine {
            number,
            until: None,
            time: "12:00".into(),
            began: String::new(),
            kind: "note",
            signal: "errors".into(),
            trend: "",
            peer: Some(peer),
            against: Vec::new(),
            detail: String::new(),
            text: text.into(),
        }
    }

    fn joined(lines: &[(u32, &str, &str)]) -> Vec<(u32, Option<u32>, String, usize)> {
        let lines = lines.iter().map(|(number, peer, text)| line(*number, peer, text));
        let joined = joined_lines(lines, |line| line, |_, _| true);
        let lines = joined.into_iter().map(|line| {
            let others = line.peer.map_or(0, |peer| peer.others.len());
            (line.number, line.until, line.text, others)
        });
        lines.collect()
    }

    #[test]
    fn findings_that_differ_by_the_other_entity_alone_take_one_line() {
        let lines = joined(&[
            (1, "shop/cart", "0 % more fail at shop/cart, 15 % more at shop/web"),
            (2, "shop/ad", "0 % more fail at shop/ad, 15 % more at shop/web"),
            (3, "shop/pay", "0 % more fail at shop/pay, 15 % more at shop/web"),
            (4, "shop/mail", "8 % more fail at shop/mail, 15 % more at shop/web"),
        ]);
        let each = "0 % more fail at each of these, 15 % more at shop/web";
        let own = "8 % more fail at shop/mail, 15 % more at shop/web";
        assert_eq!(lines, [(1, Some(3), each.into(), 2), (4, None, own.into(), 0)]);
    }

    #[test]
    fn names_that_do_not_stand_there_whole_and_numbers_not_in_a_row_keep_their_lines() {
        let lines = [(1, "cart", "cart-db is slow"), (2, "ad", "ad-db is slow")];
        assert_eq!(joined(&lines).len(), 2);
        let lines = [(1, "cart", "cart is slow"), (3, "ad", "ad is slow")];
        assert_eq!(joined(&lines).len(), 2);
        let lines = [(1, "cart", "cart is slow"), (2, "cart", "cart is slow")];
        assert_eq!(joined(&lines).len(), 2);
    }
}
