//! Counted warnings: what a reader skipped, where, and why, without flooding anyone.

use eog_core::incident::Unusable;
use eog_evidence::mask_text;

/// How many lines are listed for each file and reason; further lines are only counted.
pub const MAX_LINES_NAMED: usize = 3;

/// How many different warnings are kept; more are only counted.
const MAX_WARNINGS: usize = 500;

/// How many files with records that cannot be used are listed; the rest is reported as one.
const MAX_FILES_LISTED: usize = 50;

/// Warnings in the order in which they first came up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings {
    entries: Vec<Entry>,
    dropped: u64,
    /// The files that were read, in the order in which they were begun.
    files: Vec<Unusable>,
}

#[derive(Clone, Debug)]
struct Entry {
    file: String,
    reason: String,
    lines: Vec<u64>,
    count: u64,
}

impl Warnings {
    /// Notes something that is said once.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.entries.iter().any(|entry| entry.file.is_empty() && entry.reason == text) {
            return;
        }
        self.push(Entry { file: String::new(), reason: text, lines: Vec::new(), count: 1 });
    }

    /// Counts records of a file that can be used.
    pub(crate) fn used(&mut self, file: &str, records: u64) {
        if records > 0 {
            self.file(file).records += records;
        }
    }

    /// Counts records that cannot be used. The first reason of a file is reported, with its place.
    pub(crate) fn unusable(&mut self, file: &str, records: u64, reason: impl FnOnce() -> String) {
        if records == 0 {
            return;
        }
        let counted = self.file(file);
        counted.records += records;
        counted.unusable += records;
        if counted.reason.is_empty() {
            counted.reason = reason();
        }
    }

    fn file(&mut self, file: &str) -> &mut Unusable {
        // Files are read one after the other, so it is mostly the last.
        let known = self.files.iter().rposition(|known| known.source == file);
        let at = known.unwrap_or(self.files.len());
        if known.is_none() {
            let (source, reason) = (file.to_owned(), String::new());
            self.files.push(Unusable { source, records: 0, unusable: 0, reason });
        }
        &mut self.files[at]
    }

    /// The files of which records could not be used; of many the rest is one entry.
    pub(crate) fn unusable_files(&self) -> Vec<Unusable> {
        let found = self.files.iter().filter(|file| file.unusable > 0);
        let mut listed: Vec<Unusable> = found.map(without_secrets).collect();
        if listed.len() <= MAX_FILES_LISTED {
            return listed;
        }
        let rest = listed.split_off(MAX_FILES_LISTED - 1);
        listed.push(Unusable {
            source: format!("{} more files", rest.len()),
            records: rest.iter().map(|file| file.records).sum(),
            unusable: rest.iter().map(|file| file.unusable).sum(),
            reason: rest
                .first()
                .map(|file| format!("{}, {}", file.source, file.reason))
                .unwrap_or_default(),
        });
        listed
    }

    /// Notes a record that is passed over and cannot be used. `line` is the physical line on which
    /// the record starts.
    pub(crate) fn skipped(&mut self, file: &str, line: u64, reason: &str) {
        self.unusable(file, 1, || format!("line {line}: {reason}"));
        self.passed_over(file, line, reason);
    }

    /// Notes a record that is passed over.
    pub(crate) fn passed_over(&mut self, file: &str, line: u64, reason: &str) {
        let known = self.entries.iter_mut().rev();
        let mut known = known.filter(|entry| entry.file == file && entry.reason == reason);
        if let Some(entry) = known.next() {
            entry.count += 1;
            if entry.lines.len() < MAX_LINES_NAMED {
                entry.lines.push(line);
            }
            return;
        }
        let (file, reason) = (file.to_owned(), reason.to_owned());
        self.push(Entry { file, reason, lines: vec![line], count: 1 });
    }

    /// Takes over what another reader noted, as if it had been noted here.
    pub(crate) fn append(&mut self, other: Self) {
        for entry in other.entries {
            if entry.file.is_empty() {
                self.note(entry.reason);
            } else {
                self.push(entry);
            }
        }
        self.dropped += other.dropped;
        for file in other.files {
            let Unusable { source, records, unusable, reason } = file;
            self.used(&source, records - unusable);
            self.unusable(&source, unusable, || reason);
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() < MAX_WARNINGS {
            self.entries.push(entry);
        } else {
            self.dropped += 1;
        }
    }

    /// The warnings as text, one line each.
    pub(crate) fn into_lines(self) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in self.entries {
            let Entry { file, reason, lines: named, count } = entry;
            let (file, reason) = (mask_text(&file), mask_text(&reason));
            if file.is_empty() {
                lines.push(reason);
                continue;
            }
            for line in &named {
                lines.push(format!("{file} line {line}: {reason}; the row is skipped"));
            }
            let more = count - named.len() as u64;
            if more > 0 {
                lines.push(format!("{file}: {more} more rows skipped: {reason}"));
            }
        }
        if self.dropped > 0 {
            lines.push(format!("{} more kinds of warnings are not shown", self.dropped));
        }
        lines
    }
}

/// Names of files are from outside, too, and reasons may quote.
fn without_secrets(given: &Unusable) -> Unusable {
    let Unusable { source, records, unusable, reason } = given;
    let (records, unusable) = (*records, *unusable);
    Unusable { source: mask_text(source), records, unusable, reason: mask_text(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lines_are_named_and_the_rest_counted() {
        let mut warnings = Warnings::default();
        warnings.note("no logs");
        warnings.note("no logs");
        for line in [2, 5, 9, 11, 12] {
            warnings.skipped("events.tsv", line, "not json");
        }
        warnings.used("events.tsv", 7);
        let [file] = &warnings.unusable_files()[..] else { panic!("one file") };
        assert_eq!((file.records, file.unusable, &*file.reason), (12, 5, "line 2: not json"));
        assert_eq!(
            warnings.into_lines(),
            [
                "no logs",
                "events.tsv line 2: not json; the row is skipped",
                "events.tsv line 5: not json; the row is skipped",
                "events.tsv line 9: not json; the row is skipped",
                "events.tsv: 2 more rows skipped: not json",
            ]
        );
    }

    #[test]
    fn many_files_are_reported_as_one_and_nothing_is_lost() {
        let (mut all, mut other) = (Warnings::default(), Warnings::default());
        for file in 0..60 {
            let part = if file % 2 == 0 { &mut all } else { &mut other };
            part.skipped(&format!("m{file:02}.tsv"), 2, "not a number");
            part.used(&format!("m{file:02}.tsv"), 9);
        }
        other.used("good.tsv", 3);
        all.append(other);
        let files = all.unusable_files();
        assert_eq!(files.len(), MAX_FILES_LISTED);
        assert_eq!(files.iter().map(|file| file.records).sum::<u64>(), 600);
        assert_eq!(files.iter().map(|file| file.unusable).sum::<u64>(), 60);
        assert_eq!(files[49].source, "11 more files");
        assert_eq!(files[49].reason, "m39.tsv, line 2: not a number");
    }
}
