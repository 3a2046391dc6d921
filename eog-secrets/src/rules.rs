//! Patterns as data: the rule set of gitleaks and those of our own, in one form.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::marker;
use crate::random::{Letters, entropy, is_hex};
use crate::run::is_word;
use crate::value::is_reference;

/// The rule set of gitleaks, unchanged.
const GITLEAKS: &str = include_str!("../data/gitleaks.toml");

/// What gitleaks has no rule for.
const OWN: &str = include_str!("../data/eog.toml");

/// Rules of gitleaks whose work is done elsewhere, and more of it: names by `assign`, blocks by
/// `pem`, objects by `manifest`, the rest by rules of our own that need less around them.
const DONE_ELSEWHERE: [&str; 7] = [
    "curl-auth-header",
    "curl-auth-user",
    "generic-api-key",
    "hashicorp-tf-password",
    "jwt",
    "kubernetes-secret-yaml",
    "private-key",
];

/// The sign of assignment as the rules of gitleaks write it that go by the name of a vendor.
const OPERATOR: &str = "(?:=|>|:{1,3}=|";

/// How far before a keyword a match may begin, unless a rule says otherwise.
const BEFORE: usize = 96;

/// How far behind a keyword a match is searched for. A token that is longer is masked to its end.
const AFTER: usize = 1024;

/// The same for tokens that begin with their keyword.
const AFTER_TOKEN: usize = 128;

/// Rules with shorter keywords must be followed by a word: `sk` and `s.` are everywhere.
const SHORT_KEYWORD: usize = 5;

#[derive(Deserialize)]
struct File {
    rules: Vec<Written>,
}

/// A rule as the files have it. What concerns files and repositories is passed over.
#[derive(Deserialize)]
struct Written {
    id: String,
    regex: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    entropy: Option<f64>,
    #[serde(rename = "secretGroup")]
    group: Option<usize>,
    /// Of our own: what the secret must be made of.
    #[serde(default)]
    shape: Shape,
    /// Of our own: whether a token follows every keyword at once.
    #[serde(default)]
    token: bool,
    /// Of our own: how far before the keyword a match may begin.
    before: Option<usize>,
}

/// What a secret must be made of, where a pattern cannot say it.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    #[default]
    Any,
    /// Not digits alone: `-u 1000:1000`.
    Login,
    /// A digit.
    Digit,
    /// A digit, or both cases.
    Coded,
    /// Both cases and a digit, or a sign.
    Mixed,
}

impl Shape {
    fn fits(self, secret: &[u8]) -> bool {
        let letters = Letters::of(secret);
        match self {
            Self::Any => true,
            Self::Login => letters.lower || letters.upper || letters.other,
            Self::Digit => letters.digit,
            Self::Coded => letters.digit || (letters.lower && letters.upper),
            Self::Mixed => {
                let signs =
                    secret.iter().any(|b| b.is_ascii_punctuation() && !b"-._/:=,".contains(b));
                signs || (letters.lower && letters.upper && letters.digit)
            }
        }
    }
}

/// What must stand behind a keyword before a pattern is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Anything,
    /// A sign of assignment.
    Operator,
    /// Eight bytes of a token.
    Token,
}

/// One pattern. It is compiled when its keyword first occurs.
pub(crate) struct Rule {
    pattern: String,
    compiled: OnceLock<Option<Regex>>,
    entropy: f64,
    group: Option<usize>,
    shape: Shape,
    before: usize,
    after: usize,
    /// Whether the surroundings show that hexadecimal digits are a secret.
    named: bool,
}

/// A keyword of a rule.
pub(crate) struct Keyword {
    pub(crate) text: String,
    pub(crate) rule: usize,
    behind: Behind,
}

/// All rules, and the keywords that lead to them.
pub(crate) fn load() -> (Vec<Rule>, Vec<Keyword>) {
    let (mut rules, mut keywords) = (Vec::new(), Vec::new());
    for (text, own) in [(OWN, true), (GITLEAKS, false)] {
        // The files are part of the program: a test reads them.
        let file: File = toml::from_str(text).unwrap_or(File { rules: Vec::new() });
        for written in file.rules {
            let Some(pattern) = written.regex else { continue };
            if DONE_ELSEWHERE.contains(&written.id.as_str()) {
                continue;
            }
            let head = pattern.split(OPERATOR).next().unwrap_or_default().to_ascii_lowercase();
            let by_vendor = head.len() < pattern.len();
            for keyword in written.keywords {
                let behind = match keyword.len() {
                    _ if by_vendor && head.contains(&keyword) => Behind::Operator,
                    _ if own && !written.token => Behind::Anything,
                    ..SHORT_KEYWORD if !keyword.starts_with('_') => Behind::Token,
                    _ => Behind::Anything,
                };
                keywords.push(Keyword { text: keyword, rule: rules.len(), behind });
            }
            rules.push(Rule {
                pattern,
                compiled: OnceLock::new(),
                entropy: written.entropy.unwrap_or(0.0),
                group: written.group,
                shape: written.shape,
                before: written.before.unwrap_or(BEFORE),
                after: if written.token { AFTER_TOKEN } else { AFTER },
                named: own || by_vendor,
            });
        }
    }
    (rules, keywords)
}

impl Keyword {
    /// Whether what stands behind the keyword leaves hope. Cheap, and mostly false.
    pub(crate) fn may_lead(&self, text: &[u8], end: usize) -> bool {
        let after = text.get(end..).unwrap_or_default();
        match self.behind {
            Behind::Anything => true,
            Behind::Token => after.len() >= 8 && after.iter().take(8).all(|b| is_word(*b)),
            Behind::Operator => {
                let name = |b: &&u8| b.is_ascii_alphanumeric() || b" \t._-'\"\r\n".contains(b);
                let gap = after.iter().take(44).take_while(name).count();
                after.get(gap).is_some_and(|sign| b"=:>|?,".contains(sign))
            }
        }
    }
}

impl Rule {
    fn compiled(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&self.pattern).unicode(false).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    /// The secrets of this kind around a keyword.
    pub(crate) fn find(&self, text: &[u8], keyword: &Range<usize>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let Some(regex) = self.compiled() else { return found };
        let end = text.len().min(keyword.end + self.after);
        let window = text.get(..end).unwrap_or_default();
        let mut from = keyword.start.saturating_sub(self.before);
        while from <= keyword.end {
            let Some(captures) = regex.captures_at(window, from) else { break };
            let Some(whole) = captures.get(0) else { break };
            let group = match self.group {
                Some(group) => captures.get(group),
                None => captures.iter().skip(1).flatten().find(|group| !group.is_empty()),
            };
            let secret = group.unwrap_or(whole);
            if self.holds(secret.as_bytes()) {
                found.push(secret.start()..token_end(text, secret.end()));
            }
            from = whole.end().max(from + 1);
        }
        found
    }

    fn holds(&self, secret: &[u8]) -> bool {
        // Commits and digests are hexadecimal as well.
        if !self.named && secret.len() >= 20 && is_hex(secret) {
            return false;
        }
        // One letter repeated may be a secret where a rule says so.
        let stands_in = is_reference(secret) && !secret.iter().all(u8::is_ascii_alphanumeric);
        if stands_in || marker::leads(secret) || !self.shape.fits(secret) {
            return false;
        }
        self.entropy == 0.0 || entropy(secret) > self.entropy
    }
}

/// The end of a token: a pattern of fixed length must not leave its tail.
fn token_end(text: &[u8], mut end: usize) -> usize {
    let word = |at: usize| text.get(at).is_some_and(|b| is_word(*b));
    let begun = end.checked_sub(1).is_some_and(word);
    while begun && (word(end) || (text.get(end) == Some(&b'.') && word(end + 1))) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_read_and_compiles() {
        let (rules, keywords) = load();
        assert!(rules.len() > 210, "{}", rules.len());
        for rule in &rules {
            assert!(rule.compiled().is_some(), "{}", rule.pattern);
        }
        for (at, rule) in rules.iter().enumerate() {
            assert!(keywords.iter().any(|keyword| keyword.rule == at), "{}", rule.pattern);
        }
        assert!(keywords.iter().all(|keyword| keyword.text.len() > 1));
    }

    #[test]
    fn what_is_done_elsewhere_is_in_the_file() {
        for id in DONE_ELSEWHERE {
            assert!(GITLEAKS.contains(&format!("id = \"{id}\"")), "{id}");
        }
    }
}
