//! The times and dates that a model was shown: it may repeat them, and invent none.

use std::collections::BTreeSet;

use eog_core::Timestamp;
use eog_report::words;

/// Times of day and dates, as they stand in texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    known: BTreeSet<String>,
}

impl Clock {
    /// Takes note of an instant.
    pub(super) fn note(&mut self, at: Timestamp) {
        self.note_text(&words::instant(at));
    }

    /// Takes note of every time and date in a text. After 10:04:20, a text may also say 10:04.
    pub(super) fn note_text(&mut self, text: &str) {
        for token in tokens(text) {
            if let Some((minute, _)) = token.rsplit_once(':').filter(|(m, _)| m.contains(':')) {
                self.known.insert(minute.to_owned());
            }
            self.known.insert(token);
        }
    }

    /// The first time or date of a text that is not known.
    pub(super) fn unknown_in(&self, text: &str) -> Option<String> {
        tokens(text).find(|token| !self.known.contains(token))
    }
}

/// The times of day (`9:05`, `09:05:30`, read as `09:05…`) and dates (`2026-01-01`) in a text, ranges
/// taken apart.
fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |c: char| c.is_ascii_digit() || c == ':' || c == '-';
    let starts = text.char_indices().filter(move |(at, c)| {
        is_part(*c) && !text[..*at].chars().next_back().is_some_and(is_part)
    });
    starts.flat_map(move |(start, _)| {
        let run = text[start..].split(|c| !is_part(c)).next().unwrap_or_default();
        let before = text[..start].chars().next_back();
        let is_joined = before.is_some_and(|c| c != 'T' && (c.is_alphanumeric() || c == '.'));
        match date(run) {
            Some(date) if !is_joined => vec![date],
            _ => {
                let times = run.split('-').skip(usize::from(is_joined));
                times.filter_map(|part| time_of_day(part.trim_end_matches(':'))).collect()
            }
        }
    })
}

fn time_of_day(run: &str) -> Option<String> {
    let parts: Vec<&str> = run.split(':').collect();
    let is_number = |part: &&str, digits: std::ops::RangeInclusive<usize>, below: u32| {
        digits.contains(&part.len()) && part.parse::<u32>().is_ok_and(|number| number < below)
    };
    let (hour, rest) = parts.split_first()?;
    let fits = is_number(hour, 1..=2, 24)
        && (1..=2).contains(&rest.len())
        && rest.iter().all(|part| is_number(part, 2..=2, 60));
    fits.then(|| format!("{hour:0>2}:{}", rest.join(":")))
}

fn date(run: &str) -> Option<String> {
    let lengths: Vec<usize> = run.split('-').map(str::len).collect();
    (lengths == [4, 2, 2]).then(|| run.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_times_and_dates_and_nothing_else() {
        let found: Vec<String> = tokens(
            "at 2026-03-20T12:08:00.5Z (9:05), from 10:04:20-10:05: not 10.0.0.1:53, web:8080, \
             12:61, a12:30, 1.2.3, 99:10 or é12:01, but x-12:00",
        )
        .collect();
        assert_eq!(found, ["2026-03-20", "12:08:00", "09:05", "10:04:20", "10:05", "12:00"]);
    }

    #[test]
    fn what_was_not_shown_is_not_known() {
        let mut clock = Clock::default();
        clock.note("2026-03-20T12:08:30Z".parse().unwrap());
        assert_eq!(clock.unknown_in("at 12:08, or 12:08:30, on 2026-03-20"), None);
        assert_eq!(clock.unknown_in("at 12:08:31"), Some("12:08:31".to_owned()));
        assert_eq!(clock.unknown_in("on 2026-03-21"), Some("2026-03-21".to_owned()));
    }
}
