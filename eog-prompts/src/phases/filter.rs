//! What the phases that pick from a list have in common: pages of numbered findings.

use std::collections::BTreeSet;

use eog_core::evidence::Signal;
use eog_core::{EvidenceKind, Finding, Window};
use eog_evidence::{
    MASK, is_secret_field, mask_named, mask_text, rounded, shorten, shorten_change,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alerts::AlertList;
use crate::times::Times;

/// Longest text of a finding of a long list, in characters.
const MAX_TEXT: usize = 200;

/// Longest text, and longest value, of a change of a short list: the most important part is often in the last
/// lines of a diff.
const MAX_CHANGE: usize = 1_300;

/// About so many characters all texts of a list have together: three pages.
const ALL_TEXTS: usize = 100_000;

/// How long the texts of changes may be in a list of so many findings, in characters.
pub(crate) fn change_limit(findings: usize) -> usize {
    (ALL_TEXTS / findings.max(1)).clamp(MAX_TEXT, MAX_CHANGE)
}

/// What the findings of a list are picked for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Scope {
    /// The day that all times share, or nothing.
    pub(crate) day: String,
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) alerts: AlertList,
    #[serde(skip)]
    pub(crate) times: Times,
}

impl Scope {
    pub(crate) fn new(window: Window, alerts: &[eog_core::Anomaly]) -> Self {
        let onsets = alerts.iter().map(|alert| alert.onset);
        let times = Times::over(onsets.chain([window.start(), window.end()]));
        Self {
            day: times.day().to_owned(),
            start: times.at(window.start()),
            end: times.at(window.end()),
            alerts: AlertList::new(alerts, &times),
            times,
        }
    }
}

/// One page of a list of findings, with the incident that they are picked for.
#[derive(Clone, Debug, Serialize)]
pub struct FilterInput {
    pub(crate) scope: Scope,
    /// The entity that all findings are of, when they are of one.
    pub(crate) entity: Option<String>,
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// At most so many may be picked.
    pub(crate) cap: usize,
    pub(crate) items: Vec<ItemLine>,
    /// What is on no page, in words.
    pub(crate) left_out: Vec<String>,
}

/// One finding of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ItemLine {
    /// What it is called on its page or in its prompt.
    pub(crate) id: String,
    pub(crate) when: String,
    pub(crate) entity: String,
    pub(crate) signal: Signal,
    pub(crate) text: String,
    pub(crate) change: Option<ChangeLine>,
    /// How it stands to the alerts.
    pub(crate) hint: String,
    /// The other entities with the same record.
    pub(crate) alike: String,
}

/// A changed field; named so that secrets in its values are known by its path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChangeLine {
    path: String,
    old: Option<String>,
    new: Option<String>,
}

impl ItemLine {
    /// `limit` is how long the texts of a change may be, in characters.
    pub(crate) fn new(
        finding: &Finding,
        times: &Times,
        hint: String,
        alike: String,
        limit: usize,
    ) -> Self {
        let limit = if finding.kind == EvidenceKind::Change { limit } else { MAX_TEXT };
        // Masked before it is cut: what is cut off may be what makes it recognisable as a secret.
        let mut said = finding.excerpt.clone();
        if let Some(change) = &finding.change {
            // What the text says as a quoted string is said once, and not quoted twice.
            for value in [&change.old, &change.new].into_iter().flatten() {
                if !said.contains(value.as_str()) {
                    said = said.replace(&format!("{value:?}"), "…");
                }
            }
        }
        let change = finding.change.as_ref().map(|change| {
            let value = |value: &String| shorten_change(&mask_named(&change.path, value), limit);
            for secret in [&change.old, &change.new].into_iter().flatten() {
                if is_secret_field(&change.path, secret) {
                    said = said.replace(secret.as_str(), MASK);
                }
            }
            let (old, new) = (change.old.as_ref().map(value), change.new.as_ref().map(value));
            ChangeLine { path: shorten(&mask_text(&change.path), 120), old, new }
        });
        let measured = finding.quantity.as_ref().filter(|_| change.is_none()).map(|quantity| {
            let before = quantity.baseline.map(|was| format!(", usually {}", rounded(was)));
            let unit = shorten(&quantity.unit, 20);
            format!(" ({}{} {unit})", rounded(quantity.observed), before.unwrap_or_default())
        });
        // A count of events is part of their text.
        let measured = measured.filter(|_| finding.kind != EvidenceKind::Event);
        let said = mask_text(&said);
        // What both would say is said once: by the text, if all of it can be shown.
        let repeats = change.as_ref().is_some_and(|change| {
            let values = [&change.old, &change.new].into_iter().flatten();
            said.contains(&change.path) && values.into_iter().all(|value| said.contains(value))
        });
        let whole = said.chars().count() <= limit;
        let text = shorten_change(&said, limit);
        Self {
            id: String::new(),
            when: times.at(finding.time.start()),
            entity: finding.entity.to_string(),
            signal: finding.signal,
            text: text + &measured.unwrap_or_default(),
            change: change.filter(|_| !(repeats && whole)),
            hint,
            alike,
        }
    }

    /// Roughly what a template makes of it, to count its tokens.
    pub(crate) fn words(&self) -> String {
        let change = self
            .change
            .as_ref()
            .map(|change| format!(" {:?} from {:?} to {:?}", change.path, change.old, change.new));
        format!(
            "[999] {} {} {:?}{} {:?} | {} | alike: {:?}\n",
            self.when,
            self.entity,
            self.signal,
            change.unwrap_or_default(),
            self.text,
            self.hint,
            self.alike
        )
    }
}

/// What is picked from a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterAnswer {
    /// The findings to keep, the most telling first.
    pub relevant: Vec<Relevant>,
    /// How many findings of this page are relevant, those included that the limit leaves out.
    pub total_relevant: u32,
    /// One sentence.
    pub reasoning: String,
}

/// A picked finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relevant {
    /// Its number.
    pub number: u32,
    /// What it can be in this incident: "cause" when it can explain an alert, "effect" when an
    /// alert's cause can explain it, "context" when it helps to tell the two apart.
    pub part: Part,
}

/// What a finding can be in an incident.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It can explain an alert.
    Cause,
    /// What explains an alert can explain it.
    Effect,
    /// It helps to tell causes from effects.
    Context,
}

/// Everything that is wrong with the picks from a page.
pub(crate) fn pick_problems(input: &FilterInput, answer: &FilterAnswer) -> Vec<String> {
    let mut problems = Vec::new();
    let (items, picked) = (input.items.len(), answer.relevant.len());
    let mut seen = BTreeSet::new();
    for relevant in &answer.relevant {
        let number = relevant.number;
        if number == 0 || number as usize > items {
            problems.push(format!("relevant: there is no [{number}]; numbers are 1 to {items}"));
        } else if !seen.insert(number) {
            problems.push(format!("relevant: [{number}] is picked twice"));
        }
    }
    if picked > input.cap {
        problems.push(format!("relevant: {picked} are picked; keep the best {}", input.cap));
    }
    let total = answer.total_relevant as usize;
    if total < picked {
        problems.push(format!("total_relevant: {total} is less than the {picked} picked"));
    }
    if total > items {
        problems.push(format!("total_relevant: {total} is more than the {items} on this page"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use eog_core::Timestamp;
    use eog_testkit::finding;

    use super::*;

    fn input(items: usize, cap: usize) -> FilterInput {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let window = Window::new(at(0), at(60)).expect("a window");
        let scope = Scope::new(window, &[]);
        let event = finding("db").signal(Signal::Exhaustion).build();
        let line = ItemLine::new(&event, &scope.times, String::new(), String::new(), 200);
        let items = vec![line; items];
        let left_out = vec![];
        FilterInput { scope, entity: None, page: 1, pages: 1, cap, items, left_out }
    }

    fn answer(numbers: &[u32], total_relevant: u32) -> FilterAnswer {
        let relevant = |number: &u32| Relevant { number: *number, part: Part::Cause };
        let relevant = numbers.iter().map(relevant).collect();
        FilterAnswer { relevant, total_relevant, reasoning: String::new() }
    }

    #[test]
    fn picks_are_known_single_and_within_the_cap() {
        let cases: [(&[u32], u32, &[&str]); 8] = [
            (&[], 0, &[]),
            (&[3, 1], 3, &[]),
            (&[0], 1, &["no [0]"]),
            (&[4], 1, &["no [4]"]),
            (&[2, 2], 2, &["twice"]),
            (&[1, 2, 3], 3, &["keep the best 2"]),
            (&[1, 2], 1, &["less than the 2"]),
            (&[9, 1, 1], 9, &["no [9]", "twice", "keep the best 2", "more than the 3"]),
        ];
        for (numbers, total, expected) in cases {
            let problems = pick_problems(&input(3, 2), &answer(numbers, total));
            assert_eq!(problems.len(), expected.len(), "{problems:?}");
            for (problem, said) in problems.iter().zip(expected) {
                assert!(problem.contains(said), "{problem}");
            }
        }
    }

    #[test]
    fn a_change_is_said_once() {
        let line = |excerpt: &str| {
            let change = finding("db").change("pool.size", "50", "5").excerpt(excerpt).build();
            ItemLine::new(&change, &Times::default(), String::new(), String::new(), 200)
        };
        let repeated = line("pool.size changed from 50 to 5");
        assert!(repeated.change.is_none() && repeated.text.contains("from 50 to 5"));
        let added = line("by the nightly job");
        assert!(added.change.is_some() && added.text == "by the nightly job");
        let long = line(&format!("pool.size changed: {}", "x".repeat(400)));
        assert!(long.change.is_some() && long.text.chars().count() == 201);
        // A value that is cut in the words of the text is given by itself.
        let change = finding("db").change("pool.size", "50", "500 and more");
        let change = change.excerpt("pool.size from 50 to 500 …").build();
        let cut = ItemLine::new(&change, &Times::default(), String::new(), String::new(), 200);
        assert!(cut.change.is_some());
    }

    #[test]
    fn long_texts_of_a_finding_are_cut() {
        let long = "x".repeat(9_000);
        let change = finding("db").change(&long, &long, &long).excerpt(&long).build();
        let line = ItemLine::new(&change, &Times::default(), String::new(), String::new(), 200);
        assert!(line.words().len() < 1_000, "{}", line.words().len());
        assert_eq!([1, 100, 400, 9_000].map(change_limit), [1_300, 1_000, 250, 200]);
    }
}
