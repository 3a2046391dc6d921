//! One pass over a text: telling words by one automaton, and at each of them a closer check.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::rules::{Keyword, Rule};
use crate::spelling::Plain;
use crate::{assign, manifest, marker, pem, rules, run, userinfo};

/// Words that give a telling name away, wherever they stand in it.
const NAMES: [&str; 16] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "credential",
    "creds",
    "mnemonic",
    "key",
    "auth",
    "cookie",
    "session",
    "sessid",
    "salt",
    "seed",
    "signature",
    "jwt",
];

/// Words that do so only by themselves: `pin`, not `mapping`.
const WHOLE_NAMES: [&str; 3] = ["pin", "otp", "pw"];

/// What a word in a text may be.
enum Telling {
    Name,
    WholeName,
    Keyword(Keyword),
    At,
    Block,
}

/// The automaton over all telling words, and what each may be.
pub(crate) struct Scanner {
    words: AhoCorasick,
    telling: Vec<Vec<Telling>>,
    rules: Vec<Rule>,
}

impl Scanner {
    /// The one scanner of the program.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Scanner> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let (rules, keywords) = rules::load();
        let mut words: Vec<String> = Vec::new();
        let mut telling: Vec<Vec<Telling>> = Vec::new();
        let mut add = |word: &str, what: Telling| {
            let word = word.to_ascii_lowercase();
            match words.iter().position(|known| *known == word) {
                Some(at) => telling[at].push(what),
                None => {
                    words.push(word);
                    telling.push(vec![what]);
                }
            }
        };
        add("@", Telling::At);
        add("-----begin ", Telling::Block);
        NAMES.iter().for_each(|word| add(word, Telling::Name));
        WHOLE_NAMES.iter().for_each(|word| add(word, Telling::WholeName));
        for keyword in keywords {
            add(&keyword.text.clone(), Telling::Keyword(keyword));
        }
        let built = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words);
        let words = built.expect("a few hundred words make an automaton");
        Self { words, telling, rules }
    }

    /// Where the secrets of a text are, in order and apart.
    pub(crate) fn secrets(&self, text: &[u8]) -> Vec<Range<usize>> {
        let found = self.scan(text, true);
        let Some(plain) = Plain::of(text) else { return found };
        let more = self.scan(&plain.text, true);
        if more.is_empty() {
            return found;
        }
        let more = more.iter().map(|range| plain.original(range));
        tidy(text, found.into_iter().chain(more).collect())
    }

    /// `decode` says whether text in base64 is decoded and checked; in such text it is not.
    fn scan(&self, text: &[u8], decode: bool) -> Vec<Range<usize>> {
        let mut scan = Scan::default();
        for found in self.words.find_overlapping_iter(text) {
            let word = found.start()..found.end();
            if word.start < scan.covered {
                continue;
            }
            for telling in &self.telling[found.pattern().as_usize()] {
                self.check(text, &word, telling, &mut scan);
            }
        }
        if scan.is_secret_object {
            scan.add_all(manifest::values(text));
        }
        let public = |at: usize| {
            let next = scan.public.partition_point(|block| block.start <= at);
            next > 0 && at < scan.public[next - 1].end
        };
        let inner = |plain: &[u8]| decode && !self.scan(plain, false).is_empty();
        scan.found.extend(run::keys(text, public, inner));
        if scan.found.is_empty() {
            return scan.found;
        }
        tidy(text, scan.found)
    }

    fn check(&self, text: &[u8], word: &Range<usize>, telling: &Telling, scan: &mut Scan) {
        match telling {
            Telling::WholeName if !stands_alone(text, word) => {}
            Telling::Name | Telling::WholeName => {
                if word.start < scan.name_end {
                    return;
                }
                let found = assign::find(text, word.clone());
                scan.name_end = found.name_end;
                if found.value.is_none() && manifest::is_kind(text, word) {
                    scan.is_secret_object = true;
                }
                found.value.into_iter().for_each(|value| scan.add(value));
            }
            Telling::Keyword(keyword) => {
                if keyword.may_lead(text, word.end) {
                    scan.add_all(self.rules[keyword.rule].find(text, word));
                }
            }
            Telling::At => scan.add_all(userinfo::find(text, word.start)),
            Telling::Block => {
                let Some(block) = pem::at(text, word.start) else { return };
                if block.private {
                    scan.add(block.range);
                } else {
                    scan.covered = scan.covered.max(block.range.end);
                    scan.public.push(block.range);
                }
            }
        }
    }
}

/// Whether no letter or digit stands beside a word.
fn stands_alone(text: &[u8], word: &Range<usize>) -> bool {
    let letter =
        |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    !letter(word.start.checked_sub(1)) && !letter(Some(word.end))
}

/// What one pass has found so far.
#[derive(Default)]
struct Scan {
    found: Vec<Range<usize>>,
    /// Words before this place are part of a secret, or of what is public.
    covered: usize,
    /// Words before this place are of a name that was checked.
    name_end: usize,
    /// Blocks that are public: certificates.
    public: Vec<Range<usize>>,
    /// Whether the text is, or holds, a `Secret` of Kubernetes.
    is_secret_object: bool,
}

impl Scan {
    fn add(&mut self, secret: Range<usize>) {
        if secret.start < secret.end {
            self.covered = self.covered.max(secret.end);
            self.found.push(secret);
        }
    }

    fn add_all(&mut self, secrets: Vec<Range<usize>>) {
        secrets.into_iter().for_each(|secret| self.add(secret));
    }
}

/// In order, apart, and with markers whole. What is a marker alone is left out.
fn tidy(text: &[u8], mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let markers = marker::all(text);
    for range in &mut found {
        let first = markers.partition_point(|marker| marker.end <= range.start);
        for marker in markers.iter().skip(first) {
            if marker.start >= range.end {
                break;
            }
            range.start = range.start.min(marker.start);
            range.end = range.end.max(marker.end);
        }
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut tidy: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match tidy.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => tidy.push(range),
        }
    }
    tidy.retain(|range| !marker::is_marker(text.get(range.clone()).unwrap_or_default()));
    tidy
}
