//! Templates as tokens: words, holes and marks.

use crate::template::HOLE;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token<'t> {
    /// Whether white space stands before it.
    pub(super) spaced: bool,
    pub(super) kind: Kind<'t>,
    /// The bracketed value behind it, if there is one: `(<*>)`, `()`. Such asides are often left out.
    pub(super) aside: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind<'t> {
    /// A masked value.
    Hole,
    /// A word that is a value by its form, though it has no digit: a path, a host, an id.
    Value(&'t str),
    /// A word that is a value by its place, if it has some alternatives: `for user ann`.
    Name(&'t str),
    /// Any other word.
    Word(&'t str),
    /// One character between words.
    Mark(char),
}

impl Kind<'_> {
    /// Whether values and words can stand here.
    pub(super) fn is_word(self) -> bool {
        !matches!(self, Self::Mark(_))
    }

    fn is_value(self) -> bool {
        matches!(self, Self::Hole | Self::Value(_))
    }
}

/// White space and marks of a template. Only templates of one shape are compared.
pub(super) type Shape = Vec<(bool, Option<char>)>;

/// The shape of a template.
pub(super) fn shape(tokens: &[Token<'_>]) -> Shape {
    let one = |token: &Token<'_>| match token.kind {
        Kind::Mark(mark) => (token.spaced, Some(mark)),
        Kind::Hole | Kind::Value(_) | Kind::Name(_) | Kind::Word(_) => (token.spaced, None),
    };
    tokens.iter().map(one).collect()
}

/// Splits a template. Lists of holes are cut to their first element (`<*>, <*>, <*>` to `<*>`), since
/// their length is a value too.
pub(super) fn tokens(template: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = template;
    let mut spaced = false;
    while let Some(first) = rest.chars().next() {
        let kind;
        if first == ' ' {
            (spaced, rest) = (true, &rest[1..]);
            continue;
        }
        (kind, rest) = match rest.strip_prefix(HOLE) {
            Some(rest) => (Kind::Hole, rest),
            None if is_mark(first) => (Kind::Mark(first), &rest[first.len_utf8()..]),
            None => {
                let end = rest.find(|c| c == ' ' || is_mark(c)).unwrap_or(rest.len());
                let end =
                    if is_located(&rest[..end], &rest[end..]) { end + 1 + HOLE.len() } else { end };
                let (word, rest) = rest.split_at(end);
                (word_kind(word, rest, &tokens), rest)
            }
        };
        if let Some(empty) = empty_before(kind, spaced, &tokens) {
            tokens.push(empty);
        }
        tokens.push(Token { spaced: std::mem::take(&mut spaced), kind, aside: None });
    }
    tokens.extend(empty_before(Kind::Hole, true, &tokens));
    fold_objects(&mut tokens);
    fold_asides(&mut tokens);
    cut_lists(&mut tokens);
    tokens
}

/// A host with its port, a file with its line: one value.
fn is_located(word: &str, rest: &str) -> bool {
    let dotted = word.trim_matches('.').contains('.') && !word.ends_with('.');
    dotted && rest.strip_prefix(':').is_some_and(|rest| rest.starts_with(HOLE))
}

fn fold_asides(tokens: &mut Vec<Token<'_>>) {
    let mut at = 0;
    while let Some([before, open, content, close]) = tokens.get(at..at + 4) {
        let bracketed =
            open.kind == Kind::Mark('(') && open.spaced && close.kind == Kind::Mark(')');
        let aside = match content.kind {
            Kind::Hole => Some("(<*>)"),
            Kind::Value("") => Some("()"),
            _ => None,
        };
        if bracketed && aside.is_some() && before.aside.is_none() {
            tokens[at].aside = aside;
            tokens.drain(at + 1..at + 4);
        }
        at += 1;
    }
}

/// An assigned object of which only values are given is a value: `source=WorkSource{<*>}`.
fn fold_objects(tokens: &mut Vec<Token<'_>>) {
    let mut at = 0;
    while let Some([assign, name, open, content, close]) = tokens.get(at..at + 5) {
        let brackets = [('{', '}'), ('(', ')'), ('[', ']')];
        let bracketed = brackets.iter().any(|(opening, closing)| {
            open.kind == Kind::Mark(*opening) && close.kind == Kind::Mark(*closing)
        });
        let assigned = assign.kind == Kind::Mark('=') && name.kind.is_word();
        if assigned && bracketed && content.kind == Kind::Hole && !open.spaced {
            tokens[at + 1].kind = Kind::Hole;
            tokens.drain(at + 2..at + 5);
        }
        at += 1;
    }
}

/// The empty value between a `=` and what is no value of it, or between brackets, so that templates
/// with and without a value have one shape.
fn empty_before(kind: Kind<'_>, spaced: bool, before: &[Token<'_>]) -> Option<Token<'static>> {
    let [.., name, last] = before else { return None };
    let unassigned = last.kind == Kind::Mark('=') && !last.spaced && name.kind.is_word() && spaced;
    let bracketed = last.kind == Kind::Mark('(') && kind == Kind::Mark(')');
    (unassigned || bracketed).then_some(Token { spaced: false, kind: Kind::Value(""), aside: None })
}

fn is_mark(c: char) -> bool {
    "=:,;()[]{}<>|\"'`#@".contains(c)
}

fn word_kind<'t>(word: &'t str, rest: &str, before: &[Token<'_>]) -> Kind<'t> {
    let is_value = word.ends_with(HOLE)
        || is_path(word)
        || (is_dotted(word) && !rest.starts_with('('))
        || is_id(word, before)
        || (word == "null" && is_assigned(before));
    match is_value {
        true => Kind::Value(word),
        false if is_named(word, before) => Kind::Name(word),
        false => Kind::Word(word),
    }
}

fn is_assigned(before: &[Token<'_>]) -> bool {
    before.last().is_some_and(|last| last.kind == Kind::Mark('='))
}

/// What is assigned and identifies something: by the name of the field, or since it cannot be pronounced.
fn is_id(word: &str, before: &[Token<'_>]) -> bool {
    const KEYS: [&str; 12] = [
        "id",
        "key",
        "request",
        "trace",
        "span",
        "session",
        "token",
        "correlation",
        "transaction",
        "hash",
        "nonce",
        "digest",
    ];
    let ([.., name, _], true) = (before, is_assigned(before)) else { return false };
    let Kind::Word(name) = name.kind else { return false };
    let name = name.to_ascii_lowercase();
    let is_key = || KEYS.iter().any(|key| name.ends_with(key));
    let is_spoken = word.contains(|c: char| "aeiouyAEIOUY".contains(c) || !c.is_ascii_alphabetic());
    is_key() || (word.len() >= 5 && !is_spoken && !is_constant(word))
}

/// `SCREEN_ON`, and names that end so.
fn is_constant(word: &str) -> bool {
    let last = word.rsplit('.').next().unwrap_or_default();
    last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// A name behind what it is the name of: `for user ann`, `on host blue`.
fn is_named(word: &str, before: &[Token<'_>]) -> bool {
    const PREPOSITIONS: [&str; 10] =
        ["at", "by", "for", "from", "in", "of", "on", "to", "via", "with"];
    const NOUNS: [&str; 24] = [
        "account",
        "client",
        "container",
        "database",
        "device",
        "directory",
        "domain",
        "file",
        "group",
        "host",
        "interface",
        "job",
        "machine",
        "namespace",
        "node",
        "pod",
        "program",
        "queue",
        "server",
        "service",
        "table",
        "topic",
        "user",
        "volume",
    ];
    const NEVER: [&str; 18] = [
        "and", "as", "at", "but", "by", "for", "from", "has", "in", "is", "not", "of", "on", "or",
        "that", "to", "was", "with",
    ];
    let [.., preposition, noun] = before else { return false };
    let is = |token: &Token<'_>, words: &[&str]| matches!(token.kind, Kind::Word(word) if words.contains(&word));
    is(noun, &NOUNS) && is(preposition, &PREPOSITIONS) && !NEVER.contains(&word) && !is_event(word)
}

/// Whether a word says what happened: a participle, or a constant of the program, such as a state.
pub(super) fn is_event(word: &str) -> bool {
    let word = word.trim_end_matches(['.', '!', '?']);
    is_constant(word) || (word.len() > 4 && (word.ends_with("ed") || word.ends_with("ing")))
}

/// `/etc/hosts`, `./run`, `C:\temp`, `a/b/c`.
fn is_path(word: &str) -> bool {
    let separators = word.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let rooted =
        word.starts_with(['/', '\\', '~']) || word.starts_with("./") || word.starts_with("../");
    word.len() > 1 && (separators >= 2 || (rooted && separators >= 1))
}

/// Names of two dots or more, of hosts and packages, except those of errors, which say what happened.
fn is_dotted(word: &str) -> bool {
    let name = word.trim_end_matches(['.', '!', '?']);
    let parts = name.split('.').filter(|part| !part.is_empty()).count();
    parts >= 3
        && !["Exception", "Error"].iter().any(|end| name.ends_with(end))
        && !is_constant(name)
}

/// Longest element of a list, in tokens.
const MAX_ELEMENT: usize = 6;

fn cut_lists(tokens: &mut Vec<Token<'_>>) {
    for length in 1..=MAX_ELEMENT {
        let mut at = 0;
        while at + 2 * length <= tokens.len() {
            let (one, next) = (&tokens[at..at + length], &tokens[at + length..at + 2 * length]);
            let has_hole = one.iter().any(|token| token.kind == Kind::Hole);
            let alike = one
                .iter()
                .zip(next)
                .all(|(a, b)| a.kind == b.kind || (a.kind.is_value() && b.kind.is_value()));
            if !(has_hole && alike) {
                at += 1;
                continue;
            }
            for place in at..at + length {
                if tokens[place].kind != tokens[place + length].kind {
                    tokens[place].kind = Kind::Hole;
                }
            }
            tokens.drain(at + length..at + 2 * length);
        }
    }
}

/// The text of tokens.
pub(super) fn text(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.spaced && !text.is_empty() {
            text.push(' ');
        }
        match token.kind {
            Kind::Hole if text.ends_with("<*> ") => text.truncate(text.len() - 1),
            Kind::Hole => text.push_str(HOLE),
            Kind::Value(word) | Kind::Name(word) | Kind::Word(word) => text.push_str(word),
            Kind::Mark(mark) => text.push(mark),
        }
        if let Some(aside) = token.aside {
            text.push(' ');
            text.push_str(aside);
        }
    }
    text
}
