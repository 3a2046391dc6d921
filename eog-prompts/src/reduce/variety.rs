//! Repeats are shown once: findings that say the same of many entities become one family.

use std::collections::BTreeMap;

use eog_core::Finding;
use eog_evidence::words;

/// How many words of a text make its shape.
const SHAPE_WORDS: usize = 8;

/// A finding that stands for others that say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The position of the finding that is shown.
    pub(crate) shown: usize,
    /// The positions of those that it stands for, in order.
    pub(crate) alike: Vec<usize>,
}

/// Groups findings by what they say, whatever entity they say it of. The first `each` of a shape
/// stand for themselves; the last of these stands for all that follow. In the given order.
pub(crate) fn families(findings: &[&Finding], each: usize) -> Vec<Family> {
    let mut found: Vec<Family> = Vec::new();
    // For each shape how many stand for themselves, and where the last of them is.
    let mut known: BTreeMap<Shape, (usize, usize)> = BTreeMap::new();
    for (position, finding) in findings.iter().enumerate() {
        let (count, last) = known.entry(shape(finding)).or_default();
        if *count < each.max(1) {
            (*count, *last) = (*count + 1, found.len());
            found.push(Family { shown: position, alike: Vec::new() });
        } else {
            found[*last].alike.push(position);
        }
    }
    found
}

type Shape = (&'static str, String, Vec<String>);

/// What a finding says without the names and numbers in it. Changes differ by their values too.
fn shape(finding: &Finding) -> Shape {
    let signal = format!("{:?} {:?}", finding.signal, finding.trend);
    match &finding.change {
        Some(change) => {
            let mut said = fixed_words(&change.path);
            said.extend([&change.old, &change.new].map(|value| format!("{value:?}")));
            ("change", signal, said)
        }
        None => ("other", signal, fixed_words(&finding.excerpt)),
    }
}

/// The first words of a text that hold no digit: what is left differs by meaning, not by name.
fn fixed_words(text: &str) -> Vec<String> {
    let whole = words(text).into_iter();
    whole.filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit())).take(SHAPE_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent, Signal, Trend};
    use eog_core::{EntityId, EvidenceKind, Timestamp};

    use super::*;

    fn event(entity: &str, excerpt: &str) -> Finding {
        Finding::new(FindingContent {
            entity: EntityId::new(entity).expect("a name"),
            kind: EvidenceKind::Event,
            signal: Signal::Exhaustion,
            trend: Trend::Rising,
            time: EvidenceTime::At(Timestamp::UNIX_EPOCH),
            quantity: None,
            change: None,
            peer: None,
            source: String::new(),
            query: String::new(),
            excerpt: excerpt.into(),
            onset: None,
        })
    }

    fn change(entity: &str, new: &str) -> Finding {
        let detail = ChangeDetail { path: "image".into(), old: None, new: Some(new.into()) };
        let content = event(entity, "").content().clone();
        Finding::new(FindingContent { kind: EvidenceKind::Change, change: Some(detail), ..content })
    }

    #[test]
    fn repeats_stand_behind_the_first_ones() {
        let all = [
            event("db-1", "Killed, 3 times: pod db-1x"),
            event("db-2", "Killed, 41 times: pod db-2y"),
            event("web", "Evicted, once: node is full"),
            event("db-3", "Killed, 7 times: pod db-3z"),
            event("db-4", "Killed, 7 times: pod db-4z"),
        ];
        let found = families(&all.iter().collect::<Vec<_>>(), 2);
        let shown: Vec<usize> = found.iter().map(|family| family.shown).collect();
        assert_eq!(shown, [0, 1, 2]);
        assert_eq!(found[1].alike, [3, 4]);
        assert!(found[0].alike.is_empty() && found[2].alike.is_empty());
    }

    #[test]
    fn changes_to_other_values_are_no_repeats() {
        let all = [change("a", "v1"), change("b", "v2"), change("c", "v2")];
        let found = families(&all.iter().collect::<Vec<_>>(), 1);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].alike, [2]);
    }
}
