//! The value that belongs to a telling name in free text.
//!
//! Names and values are joined in many ways: `PASSWORD=x`, `password: x`, `"password":"x"` with any
//! number of backslashes, `<password>x</password>`, `--password x`, `password%3Dx`,
//! `"name": "PASSWORD", "value": "x"`, `PASSWORD 'x'`, `the password is x`.

use std::ops::Range;

use crate::marker;
use crate::names::{self, Name};
use crate::value::{Tie, goes_on_after, is_secret, is_state};

/// Longest name that is read, to either side of the word that gave it away.
const MAX_NAME: usize = 64;

/// Farthest end of a quoted value; beyond it the quote counts as left open.
const MAX_QUOTED: usize = 16 * 1024;

/// So much of a value without quotes is read to decide whether it is a secret. One that is longer
/// is masked to its end.
const MAX_JUDGED: usize = 512;

/// Most words of a passphrase: those of recovery phrases have up to 24.
const MAX_WORDS: usize = 24;

/// What was found at a name.
pub(crate) struct Found {
    /// Where the name ends: a further telling word before it is of the same name.
    pub(crate) name_end: usize,
    /// The value, if it is a secret.
    pub(crate) value: Option<Range<usize>>,
}

/// Checks the name around a telling word.
pub(crate) fn find(text: &[u8], word: Range<usize>) -> Found {
    let name = name_around(text, &word);
    let value = value_of(text, &name).filter(|value| !value.is_empty());
    Found { name_end: name.end, value }
}

fn byte(text: &[u8], at: usize) -> Option<u8> {
    text.get(at).copied()
}

fn slice(text: &[u8], range: Range<usize>) -> &[u8] {
    text.get(range).unwrap_or_default()
}

fn rest(text: &[u8], from: usize) -> &[u8] {
    text.get(from..).unwrap_or_default()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte)
}

fn name_around(text: &[u8], word: &Range<usize>) -> Range<usize> {
    let before = slice(text, word.start.saturating_sub(MAX_NAME)..word.start);
    let mut start = word.start - before.iter().rev().take_while(|b| is_name(**b)).count();
    let after = rest(text, word.end).iter().take(MAX_NAME);
    let end = word.end + after.take_while(|b| is_name(**b)).count();
    // `\npassword` and `\u0022password` where a line is quoted inside another.
    if start > 0 && byte(text, start - 1) == Some(b'\\') {
        let escape = if byte(text, start) == Some(b'u') { 5 } else { 1 };
        start = (start + escape).min(word.start);
    }
    start..end
}

/// A sign that ties a value to its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equals,
    /// A colon; whether a space follows tells prose and YAML from compact forms.
    Colon,
    /// `%3D` and its kind.
    Encoded,
    /// The end of an XML tag.
    Tag,
    /// A space after a flag, or what parts it from its value in a list.
    Flag,
    /// A space before a quote.
    Space,
    /// `is`, `was set to`.
    Words,
    /// The field `value` beside the field that holds the name.
    Beside,
}

fn value_of(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    let (sign, mut at) = sign_after(text, name)?;
    let before = word_before(text, name.start);
    let written = std::str::from_utf8(slice(text, name.clone())).ok()?;
    let kind = names::judge(written, before)?;
    let loud = !written.bytes().any(|b| b.is_ascii_lowercase())
        && written.contains('_')
        && sign != Sign::Words;
    let spaces = spaces(text, at);
    at += spaces;
    if marker::leads(rest(text, at)) {
        return None;
    }
    if let Some((below, is_alone)) = line_below(text, at)
        && matches!(sign, Sign::Colon | Sign::Tag)
    {
        // The first of several words may as well begin a sentence: then it must look like a credential.
        let kind = if is_alone { kind } else { Name::Token };
        let typed = matches!(kind, Name::Password | Name::Credential) || !is_alone;
        let is_one = typed && is_secret(kind, Tie::Words, loud, slice(text, below.clone()));
        return is_one.then_some(below);
    }
    let starts_line = starts_line(text, name.start);
    let quote = opening_quote(text, at);
    let tie = match sign {
        Sign::Words => Tie::Words,
        Sign::Colon if spaces > 0 && quote.is_none() && !starts_line => Tie::Colon,
        _ => Tie::Sign,
    };
    if sign == Sign::Space && kind != Name::Password {
        return None; // `secret "login" not found`
    }
    if let Some(quote) = quote {
        let range = quoted(text, &quote);
        return is_secret(kind, tie, loud, slice(text, range.clone())).then_some(range);
    }
    if matches!(byte(text, at), Some(b'{' | b'[')) {
        return braced(text, at, kind, sign);
    }
    if kind == Name::Password && sign == Sign::Colon && opens_block(rest(text, at)) {
        return block_below(text, name.start, at);
    }
    let in_query = name.start > 0 && matches!(byte(text, name.start - 1), Some(b'?' | b'&'));
    let judged = slice(text, 0..text.len().min(at + MAX_JUDGED));
    let mut value = at..bare_end(judged, at, sign, in_query);
    if tie == Tie::Words {
        while value.end > value.start
            && matches!(byte(text, value.end - 1), Some(b'.' | b'!' | b'?'))
        {
            value.end -= 1;
        }
    }
    let is_sentence = sign == Sign::Colon && spaces > 0 || tie == Tie::Words;
    if is_sentence && tells_state(text, &value) {
        return None;
    }
    if !is_secret(kind, tie, loud, slice(text, value.clone())) {
        return None;
    }
    if value.end == judged.len() {
        value.end = bare_end(text, at, sign, in_query);
    }
    if kind == Name::Password && matches!(sign, Sign::Colon | Sign::Equals) && !in_query {
        let to_line_end = starts_line && spaces > 0;
        value.end = passphrase_end(text, value.end, to_line_end);
    }
    if tie == Tie::Words && is_prose(text, &value) {
        return None;
    }
    Some(value)
}

/// The sign after a name, and where what follows it begins.
fn sign_after(text: &[u8], name: &Range<usize>) -> Option<(Sign, usize)> {
    let close = closing(text, name.end);
    let at = close + spaces(text, close);
    let tail = rest(text, at);
    match tail {
        [b'=', ..] => {
            let signs = tail.iter().take(3).take_while(|b| b"=>~".contains(b)).count();
            return Some((Sign::Equals, at + signs));
        }
        [b':', b'=', ..] => return Some((Sign::Equals, at + 2)),
        // `Token::parse`, `token://`.
        [b':', b':', ..] | [b':', b'/', b'/', ..] => return None,
        [b':', ..] => return Some((Sign::Colon, at + 1)),
        [b'%', b'2', b'5', b'3', b'D' | b'd' | b'A' | b'a', ..] => {
            return Some((Sign::Encoded, at + 5));
        }
        [b'%', b'3', b'D' | b'd' | b'A' | b'a', ..] => return Some((Sign::Encoded, at + 3)),
        [b'>', ..] if opens_tag(text, name.start) || is_attribute(text, name.start, close) => {
            return Some((Sign::Tag, at + 1));
        }
        [b'&', b'g', b't', b';', ..] => return Some((Sign::Tag, at + 4)),
        _ => {}
    }
    let flag = byte(text, name.start) == Some(b'-');
    if flag && close > name.end && tail.starts_with(b",") {
        return Some((Sign::Flag, at + 1));
    }
    if close == name.end && at > close {
        if flag && !tail.starts_with(b"-") {
            return Some((Sign::Flag, at));
        }
        if tail.starts_with(b"'") {
            return Some((Sign::Space, at));
        }
        return words_of_being(tail).map(|length| (Sign::Words, at + length));
    }
    beside(text, close).map(|at| (Sign::Beside, at))
}

/// Past the quotes, backslashes and brackets that close a name.
fn closing(text: &[u8], mut at: usize) -> usize {
    for _ in 0..4 {
        let tail = rest(text, at);
        let slashes = tail.iter().take(8).take_while(|b| **b == b'\\').count();
        let after = rest(tail, slashes);
        at += match after {
            [b'"' | b'\'' | b'`', ..] => slashes + 1,
            [b']', ..] if slashes == 0 => 1,
            _ if slashes == 1 && after.starts_with(b"u0022") => 6,
            _ if slashes == 0 && after.starts_with(b"%22") => 3,
            _ if slashes == 0 && after.starts_with(b"&quot;") => 6,
            _ => return at,
        };
    }
    at
}

fn spaces(text: &[u8], at: usize) -> usize {
    rest(text, at).iter().take(16).take_while(|b| b" \t".contains(b)).count()
}

fn opens_tag(text: &[u8], start: usize) -> bool {
    let before = slice(text, start.saturating_sub(24)..start);
    let prefix = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b':');
    let at = before.len() - prefix.count();
    at > 0 && byte(before, at - 1) == Some(b'<')
}

/// Whether a name is all of an attribute: `<entry key="password">`.
fn is_attribute(text: &[u8], start: usize, close: usize) -> bool {
    let before = slice(text, start.saturating_sub(2)..start);
    matches!(before, [b'=', quote] if close > 0 && byte(text, close - 1) == Some(*quote))
}

/// How long the words are that say what something is: ` is `, ` was set to `, ` for bob is `.
fn words_of_being(tail: &[u8]) -> Option<usize> {
    const BEING: [&str; 12] = [
        "is now ",
        "is: ",
        "is ",
        "was set to ",
        "set to ",
        "was changed to ",
        "changed to ",
        "was reset to ",
        "reset to ",
        "was ",
        "will be ",
        "-> ",
    ];
    let being = |text: &[u8]| {
        let found = BEING.iter().find(|words| {
            text.get(..words.len()).is_some_and(|head| head.eq_ignore_ascii_case(words.as_bytes()))
        });
        found.map(|words| words.len())
    };
    if let Some(length) = being(tail) {
        return Some(length);
    }
    let name = tail.strip_prefix(b"for ").or_else(|| tail.strip_prefix(b"of "))?;
    let mut at = tail.len() - name.len();
    for _ in 0..3 {
        let word = rest(tail, at).iter().take(MAX_NAME).take_while(|b| !b" \t\n=".contains(b));
        let word = word.count();
        if word == 0 || byte(tail, at + word) != Some(b' ') {
            return None;
        }
        let colon = byte(tail, at + word - 1) == Some(b':');
        at += word + 1;
        if colon {
            return Some(at);
        }
        if let Some(length) = being(rest(tail, at)) {
            return Some(at + length);
        }
    }
    None
}

/// Where the value of the field beside a name begins: `"name":"PASSWORD","value":"x"`.
fn beside(text: &[u8], close: usize) -> Option<usize> {
    let gap = |at: usize, wanted: &[u8]| {
        at + rest(text, at).iter().take(32).take_while(|b| wanted.contains(b)).count()
    };
    let tag = rest(text, close).strip_prefix(b"</");
    if let Some(end) = tag.and_then(|tag| tag.iter().take(32).position(|b| *b == b'>')) {
        // `<name>password</name> <value>x</value>`
        let at = gap(close + 2 + end + 1, b" \t\r\n");
        let tail = rest(text, at);
        let value = ["<value>", "<string>"].iter().find(|tag| tail.starts_with(tag.as_bytes()));
        return value.map(|tag| at + tag.len());
    }
    let at = gap(close, b" \t\r\n,\\\"'");
    let word = rest(text, at);
    let after = ["value", "val"].iter().find_map(|field| {
        let head = word.get(..field.len())?;
        head.eq_ignore_ascii_case(field.as_bytes()).then_some(at + field.len())
    })?;
    let at = closing(text, after);
    let at = at + spaces(text, at);
    matches!(byte(text, at), Some(b'=' | b':')).then_some(at + 1)
}

/// The word before a name, if one space is between: `API key`.
fn word_before(text: &[u8], start: usize) -> &str {
    let Some(at) = start.checked_sub(1).filter(|at| byte(text, *at) == Some(b' ')) else {
        return "";
    };
    let before = slice(text, at.saturating_sub(MAX_NAME)..at);
    let word = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
    std::str::from_utf8(rest(before, before.len() - word)).unwrap_or_default()
}

/// Whether nothing but indentation, a list mark or a quote stands before a name in its line.
fn starts_line(text: &[u8], start: usize) -> bool {
    let before = slice(text, start.saturating_sub(MAX_NAME)..start);
    let line = before.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    line.iter().all(|b| b" \t-".contains(b)) && (line.len() < MAX_NAME)
}

/// An opening quote: how it is escaped, and where the value begins.
struct Quote {
    mark: Mark,
    start: usize,
}

enum Mark {
    /// A quotation mark after so many backslashes.
    Escaped(u8, usize),
    /// A mark that is written as letters.
    Entity(&'static [u8]),
}

fn opening_quote(text: &[u8], at: usize) -> Option<Quote> {
    let tail = rest(text, at);
    let entities: [&'static [u8]; 4] = [b"&quot;", b"&#34;", b"%22", b"\\u0022"];
    if let Some(entity) = entities.iter().find(|entity| tail.starts_with(entity)) {
        return Some(Quote { mark: Mark::Entity(entity), start: at + entity.len() });
    }
    // Python writes bytes as b'…'.
    let prefix = usize::from(matches!(tail, [b'b', b'\'' | b'"', ..]));
    let slashes = rest(tail, prefix).iter().take(16).take_while(|b| **b == b'\\').count();
    let mark = byte(tail, prefix + slashes).filter(|b| b"\"'`".contains(b))?;
    Some(Quote { mark: Mark::Escaped(mark, slashes), start: at + prefix + slashes + 1 })
}

/// What stands in quotes. An open quote reaches to the end of its line.
fn quoted(text: &[u8], quote: &Quote) -> Range<usize> {
    let tail = rest(text, quote.start);
    let tail = tail.get(..tail.len().min(MAX_QUOTED)).unwrap_or_default();
    let length = match quote.mark {
        Mark::Entity(entity) => memchr::memmem::find(tail, entity),
        Mark::Escaped(mark, slashes) => memchr::memchr_iter(mark, tail).find_map(|at| {
            let head = tail.get(..at).unwrap_or_default();
            let before = head.iter().rev().take_while(|b| **b == b'\\').count();
            // Inside plain quotes an odd number of backslashes escapes the mark.
            let closes = if slashes == 0 { before % 2 == 0 } else { before <= slashes };
            closes.then_some(at - before.min(slashes))
        }),
    };
    let line = || memchr::memchr(b'\n', tail).unwrap_or(tail.len());
    quote.start..quote.start + length.unwrap_or_else(line)
}

/// The inside of `Pwd={a;b}`, as in connection strings; objects and lists are none.
fn braced(text: &[u8], at: usize, kind: Name, sign: Sign) -> Option<Range<usize>> {
    let tail = rest(text, at + 1);
    let length = tail.iter().position(|b| b"{}[]\"'\n:= ".contains(b))?;
    let closed = matches!(byte(tail, length), Some(b'}' | b']'));
    let value = at + 1..at + 1 + length;
    let tied = closed && kind == Name::Password && sign == Sign::Equals;
    (tied && is_secret(kind, Tie::Sign, false, slice(text, value.clone()))).then_some(value)
}

/// The first word of the next line, where this one ends, and whether it is the only one; nothing where it is a field or
/// a path itself.
fn line_below(text: &[u8], at: usize) -> Option<(Range<usize>, bool)> {
    let start = match rest(text, at) {
        [b'\n', ..] => at + 1,
        [b'\r', b'\n', ..] => at + 2,
        _ => return None,
    };
    let tail = rest(text, start);
    let tail = tail.get(..tail.len().min(MAX_JUDGED)).unwrap_or_default();
    let line = tail.split(|b| b"\r\n<".contains(b)).next().unwrap_or_default();
    let lead = line.len() - line.trim_ascii_start().len();
    let line = line.trim_ascii();
    let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let plain = word.first().is_some_and(|b| !b"-#/{[|>(\"'*".contains(b))
        && !word.contains(&b'=')
        && !word.ends_with(b":")
        && !is_state(word)
        && !marker::leads(word);
    plain.then(|| (start + lead..start + lead + word.len(), word.len() == line.len()))
}

/// Whether a YAML block begins: `|`, `>-` and so on, with nothing behind.
fn opens_block(tail: &[u8]) -> bool {
    let [b'|' | b'>', more @ ..] = tail else { return false };
    let signs = more.iter().take(3).take_while(|b| b"+-123456789".contains(b)).count();
    matches!(more.get(signs), Some(b'\n' | b'\r'))
}

/// The lines of a YAML block: those that are indented deeper than their key.
fn block_below(text: &[u8], name: usize, at: usize) -> Option<Range<usize>> {
    let indent = |line: &[u8]| line.iter().take_while(|b| **b == b' ').count();
    let line_start = slice(text, 0..name).iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let own = indent(rest(text, line_start));
    let start = at + memchr::memchr(b'\n', rest(text, at))? + 1;
    let mut end = start;
    for line in rest(text, start).split_inclusive(|b| *b == b'\n') {
        if indent(line) <= own && !line.trim_ascii().is_empty() {
            break;
        }
        end += line.len();
    }
    let value = slice(text, start..end);
    let lead = value.len() - value.trim_ascii_start().len();
    let value = start + lead..start + lead + value.trim_ascii().len();
    (!marker::leads(slice(text, value.clone()))).then_some(value)
}

/// The end of a value without quotes.
fn bare_end(text: &[u8], start: usize, sign: Sign, in_query: bool) -> usize {
    if sign == Sign::Tag {
        let tail = rest(text, start);
        let tags = tail.iter().position(|b| b"<\n".contains(b)).unwrap_or(tail.len());
        let quoted = memchr::memmem::find(tail.get(..tags).unwrap_or_default(), b"&lt;");
        return start + quoted.unwrap_or(tags);
    }
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(this) = byte(text, at) {
        let next = byte(text, at + 1);
        let ends = match this {
            b'"' | b'\'' | b'`' => true,
            _ if this.is_ascii_whitespace() => true,
            b'<' => next == Some(b'/'),
            b'\\' => matches!(next, Some(b'"' | b'\'' | b'\\' | b'n' | b'r' | b't')),
            b'&' => in_query || sign == Sign::Encoded || starts_field(text, at + 1),
            b'#' => in_query,
            b'%' if sign == Sign::Encoded => {
                let tail = rest(text, at);
                [b"%26".as_slice(), b"%2526", b"%22", b"%20"].iter().any(|s| tail.starts_with(s))
            }
            b',' | b';' => starts_field(text, at + 1),
            b'(' | b'[' | b'{' => {
                depth += 1;
                false
            }
            b')' | b']' | b'}' if depth > 0 => {
                depth -= 1;
                false
            }
            b')' | b']' | b'}' => next.is_none_or(|b| b" \t\r\n,;.:)]}\"'<\\".contains(&b)),
            _ => false,
        };
        if ends {
            break;
        }
        at += 1;
    }
    at
}

/// Whether what follows a comma is another field, or nothing.
fn starts_field(text: &[u8], at: usize) -> bool {
    let Some(first) = byte(text, at) else { return true };
    if first.is_ascii_whitespace() || b"\"'{}[]\\,;".contains(&first) {
        return true;
    }
    let tail = rest(text, at);
    let name = tail.iter().take(MAX_NAME).take_while(|b| is_name(**b)).count();
    name > 0 && matches!(byte(tail, name), Some(b'=' | b':'))
}

/// Where a passphrase of several words ends: at another field, at punctuation, at a word that begins
/// to say what happened; or with the line.
fn passphrase_end(text: &[u8], mut end: usize, to_line_end: bool) -> usize {
    if to_line_end {
        let tail = rest(text, end);
        let line = memchr::memchr2(b'\n', b'\r', tail).unwrap_or(tail.len());
        let line = tail.get(..line).unwrap_or_default();
        let comment = memchr::memmem::find(line, b" #").unwrap_or(line.len());
        // A quote or brace that closes something around the value is not part of it.
        let inner = line.get(..comment).unwrap_or_default();
        let stop = inner.iter().position(|b| b"\"'`{}<\\".contains(b)).unwrap_or(inner.len());
        return end + inner.get(..stop).unwrap_or_default().trim_ascii_end().len();
    }
    for _ in 1..MAX_WORDS {
        let tail = rest(text, end);
        let [b' ', word @ ..] = tail else { break };
        let length = word.iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let word = word.get(..length).unwrap_or_default();
        let letters = word.iter().all(|b| b.is_ascii_alphanumeric() || !b.is_ascii());
        let goes_on = goes_on_after(word);
        if length == 0 || !letters || goes_on || is_state(word) {
            break;
        }
        end += 1 + length;
    }
    end
}

/// Whether a value tells the state of a secret: `password: incorrect for bob`, but not the passphrase
/// `correct horse`.
fn tells_state(text: &[u8], value: &Range<usize>) -> bool {
    let next = rest(text, value.end).strip_prefix(b" ").unwrap_or_default();
    let word = next.iter().take(MAX_NAME).take_while(|b| b.is_ascii_alphabetic()).count();
    let next = next.get(..word).unwrap_or_default();
    let goes_on = next.is_empty() || is_state(next) || goes_on_after(next);
    is_state(slice(text, value.clone())) && goes_on
}

/// Whether a sentence goes on after a plain word: `the password is case sensitive`.
fn is_prose(text: &[u8], value: &Range<usize>) -> bool {
    let word = slice(text, value.clone());
    let plain = word.iter().all(|b| b.is_ascii_lowercase() || b"-'".contains(b));
    let goes_on = matches!(rest(text, value.end), [b' ', b'a'..=b'z', ..]);
    plain && goes_on
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> Option<&str> {
        let at = text.to_ascii_lowercase().find("pass")?;
        let found = find(text.as_bytes(), at..at + 4);
        found.value.and_then(|value| text.get(value))
    }

    #[test]
    fn values_are_found_however_they_are_tied() {
        for (text, value) in [
            ("DB_PASSWORD=hunter2", "hunter2"),
            ("password: 'open sesame' ok", "open sesame"),
            ("{\\\"password\\\":\\\"a b\\\"}", "a b"),
            ("{\\\\\\\"password\\\\\\\":\\\\\\\"a b\\\\\\\"}", "a b"),
            ("{\"password\":\"a\\\"b\"}", "a\\\"b"),
            ("<db:password>a b</db:password>", "a b"),
            ("x%26password%3Dhunter2%26y", "hunter2"),
            ("run --password hunter2 --port 80", "hunter2"),
            ("\"name\":\"DB_PASSWORD\",\"value\":\"a\\\\b\"", "a\\\\b"),
            ("- name: DB_PASSWORD\n  value: hunter2\n", "hunter2"),
            ("<add key=\"Password\" value=\"hunter2\"/>", "hunter2"),
            ("ALTER USER bob PASSWORD 'hunter2'", "hunter2"),
            ("the password is hunter2.", "hunter2"),
            ("the password for user bob is hunter2", "hunter2"),
            ("password for bob: hunter2", "hunter2"),
            ("x password=ab,cd y", "ab,cd y"),
            ("x password=ab,user=cd", "ab"),
            ("(password=hunter2)", "hunter2"),
            (
                "login failed, password: correct horse battery staple",
                "correct horse battery staple",
            ),
            ("x password=hunter2 refused", "hunter2"),
            ("  password: correct horse, battery!  # x", "correct horse, battery!"),
            ("password: |\n  one\n  two\nuser: x", "one\n  two"),
            ("\\npassword=hunter2\\nuser", "hunter2"),
            ("Pwd={a;b};Password={c;d}", "c;d"),
        ] {
            assert_eq!(masked(text), Some(value), "{text}");
        }
    }

    #[test]
    fn talk_about_passwords_stays() {
        for text in [
            "check pass; user unknown",
            "password: incorrect",
            "the password is case sensitive",
            "the password is expired",
            "the password is temporarily stored",
            "password check failed for user (root)",
            "password: [masked]",
            "password=${DB_PASSWORD}",
            "passwords::Store::open",
            "compass: north",
        ] {
            assert_eq!(masked(text), None, "{text}");
        }
    }
}
