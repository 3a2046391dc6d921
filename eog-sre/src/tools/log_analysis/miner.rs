//! Patterns of log lines: templates that say the same are merged, after Drain.
//!
//! Masking is that of the evidence (`eog_evidence::template`), so that a pattern here and in a finding
//! are one. What follows is the grouping step of Drain (He et al., 2017): templates of one length
//! and one first word belong together when enough of their words are equal; words that differ
//! become holes. Templates are grouped and not lines, and always in one order, so that the result
//! depends on what was said alone.

use std::collections::BTreeMap;

use eog_evidence::HOLE;

/// Fewest words in common: short messages differ in the word that matters.
const MIN_EQUAL_WORDS: usize = 3;

/// Most groups that one template is compared with.
const MAX_COMPARED: usize = 200;

/// A template and how grave its lines are; lines of different gravity are never merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Template<'a> {
    pub(crate) gravity: u8,
    pub(crate) text: &'a str,
}

/// Groups templates. Gives for each its pattern: the template itself, or the merged one.
///
/// `similarity` is the share of words that must be equal, from 0 to 1; with 1 nothing is merged.
pub(crate) fn patterns<'a>(
    templates: impl IntoIterator<Item = Template<'a>>,
    similarity: f64,
) -> BTreeMap<Template<'a>, String> {
    let mut sorted: Vec<Template<'a>> = templates.into_iter().collect();
    sorted.sort();
    sorted.dedup();
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut leaves: BTreeMap<Leaf<'a>, Vec<usize>> = BTreeMap::new();
    for template in sorted {
        let words: Vec<&str> = template.text.split(' ').collect();
        let leaf = (template.gravity, words.len(), words.first().copied().unwrap_or_default());
        let known = leaves.entry(leaf).or_default();
        let alike = known.iter().copied().take(MAX_COMPARED).filter_map(|at| {
            let share = groups.get(at)?.likeness(&words)?;
            (share >= similarity).then_some((at, share))
        });
        // Of equally alike groups the first.
        let best = alike.reduce(|best, next| if next.1 > best.1 { next } else { best });
        match best.and_then(|(at, _)| groups.get_mut(at)) {
            Some(group) => group.merge(template, &words),
            None => {
                known.push(groups.len());
                groups.push(Group { words, members: vec![template] });
            }
        }
    }
    let of_group = |group: Group<'a>| {
        let pattern = group.pattern();
        group.members.into_iter().map(move |member| (member, pattern.clone()))
    };
    groups.into_iter().flat_map(of_group).collect()
}

/// Gravity, number of words, first word: the leaf of Drain's tree.
type Leaf<'a> = (u8, usize, &'a str);

struct Group<'a> {
    words: Vec<&'a str>,
    members: Vec<Template<'a>>,
}

impl<'a> Group<'a> {
    /// The share of equal words, when there are enough of them. A hole equals nothing.
    fn likeness(&self, words: &[&str]) -> Option<f64> {
        let equal = self.words.iter().zip(words).filter(|(a, b)| a == b && **a != HOLE).count();
        (equal >= MIN_EQUAL_WORDS).then(|| equal as f64 / words.len() as f64)
    }

    fn merge(&mut self, template: Template<'a>, words: &[&'a str]) {
        for (own, other) in self.words.iter_mut().zip(words) {
            if own != other {
                *own = HOLE;
            }
        }
        self.members.push(template);
    }

    /// The words, holes side by side being one.
    fn pattern(&self) -> String {
        let mut words = self.words.clone();
        words.dedup_by(|a, b| a == b && *a == HOLE);
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mined(lines: &[(u8, &str)], similarity: f64) -> Vec<String> {
        let templates = lines.iter().map(|(gravity, text)| Template { gravity: *gravity, text });
        let mut found: Vec<String> = patterns(templates, similarity).into_values().collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn what_differs_in_a_word_is_one_pattern() {
        let lines = [
            (0, "offer requested for [books] today"),
            (0, "offer requested for [music] today"),
            (0, "offer requested for [films] today"),
            (0, "offer declined"),
        ];
        let merged = ["offer declined", "offer requested for <*> today"];
        assert_eq!(mined(&lines, 0.5), merged);
        assert_eq!(mined(&lines, 1.0).len(), 4);
        let mut backwards = lines;
        backwards.reverse();
        assert_eq!(mined(&backwards, 0.5), merged);
    }

    #[test]
    fn short_messages_and_other_gravities_stay_apart() {
        let lines = [
            (0, "payment went through"),
            (0, "payment went wrong"),
            (0, "request for x done well"),
            (2, "request for x done badly"),
        ];
        assert_eq!(mined(&lines, 0.5).len(), 4);
    }

    #[test]
    fn holes_count_as_different() {
        // Three equal words of nine.
        let lines = [(0, "a b c <*> d <*> e <*> f"), (0, "a b c <*> g <*> h <*> i")];
        assert_eq!(mined(&lines, 0.5).len(), 2);
        assert_eq!(mined(&lines, 0.3), ["a b c <*>"]);
    }
}
