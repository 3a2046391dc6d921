//! What log lines of one kind have in common: the text without its values.

mod values;

use crate::text::shorten;
use values::{Byte, class, is_date_word, is_message_key, is_unit, is_value};

/// Longest template, in characters.
pub(crate) const MAX_TEMPLATE: usize = 160;

/// How much of a line is read, in bytes.
const MAX_LINE: usize = 4 * MAX_TEMPLATE;

/// Longest quoted part, in bytes; a quote that does not end sooner is a mark like any other.
const MAX_QUOTED: usize = 256;

/// What stands in a template for a part that differs from line to line.
pub const HOLE: &str = "<*>";

/// The template of a line: what differs from line to line is replaced by [`HOLE`].
///
/// Masked are words that hold a digit (numbers, ids, addresses, times, sizes with their units),
/// UUIDs, hardware and IPv6 addresses, long hexadecimal words, URLs, dates, and quoted parts, save
/// quoted messages (`msg="…"`), names of JSON fields and HTTP requests, which are masked inside. Values
/// side by side are one. At most 160 characters; of a line the first 640 bytes count.
///
/// ```
/// use eog_evidence::template;
/// assert_eq!(template("order 4711 of \"ann lee\" took 3 ms id=6f9a"), "order <*> of <*> took <*> id=<*>");
/// assert_eq!(template("10.0.0.7:80 \"GET /cart/7 HTTP/1.1\" len: 12"), "<*> \"GET <*>\" len: <*>");
/// ```
///
/// A template of a template is the template itself. Words that vary without looking like values are
/// found by comparing templates: see [`Miner`](crate::Miner).
pub fn template(text: &str) -> String {
    let mut masked = String::with_capacity(MAX_TEMPLATE);
    mask_values(text, &mut masked);
    shorten(&masked, MAX_TEMPLATE)
}

/// Writes a line without its values into an empty text.
pub(crate) fn mask_values(text: &str, out: &mut String) {
    let end = (0..=MAX_LINE.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
    let mut masker = Masker { text, at: 0, out, hole_end: 0, spaced: false };
    masker.run();
}

/// The place in a line, and what was written of it.
struct Masker<'t, 'o> {
    text: &'t str,
    at: usize,
    out: &'o mut String,
    /// Where the last hole ended, if nothing but marks that join numbers was written since; else 0.
    hole_end: usize,
    /// Whether white space came since the last thing written.
    spaced: bool,
}

impl<'t> Masker<'t, '_> {
    fn run(&mut self) {
        while let Some(byte) = self.byte(self.at) {
            match class(byte) {
                Byte::Space => {
                    self.spaced = true;
                    self.at += 1;
                }
                Byte::Word => self.word(),
                Byte::Quote => self.quote(byte),
                Byte::Mark | Byte::Joint => self.mark(byte),
            }
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self, from: usize) -> &'t str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Where the run of bytes that begins at `from` and passes a test ends.
    fn end_of(&self, from: usize, test: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes().get(from..).unwrap_or_default();
        from + bytes.iter().position(|byte| !test(*byte)).unwrap_or(bytes.len())
    }

    fn word(&mut self) {
        let start = self.at;
        let mut digits = 0_usize;
        let end = self.end_of_word(start, &mut digits);
        let next = self.byte(end);
        if next == Some(b':') {
            if self.rest(end).starts_with("://") {
                let end = self.end_of(start, |byte| !is_url_end(byte));
                return self.hole(end);
            }
            if let Some(end) = self.address(start) {
                return self.hole(end);
            }
        }
        let run = self.text.get(start..end).unwrap_or_default();
        if run.starts_with('/') && run.contains('?') {
            // A path with a query, which differs from request to request.
            let end = self.end_of(start, |byte| !is_url_end(byte));
            return self.hole(end);
        }
        // The end of a sentence is no part of its last word.
        let word = match run.bytes().rposition(|byte| !b".!?".contains(&byte)) {
            Some(last) => run.get(..=last).unwrap_or(run),
            None => run,
        };
        let end = start + word.len();
        // `p99=`, `r2:`: names of fields, not ids.
        let is_name = next == Some(b'=') && digits <= 2 && word.starts_with(char::is_alphabetic);
        if (digits > 0 && !is_name) || is_value(word) || self.is_date(word, end) {
            return self.hole(end);
        }
        if self.spaced && self.follows_hole() && is_unit(word) {
            (self.at, self.spaced) = (end, false);
            return;
        }
        self.write(end);
    }

    /// Where a word ends, and how many digits it has. Three dots or more lead from a word to its value.
    fn end_of_word(&self, start: usize, digits: &mut usize) -> usize {
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        if bytes.starts_with(b"...") {
            return self.end_of(start, |byte| byte == b'.');
        }
        for (at, byte) in bytes.iter().enumerate() {
            if class(*byte) != Byte::Word {
                return start + at;
            }
            if *byte == b'.' && bytes.get(at..at + 3) == Some(b"...") {
                return start + at;
            }
            *digits += usize::from(byte.is_ascii_digit());
        }
        self.text.len()
    }

    /// The end of a hardware or IPv6 address: groups of hexadecimal digits between two colons or more.
    fn address(&self, start: usize) -> Option<usize> {
        let group = self.end_of(start, |byte| byte.is_ascii_hexdigit());
        if group > start + 4 || self.byte(group) != Some(b':') {
            return None;
        }
        let end = self.end_of(start, |byte| byte.is_ascii_hexdigit() || byte == b':');
        let run = self.text.get(start..end)?;
        let colons = run.bytes().filter(|byte| *byte == b':').count();
        let is_whole = self.byte(end).is_none_or(|byte| class(byte) != Byte::Word);
        let groups = run.split(':').all(|group| group.len() <= 4);
        let has_digit = run.bytes().any(|byte| byte.is_ascii_digit());
        (colons >= 2 && is_whole && groups && has_digit).then_some(end)
    }

    /// Whether a word is part of a date: the name of a day, month or time zone beside a number or
    /// another such name.
    fn is_date(&self, word: &str, end: usize) -> bool {
        if !is_date_word(word) {
            return false;
        }
        let rest = self.rest(end).trim_start_matches([' ', ',']);
        let next = rest.split([' ', ',']).next().unwrap_or_default();
        self.follows_hole()
            || next.starts_with(|c: char| c.is_ascii_digit())
            || is_date_word(next)
            || next.starts_with(HOLE)
    }

    fn follows_hole(&self) -> bool {
        self.out.ends_with(HOLE)
    }

    fn quote(&mut self, mark: u8) {
        let start = self.at;
        let within = |at: usize| self.byte(at).is_some_and(|byte| class(byte) == Byte::Word);
        // An apostrophe stands within or behind a word.
        let opens = start == 0 || !within(start - 1);
        let close = if opens { self.closing(mark) } else { None };
        let Some(close) = close else { return self.mark(mark) };
        let content = self.text.get(start + 1..close).unwrap_or_default();
        let is_name = self.byte(close + 1) == Some(b':');
        if is_name || is_request(content) || is_message_key(self.out) {
            return self.mark(mark);
        }
        self.hole(close + 1);
    }

    /// Where the quote that begins here ends: at the same mark, before something that is no word.
    fn closing(&self, mark: u8) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while at <= self.at + MAX_QUOTED {
            let byte = *bytes.get(at)?;
            let ends = || bytes.get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric());
            match byte {
                b'\\' => at += 1,
                _ if byte == mark && ends() => return Some(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn mark(&mut self, byte: u8) {
        if byte == b'<' && self.rest(self.at).starts_with(HOLE) {
            return self.hole(self.at + HOLE.len());
        }
        let joins = class(byte) == Byte::Joint && !self.spaced && self.hole_end > 0;
        let hole_end = self.hole_end;
        self.write(self.at + 1);
        if joins {
            self.hole_end = hole_end;
        }
    }

    /// Writes what stands here as it is, up to a place in the line.
    fn write(&mut self, end: usize) {
        if self.spaced && !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        (self.at, self.spaced, self.hole_end) = (end, false, 0);
    }

    /// Takes back the sign before a value that is only bounded, `<1 s`, but no bracket around one.
    fn drop_comparison(&mut self) {
        if self.spaced || !is_comparison(self.out) || self.byte(self.at) == Some(b'>') {
            return;
        }
        self.out.pop();
        self.spaced = self.out.pop().is_some();
        if self.out.ends_with(HOLE) {
            self.hole_end = self.out.len();
        }
    }

    /// Writes a hole for what stands here; holes side by side are one.
    fn hole(&mut self, end: usize) {
        self.at = end;
        self.drop_comparison();
        match (self.spaced, self.hole_end) {
            (true, 0) | (false, 0) => {
                if self.spaced && !self.out.is_empty() {
                    self.out.push(' ');
                }
                self.out.push_str(HOLE);
            }
            (true, hole_end) if hole_end == self.out.len() => {}
            (true, _) => {
                self.out.push(' ');
                self.out.push_str(HOLE);
            }
            (false, hole_end) => self.out.truncate(hole_end),
        }
        (self.spaced, self.hole_end) = (false, self.out.len());
    }
}

fn is_comparison(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b' ', b'<' | b'>'] | [b'<' | b'>'])
}

fn is_url_end(byte: u8) -> bool {
    matches!(class(byte), Byte::Space | Byte::Quote) || b"()<>[]{},;".contains(&byte)
}

/// Whether a quoted part is the request of an HTTP access log.
fn is_request(content: &str) -> bool {
    const METHODS: [&str; 9] =
        ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE"];
    content.split_once(' ').is_some_and(|(method, _)| METHODS.contains(&method))
}

#[cfg(test)]
mod tests;
