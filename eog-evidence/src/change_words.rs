//! Which changes speak of what went wrong: those with words of alerts and of new errors that few other changes have.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::FindingContent;
use eog_core::{Anomaly, EntityId, Finding};

use crate::intervals::Intervals;
use crate::logs::LogPattern;
use crate::note::Note;
use crate::series::Periods;
use crate::text::words;

/// Shorter words say little.
const SHORTEST: usize = 3;
/// At most so many words are quoted.
const MAX_QUOTED: usize = 5;
/// Words that any text may have.
const COMMON: [&str; 38] = [
    "all", "and", "any", "are", "but", "can", "could", "did", "for", "from", "had", "has", "have",
    "into", "its", "more", "new", "not", "now", "off", "old", "one", "out", "over", "per", "than",
    "that", "the", "then", "this", "too", "two", "was", "were", "when", "will", "with", "you",
];

/// The words of alerts and of errors that are new, and those that lines had before.
///
/// ```
/// use eog_core::Window;
/// use eog_evidence::{Periods, TroubleWords};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let words = TroubleWords::new(&[], std::iter::empty(), &Periods::new(window));
/// assert!(words.notes(&[], "changes.json").is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TroubleWords {
    new: BTreeSet<String>,
    usual: BTreeSet<String>,
    /// When lines were usual.
    baseline: Intervals,
    /// Parts of names of entities: where a change was made is weighed otherwise.
    names: BTreeSet<String>,
}

impl TroubleWords {
    /// The words of these alerts, without those of names.
    pub fn new<'a>(
        anomalies: &[Anomaly],
        names: impl Iterator<Item = &'a EntityId>,
        periods: &Periods,
    ) -> Self {
        let new = anomalies
            .iter()
            .flat_map(|alert| [alert.name.as_str(), alert.description.as_str()].map(significant))
            .flatten()
            .collect();
        let names = names.flat_map(|name| significant(name.as_str())).collect();
        Self { new, names, usual: BTreeSet::new(), baseline: periods.counting_baseline() }
    }

    /// Adds errors or warnings that say the same. They are new where none was written within the baseline.
    pub fn add(&mut self, pattern: &LogPattern) {
        let is_usual = pattern.times.iter().any(|at| self.baseline.contains(*at));
        let texts = [pattern.pattern.as_str(), pattern.example.as_str()];
        let words = texts.into_iter().flat_map(significant);
        if is_usual { self.usual.extend(words) } else { self.new.extend(words) }
    }

    /// A note for every change that has such words: its size is the sum over them of `ln(1 + (n - d + ½) / (d + ½))`,
    /// the inverse document frequency of BM25 (Robertson and Zaragoza 2009), where `d` of `n` changes have the word.
    pub fn notes(&self, changes: &[Finding], source: &str) -> Vec<Finding> {
        let said: Vec<BTreeSet<String>> =
            changes.iter().map(|change| self.said_by(change)).collect();
        let mut having: BTreeMap<&str, usize> = BTreeMap::new();
        for word in said.iter().flatten() {
            *having.entry(word).or_default() += 1;
        }
        let all = changes.len() as f64;
        let rarity = |word: &str| {
            let having = having.get(word).copied().unwrap_or(0) as f64;
            libm::log1p((all - having + 0.5) / (having + 0.5))
        };
        let notes = changes.iter().zip(&said).filter(|(_, words)| !words.is_empty());
        let note = |(change, words): (&Finding, &BTreeSet<String>)| {
            let mut rarest: Vec<(&str, f64)> =
                words.iter().map(|word| (word.as_str(), rarity(word))).collect();
            rarest.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
            let size = rarest.iter().map(|(_, rarity)| rarity).sum();
            let quoted: Vec<String> =
                rarest.iter().take(MAX_QUOTED).map(|(word, _)| format!("{word:?}")).collect();
            Finding::new(FindingContent {
                onset: change.onset,
                source: source.to_owned(),
                query: query(change),
                excerpt: format!(
                    "its words {} are in alerts or new errors, and in few other changes",
                    quoted.join(", ")
                ),
                ..Note::ChangeWords { rarity: size }.content(&change.entity, change.time)
            })
        };
        notes.map(note).collect()
    }

    /// Words of a change that speak of trouble.
    fn said_by(&self, change: &Finding) -> BTreeSet<String> {
        let speaks = |word: &String| {
            self.new.contains(word) && !self.usual.contains(word) && !self.names.contains(word)
        };
        significant(&change.excerpt).filter(speaks).collect()
    }
}

/// Whether a note is about the words of this change.
pub(crate) fn is_of(note: &Finding, change: &Finding) -> bool {
    note.query == query(change)
}

fn query(change: &Finding) -> String {
    format!("words of change={}", change.id())
}

/// Words that may be significant.
fn significant(text: &str) -> impl Iterator<Item = String> + use<> {
    words(text).into_iter().filter(|word| {
        word.chars().count() >= SHORTEST
            && !word.chars().any(|one| one.is_ascii_digit())
            && !COMMON.contains(&word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use eog_core::evidence::{EvidenceTime, Signal};
    use eog_core::{EvidenceKind, Timestamp, Window};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn change(entity: &str, excerpt: &str) -> Finding {
        let time = EvidenceTime::At(at(60));
        Finding::new(FindingContent {
            excerpt: excerpt.to_owned(),
            ..FindingContent::new(
                EntityId::new(entity).unwrap(),
                EvidenceKind::Change,
                Signal::Configuration,
                time,
            )
        })
    }

    fn line(message: &str, second: i64) -> LogPattern {
        LogPattern {
            pattern: message.to_owned(),
            level: "error",
            signal: Signal::Errors,
            peer: None,
            example: message.to_owned(),
            times: vec![at(second)],
        }
    }

    #[test]
    fn the_change_that_has_rare_words_of_new_errors_says_most() {
        let names = ["cart", "db"].map(|name| EntityId::new(name).unwrap());
        let before = Window::new(at(0), at(90)).unwrap();
        let window = Window::new(at(90), at(200)).unwrap();
        let periods = Periods { baseline: Some(before).into(), ..Periods::new(window) };
        let mut words = TroubleWords::new(&[], names.iter(), &periods);
        words.add(&line("timeout waiting for a free connection of the pool, cart", 100));
        words.add(&line("cache miss while refreshing", 10));
        let changes = [
            change("db", "maxPoolSize from \"50\" to \"5\": fewer connection slots"),
            change("cart", "cart image v1 to v2, refreshing the cache and the connection"),
            change("web", "image v7 to v8"),
        ];
        let notes = words.notes(&changes, "changes.json");
        let said: Vec<(&str, bool)> =
            notes.iter().map(|note| (note.entity.as_str(), is_of(note, &changes[0]))).collect();
        // Names, usual words, and what nothing speaks of are left out.
        assert_eq!(said, [("db", true), ("cart", false)]);
        let size = |note: &Finding| note.quantity.as_ref().unwrap().observed;
        // "connection" is in two of three changes, "pool" in one.
        let (rare, common) = (libm::log1p(2.5 / 1.5), libm::log1p(1.5 / 2.5));
        assert!((size(&notes[0]) - rare - common).abs() < 1e-12);
        assert!((size(&notes[1]) - common).abs() < 1e-12);
        assert!(notes[0].excerpt.starts_with("its words \"pool\", \"connection\" are"));
    }
}
