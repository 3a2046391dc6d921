//! The lines of one entity, by their patterns.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{EntityId, Timestamp};
use thin_vec::ThinVec;

use super::level::Level;
use super::{LogLine, LogPattern, MAX_LOG_PATTERNS, MAX_MESSAGE};
use crate::held::HEAP;
use crate::patterns::patterns_of;
use crate::template::{MAX_TEMPLATE, mask_values};
use crate::text::line_excerpt;

/// What distinguishes two patterns of an entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) level: Level,
    pub(super) signal: Signal,
    pub(super) peer: Option<(EntityId, PeerRole)>,
    pub(super) pattern: Box<str>,
}

/// What was collected of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The earliest line's message stands for all.
    pub(super) sample: (Timestamp, Box<str>),
    /// When its lines came; in a mined pattern in order.
    pub(super) times: Vec<Timestamp>,
}

/// Up to so many messages are searched one by one. Most entities that write at all write a few.
const FEW: usize = 8;

/// Lines by their masked messages, of which some are already patterns. There may be one for each entity, so
/// that what an empty one takes counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    /// Once settled the patterns, by their keys.
    kept: ThinVec<(Key, Pattern)>,
    /// The places in `kept` of a masked message: one for each level, signal and peer. Look-ups alone, and
    /// only beyond [`FEW`].
    #[expect(clippy::box_collection, reason = "most entities have none: a pointer takes a sixth")]
    places: Option<Box<HashMap<Box<str>, Vec<usize>>>>,
    /// Whether all lines were added.
    settled: bool,
    /// Whether the patterns found so far fill the places.
    full: bool,
    beyond: u32,
}

impl Book {
    /// One that is settled, of patterns that were found before.
    pub(super) fn of_mined(patterns: Vec<LogPattern>) -> Self {
        let mut mined: BTreeMap<Key, Pattern> = BTreeMap::new();
        for one in patterns {
            let LogPattern { pattern, level, signal, peer, example, times } = one;
            let Some(first) = times.first().copied() else { continue };
            let peer = peer.map(|peer| (peer.entity, peer.role));
            let key = Key { level: Level::of(level), signal, peer, pattern: pattern.into() };
            let sample = (first, line_excerpt(&example, MAX_MESSAGE).into());
            let found = Pattern { sample, times };
            match mined.get_mut(&key) {
                Some(known) => known.join(&found),
                None => drop(mined.insert(key, found)),
            }
        }
        Self { kept: in_order(mined).into(), settled: true, ..Self::default() }
    }

    /// Adds a line. Says how many bytes more are held then, about.
    pub(super) fn add(&mut self, line: &LogLine, level: Level) -> usize {
        self.settled = false;
        let mut masked = String::with_capacity(line.message.len().min(MAX_TEMPLATE));
        mask_values(&line.message, &mut masked);
        self.add_masked(line, level, &masked)
    }

    fn add_masked(&mut self, line: &LogLine, level: Level, masked: &str) -> usize {
        let signal = line.signal.unwrap_or(level.signal());
        let is_same = |key: &Key| {
            let peer = key.peer.as_ref().map(|(entity, role)| (entity, *role));
            key.level == level
                && key.signal == signal
                && peer == line.peer.as_ref().map(|peer| (&peer.entity, peer.role))
        };
        let kept = &mut self.kept;
        let known = match &self.places {
            Some(places) => {
                let mut places = places.get(masked).into_iter().flatten().copied();
                places.find(|place| kept.get(*place).is_some_and(|(key, _)| is_same(key)))
            }
            None => kept.iter().position(|(key, _)| &*key.pattern == masked && is_same(key)),
        };
        if let Some((_, pattern)) = known.and_then(|place| kept.get_mut(place)) {
            return pattern.add(line);
        }
        if self.kept.len() >= MAX_LOG_PATTERNS && !self.full {
            self.merge();
            // Its pattern may be known by now.
            return self.add_masked(line, level, masked);
        }
        if self.kept.len() >= MAX_LOG_PATTERNS {
            self.beyond = self.beyond.saturating_add(1);
            return 0;
        }
        let peer = line.peer.clone().map(|peer| (peer.entity, peer.role));
        let key = Key { level, signal, peer, pattern: masked.into() };
        let sample = (line.time, line_excerpt(&line.message, MAX_MESSAGE).into_boxed_str());
        let texts = masked.len() + sample.1.len() + size_of::<Timestamp>() + 4 * HEAP;
        self.keep(key, Pattern { sample, times: vec![line.time] });
        // The first takes no room beside it, and the places of a few are not kept.
        let (times, place) = match self.kept.len() {
            1 => (1, 0),
            2..=FEW => (2, 0),
            _ => (2, masked.len() + 4 * HEAP),
        };
        times * size_of::<(Key, Pattern)>() + texts + place
    }

    fn keep(&mut self, key: Key, pattern: Pattern) {
        if self.kept.is_empty() {
            self.kept.reserve_exact(1);
        }
        self.kept.push((key, pattern));
        let from = match self.places {
            None if self.kept.len() <= FEW => return,
            None => 0,
            Some(_) => self.kept.len() - 1,
        };
        let places = self.places.get_or_insert_default();
        for (place, (key, _)) in self.kept.iter().enumerate().skip(from) {
            places.entry(key.pattern.clone()).or_default().push(place);
        }
    }

    /// Replaces masked messages by their patterns, to make room.
    fn merge(&mut self) {
        let mined = self.mine();
        self.full = mined.len() > MAX_LOG_PATTERNS / 2;
        self.kept.clear();
        self.places = None;
        for (key, pattern) in mined {
            self.keep(key, pattern);
        }
    }

    /// Finds the patterns once, after the last line.
    pub(super) fn settle(&mut self) {
        if !self.settled {
            self.kept = self.mined().into_owned().into();
            (self.places, self.settled) = (None, true);
        }
    }

    /// The patterns among all messages, each with what was collected of it.
    pub(super) fn mined(&self) -> Cow<'_, [(Key, Pattern)]> {
        match self.settled {
            true => Cow::Borrowed(&self.kept),
            false => Cow::Owned(self.mine()),
        }
    }

    fn mine(&self) -> Vec<(Key, Pattern)> {
        let messages: BTreeSet<&str> = self.kept.iter().map(|(key, _)| &*key.pattern).collect();
        let patterns = patterns_of(&messages);
        let mut mined: BTreeMap<Key, Pattern> = BTreeMap::new();
        for (key, part) in &self.kept {
            let text = patterns.get(&*key.pattern).map_or(&*key.pattern, |pattern| pattern);
            let key = Key { pattern: text.into(), ..key.clone() };
            match mined.get_mut(&key) {
                Some(pattern) => pattern.join(part),
                None => drop(mined.insert(key, part.clone())),
            }
        }
        in_order(mined)
    }

    /// The same, as they are handed out.
    pub(super) fn patterns(&self) -> Vec<LogPattern> {
        let pattern = |(key, pattern): &(Key, Pattern)| LogPattern {
            pattern: key.pattern.to_string(),
            level: key.level.name(),
            signal: key.signal,
            peer: key.peer.clone().map(|(entity, role)| Peer { entity, role }),
            example: pattern.sample.1.to_string(),
            times: pattern.times.clone(),
        };
        self.mined().iter().map(pattern).collect()
    }

    /// The entities that the lines name.
    pub(super) fn peers(&self) -> impl Iterator<Item = (&EntityId, PeerRole)> {
        let peers = self.kept.iter().filter_map(|(key, _)| key.peer.as_ref());
        peers.map(|(entity, role)| (entity, *role))
    }

    /// The times of all lines, in no order.
    pub(super) fn times(&self) -> impl Iterator<Item = Timestamp> {
        self.kept.iter().flat_map(|(_, pattern)| pattern.times.iter().copied())
    }

    /// How many lines were not kept.
    pub(super) fn beyond(&self) -> usize {
        self.beyond as usize
    }
}

fn in_order(mut mined: BTreeMap<Key, Pattern>) -> Vec<(Key, Pattern)> {
    for pattern in mined.values_mut() {
        // Runs that are in order, which this sort makes use of.
        pattern.times.sort();
    }
    mined.into_iter().collect()
}

/// By what was collected, in whatever order it came.
impl PartialEq for Book {
    fn eq(&self, other: &Self) -> bool {
        self.beyond == other.beyond && self.mined() == other.mined()
    }
}

impl Pattern {
    fn add(&mut self, line: &LogLine) -> usize {
        self.times.push(line.time);
        if line.time <= self.sample.0 {
            let sample = (line.time, line_excerpt(&line.message, MAX_MESSAGE).into_boxed_str());
            if sample < self.sample {
                self.sample = sample;
            }
        }
        2 * size_of::<Timestamp>()
    }

    fn join(&mut self, other: &Self) {
        self.times.extend_from_slice(&other.times);
        if other.sample < self.sample {
            self.sample = other.sample.clone();
        }
    }
}
