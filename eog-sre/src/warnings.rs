//! Counted warnings: what a reader skipped, where, and why, without flooding anyone.

/// How many lines are listed for each file and reason; further lines are only counted.
pub const MAX_LINES_NAMED: usize = 3;

/// How many different warnings are kept; more are only counted.
const MAX_WARNINGS: usize = 500;

/// Warnings in the order in which they first came up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings {
    entries: Vec<Entry>,
    dropped: u64,
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

    /// Notes a record that was skipped. `line` is the physical line on which the record starts.
    pub(crate) fn skipped(&mut self, file: &str, line: u64, reason: &str) {
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
}
