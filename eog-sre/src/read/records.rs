//! Records of a tab-separated file: where each begins, what its fields hold, which line it is on.
//!
//! Fields are separated by tabs, records by `\n`, `\r\n` or `\r`; empty lines do not count. A field
//! that begins with a quote goes on to the quote that closes it, two quotes inside it being one;
//! what stands behind that belongs to it as it is. A quote anywhere else is text like any other.
//! The `csv` crate reads the same, and the tests compare with it.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2, memchr3};

/// Longest record, in bytes. A longer one is usually a quote that is never closed.
pub const MAX_RECORD_BYTES: u64 = 8 * 1024 * 1024;

/// How much is asked of the source at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// What a file may begin with; no part of the first field.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A source taken apart into records, in bounded memory.
pub(crate) struct Records<R> {
    source: R,
    /// How much is asked of the source at least, in bytes.
    chunk: usize,
    /// What was read and not yet passed: `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The source has nothing more.
    ended: bool,
    begun: bool,
    /// Line ends before `start`.
    lines: u64,
}

/// The fields of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    text: Vec<u8>,
    /// Where in `text` each field ends.
    ends: Vec<usize>,
}

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A record.
    Record(Place),
    /// More than [`MAX_RECORD_BYTES`] without the end of a record. It is not yet passed.
    TooLong(Place),
    /// Nothing more.
    End,
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The physical line on which it begins, counted from 1 by `\n`.
    pub(crate) line: u64,
    /// How many bytes it takes, with its end.
    length: usize,
    /// Whether the file ends inside a quoted field of it.
    pub(crate) open: bool,
}

/// How the bytes of a record are taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Mark,
    AreText,
}

/// Why a record cannot be given yet.
struct MoreNeeded;

impl<R: Read> Records<R> {
    pub(crate) fn new(source: R) -> Self {
        Self::with_chunk(source, CHUNK)
    }

    /// Asks for at least `chunk` bytes at once.
    pub(crate) fn with_chunk(source: R, chunk: usize) -> Self {
        Self {
            source,
            chunk,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            begun: false,
            lines: 0,
        }
    }

    /// Reads the next record into `record` without passing it: [`Self::pass`] does, or
    /// [`Self::pass_line`].
    pub(crate) fn peek(&mut self, record: &mut Record) -> io::Result<Next> {
        self.pass_empty_lines()?;
        loop {
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            if bytes.is_empty() && self.ended {
                return Ok(Next::End);
            }
            let line = self.lines + 1;
            match record.fill(bytes, Quotes::Mark, self.ended) {
                Ok((length, open)) if length as u64 <= MAX_RECORD_BYTES => {
                    return Ok(Next::Record(Place { line, length, open }));
                }
                Err(MoreNeeded) if bytes.len() as u64 <= MAX_RECORD_BYTES => self.read_more()?,
                Ok(_) | Err(MoreNeeded) => {
                    return Ok(Next::TooLong(Place { line, length: bytes.len(), open: true }));
                }
            }
        }
    }

    /// Goes on behind the record at `place`, which was just read.
    pub(crate) fn pass(&mut self, place: Place) {
        let length = place.length.min(self.end - self.start);
        let passed = self.buffer.get(self.start..self.start + length).unwrap_or_default();
        self.lines += memchr_iter(b'\n', passed).count() as u64;
        self.start += length;
    }

    /// Goes on behind the first line of the record that was just read. Gives whether that line was
    /// held, so that what is behind it will be searched once more.
    pub(crate) fn pass_line(&mut self) -> io::Result<bool> {
        let mut held = true;
        loop {
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            let found = memchr2(b'\n', b'\r', bytes);
            let length = found.unwrap_or(bytes.len());
            self.start += length;
            // The line end itself is passed as an empty line.
            if found.is_some() || self.ended {
                return Ok(held);
            }
            held = false;
            self.read_more()?;
        }
    }

    /// Reads the first line of the record at `place` with its quotes as text, and passes it.
    pub(crate) fn take_line(&mut self, place: Place, record: &mut Record) {
        let bytes = self.buffer.get(self.start..self.start + place.length).unwrap_or_default();
        if let Ok((length, _)) = record.fill(bytes, Quotes::AreText, true) {
            self.pass(Place { length, ..place });
        }
    }

    /// Whether a line behind the first of the record at `place` has so many fields, its quotes
    /// being text.
    pub(crate) fn has_line_of(&self, place: Place, fields: usize) -> bool {
        let bytes = self.buffer.get(self.start..self.start + place.length).unwrap_or_default();
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).skip(1);
        lines.into_iter().any(|line| memchr_iter(b'\t', line).count() + 1 == fields)
    }

    fn pass_empty_lines(&mut self) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            while self.end < BYTE_ORDER_MARK.len() && !self.ended {
                self.read_more()?;
            }
            let bytes = self.buffer.get(..self.end).unwrap_or_default();
            if bytes.starts_with(BYTE_ORDER_MARK) {
                self.start = BYTE_ORDER_MARK.len();
            }
        }
        loop {
            match self.buffer.get(self.start..self.end).unwrap_or_default().first() {
                Some(b'\n') => self.lines += 1,
                Some(b'\r') => {}
                Some(_) => return Ok(()),
                None if self.ended => return Ok(()),
                None => {
                    self.read_more()?;
                    continue;
                }
            }
            self.start += 1;
        }
    }

    /// Reads at least as much as is held, so that a long record is searched only a few times.
    fn read_more(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let wanted = self.end + self.end.max(self.chunk);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted {
            let free = self.buffer.get_mut(self.end..wanted).unwrap_or_default();
            match self.source.read(free) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Record {
    /// How many fields there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        self.text.get(start..*self.ends.get(at)?)
    }

    /// All fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Takes the first record of `bytes`, which begin with no line end. Gives its length with its
    /// end, and whether the bytes end inside quotes; `ended` when no more bytes will come.
    fn fill(
        &mut self,
        bytes: &[u8],
        quotes: Quotes,
        ended: bool,
    ) -> Result<(usize, bool), MoreNeeded> {
        self.text.clear();
        self.ends.clear();
        let mut at = 0;
        loop {
            let mut rest = bytes.get(at..).unwrap_or_default();
            if rest.is_empty() && !ended {
                return Err(MoreNeeded);
            }
            if quotes == Quotes::Mark
                && let Some(inside) = rest.strip_prefix(b"\"")
            {
                let Some(length) = self.quoted(inside, ended)? else {
                    self.ends.push(self.text.len());
                    return Ok((bytes.len(), true));
                };
                rest = inside.get(length..).unwrap_or_default();
            }
            let found = memchr3(b'\t', b'\n', b'\r', rest);
            let length = match found {
                Some(length) => length,
                None if ended => rest.len(),
                None => return Err(MoreNeeded),
            };
            self.text.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.ends.push(self.text.len());
            at = bytes.len() - rest.len() + length;
            match rest.get(length) {
                Some(b'\t') => at += 1,
                // The `\n` of a `\r\n` is left and passed as an empty line.
                Some(_) => return Ok((at + 1, false)),
                None => return Ok((at, false)),
            }
        }
    }

    /// Takes what stands between quotes, the first being passed. Gives how long it is with the
    /// closing quote, or nothing when there is none.
    fn quoted(&mut self, inside: &[u8], ended: bool) -> Result<Option<usize>, MoreNeeded> {
        let mut at = 0;
        loop {
            let rest = inside.get(at..).unwrap_or_default();
            let Some(length) = memchr(b'"', rest) else {
                self.text.extend_from_slice(rest);
                return if ended { Ok(None) } else { Err(MoreNeeded) };
            };
            at += length + 1;
            match rest.get(length + 1) {
                Some(b'"') => {
                    self.text.extend_from_slice(rest.get(..=length).unwrap_or_default());
                    at += 1;
                }
                None if !ended => return Err(MoreNeeded),
                Some(_) | None => {
                    self.text.extend_from_slice(rest.get(..length).unwrap_or_default());
                    return Ok(Some(at));
                }
            }
        }
    }
}
