//! Small, bounded pieces of text. Telemetry is untrusted: whatever is quoted is cut to size.

use eog_core::evidence::ChangeDetail;
use eog_core::{EntityId, Timestamp};
use jiff::SignedDuration;

/// Longest text that is split into words, in bytes: values can be whole files.
const MAX_TEXT: usize = 16 * 1024;

/// At most `limit` characters of a text on one line, with an ellipsis where something was cut.
///
/// ```
/// assert_eq!(eog_evidence::shorten("too\nlong", 4), "too …");
/// ```
pub fn shorten(text: &str, limit: usize) -> String {
    let mut short = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(limit) {
        short.push(if character.is_control() { ' ' } else { character });
    }
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// At most `limit` characters of a line on one line, cut in the middle: what a program writes ends with what went wrong.
///
/// ```
/// assert_eq!(eog_evidence::shorten_line("rpc failed: code = Unknown, desc = refused", 20), "rpc fail…sc = refused");
/// ```
pub fn shorten_line(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return shorten(text, limit);
    }
    let head = limit * 2 / 5;
    let tail: String = text.chars().skip(length - (limit - head)).collect();
    let tail = shorten(&tail, limit);
    let head = shorten(text, head);
    format!("{head}{tail}")
}

/// What a line of a log says, at most `limit` characters of it: of a JSON object the message and the error rather than ids and
/// addresses beside them.
pub(crate) fn line_excerpt(line: &str, limit: usize) -> String {
    shorten_line(&said_in_json(line).unwrap_or_else(|| line.to_owned()), limit)
}

/// The message and the error of a JSON object, if it is one that has any.
fn said_in_json(line: &str) -> Option<String> {
    const FIELDS: [&str; 9] =
        ["message", "msg", "event", "error", "err", "exception", "cause", "reason", "detail"];
    const LONGEST: usize = 16_384;
    let line = line.trim();
    if !line.starts_with('{') || line.len() > LONGEST {
        return None;
    }
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let mut said: Vec<&str> = Vec::new();
    for text in FIELDS.iter().filter_map(|field| fields.get(*field)?.as_str()) {
        if !text.is_empty() && !said.iter().any(|known| known.contains(text)) {
            said.push(text);
        }
    }
    (!said.is_empty()).then(|| said.join(": "))
}

/// The text of a change on one line, at most `limit` characters of it. Of a diff that is longer, the
/// names of the files and the changed lines are kept and what stands around them is left out, then
/// changed lines from the end, with their count. Lines are joined by ` | `.
///
/// ```
/// let diff = "diff --git a/app.yml b/app.yml\n@@ -1,3 +1,3 @@\n name: app\n-timeout: 5\n+timeout: 50\n";
/// let short = eog_evidence::shorten_change(diff, 60);
/// assert_eq!(short, "diff --git a/app.yml b/app.yml | -timeout: 5 | +timeout: 50");
/// ```
pub fn shorten_change(text: &str, limit: usize) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let whole = lines.join(" | ");
    let fits = |text: &str| text.chars().nth(limit).is_none();
    let is_diff =
        lines.iter().any(|line| line.starts_with("@@ ") || line.starts_with("diff --git "));
    if fits(&whole) || !is_diff {
        return shorten(&whole, limit);
    }
    // What comes before a diff is what was said about it.
    let begin = lines.iter().position(|line| is_file_name(line)).unwrap_or(0);
    let (said, diff) = lines.split_at(begin);
    let has_names = diff.iter().any(|line| line.starts_with("diff --git "));
    let is_informative = |line: &&&str| {
        let is_name = is_file_name(line);
        if is_name && has_names { line.starts_with("diff ") } else { is_name || is_changed(line) }
    };
    let informative: Vec<&str> =
        said.iter().chain(diff.iter().filter(is_informative)).copied().collect();
    let mut kept = informative.len();
    loop {
        let mut short = informative[..kept].join(" | ");
        let lost = informative.len() - kept;
        if lost > 0 {
            short += &format!(" | … {} more", counted(lost, "line"));
        }
        if fits(&short) || kept <= 1 {
            return shorten(&short, limit);
        }
        kept -= 1;
    }
}

/// Whether a line of a diff names a file.
fn is_file_name(line: &str) -> bool {
    ["diff ", "--- ", "+++ "].iter().any(|start| line.starts_with(start))
}

fn is_changed(line: &str) -> bool {
    line.starts_with(['+', '-'])
}

/// The lower-case words of a name or text: runs of letters and digits, split again where camelCase
/// begins a word. Of a long text the first 16 KiB.
///
/// ```
/// assert_eq!(eog_evidence::words("HTTPServer_restartCount"), ["http", "server", "restart", "count"]);
/// ```
pub fn words(text: &str) -> Vec<String> {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
    let mut found = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let begins = character.is_uppercase()
            && (previous.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || (previous.is_some_and(char::is_uppercase)
                    && characters.peek().is_some_and(|next| next.is_lowercase())));
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = Some(character);
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// A number with three significant digits, for people.
///
/// ```
/// assert_eq!(eog_evidence::rounded(0.012345), "0.0123");
/// ```
pub fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// An amount with its unit. Much time, and many bytes, are given in a unit that people can imagine.
pub(crate) fn in_unit(value: f64, unit: &str) -> String {
    if unit == "bytes" {
        return match value.abs() {
            1e9.. => format!("{} GB", rounded(value / 1e9)),
            1e6.. => format!("{} MB", rounded(value / 1e6)),
            1e3.. => format!("{} KB", rounded(value / 1e3)),
            _ => format!("{} bytes", rounded(value)),
        };
    }
    let seconds = match unit {
        "ms" | "milliseconds" => value / 1_000.0,
        "s" | "seconds" => value,
        _ => f64::NAN,
    };
    match seconds.abs() {
        60_000.0.. => format!("{} h", rounded(seconds / 3_600.0)),
        1_000.0.. => format!("{} min", rounded(seconds / 60.0)),
        10.0.. => format!("{} s", rounded(seconds)),
        _ => format!("{} {}", rounded(value), shorten(unit, 40)),
    }
}

/// Whether a name says its unit already, such as `failed_requests` with the unit `requests`.
pub(crate) fn is_named_by(name: &str, unit: &str) -> bool {
    let unit = words(unit);
    !unit.is_empty() && words(name).ends_with(&unit)
}

/// A number of bytes in words, in the largest unit of which there is a whole one, rounded up.
///
/// ```
/// use eog_evidence::bytes_in_words;
/// assert_eq!(bytes_in_words(1), "1 byte");
/// assert_eq!(bytes_in_words(999), "999 bytes");
/// assert_eq!(bytes_in_words(2_340_000), "2.4 MB");
/// assert_eq!(bytes_in_words(512_000_001), "513 MB");
/// ```
pub fn bytes_in_words(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} {}", if bytes == 1 { "byte" } else { "bytes" }),
        1_000..1_000_000 => (1_000, "KB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = bytes.div_ceil(unit / 10);
    match (tenths / 10, tenths % 10) {
        (whole @ ..10, tenth @ 1..) => format!("{whole}.{tenth} {name}"),
        _ => format!("{} {name}", bytes.div_ceil(unit)),
    }
}

/// A path as people read it: `a > b > c`.
pub(crate) fn arrows(path: &[EntityId]) -> String {
    path.iter().map(EntityId::as_str).collect::<Vec<_>>().join(" > ")
}

/// The time between two instants in whole seconds, such as `4m 10s`.
pub(crate) fn span_between(from: Timestamp, to: Timestamp) -> String {
    let whole = SignedDuration::from_secs(to.duration_since(from).as_secs());
    format!("{whole:#}")
}

/// A change in words, such as `limits.memory from 512Mi to 128Mi`.
pub(crate) fn change_in_words(change: &ChangeDetail) -> String {
    let path = shorten(&change.path, 120);
    let value = |text: &str| format!("{:?}", shorten(text, 80));
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{path} from {} to {}", value(old), value(new)),
        (None, Some(new)) => format!("{path} to {}", value(new)),
        (Some(old), None) => format!("{path} from {} to nothing", value(old)),
        (None, None) => path,
    }
}

/// `1 alert`, `2 alerts`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_is_one_bounded_line() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("too\nlong", 4), "too …");
        assert_eq!(shorten("ééé", 2), "éé…");
    }

    #[test]
    fn of_a_long_diff_the_changed_lines_stay() {
        let context = " unchanged: true\n".repeat(40);
        let diff = format!(
            "Raise limits\n--- a/values.yml\n+++ b/values.yml\n@@ -1,9 +1,9 @@\n{context}\
             -memory: 512Mi\n+memory: 128Mi\n{context}-replicas: 3\n+replicas: 1\n"
        );
        let changed = "Raise limits | --- a/values.yml | +++ b/values.yml | -memory: 512Mi | \
                       +memory: 128Mi | -replicas: 3 | +replicas: 1";
        assert_eq!(shorten_change(&diff, 200), changed);
        let less = "Raise limits | --- a/values.yml | +++ b/values.yml | -memory: 512Mi | \
                    +memory: 128Mi | … 2 lines more";
        assert_eq!(shorten_change(&diff, 110), less);
        assert_eq!(shorten_change(&diff, 5), "Raise…");
        // What is no diff is cut at its end; a list of options is none.
        assert_eq!(shorten_change("-a\n-b\n-c", 5), "-a | …");
        assert_eq!(shorten_change("one\n\ntwo", 20), "one | two");
        assert_eq!(shorten_change("", 5), "");
    }

    #[test]
    fn text_splits_into_words() {
        let cases = [
            ("productCatalogFailure", "product catalog failure"),
            ("RequestErrorRate_p95", "request error rate p95"),
            ("KubePodOOM", "kube pod oom"),
            ("HTTPServer2Port", "http server2 port"),
            ("data/demo.flag_d-json", "data demo flag d json"),
            ("", ""),
            ("--", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_rounded_for_people() {
        let cases = [
            (0.0, "0"),
            (0.012345, "0.0123"),
            (99.96, "100"),
            (123456.7, "123457"),
            (-2.5, "-2.5"),
        ];
        for (value, expected) in cases {
            assert_eq!(rounded(value), expected);
        }
    }

    #[test]
    fn much_time_is_given_in_larger_units() {
        let cases = [
            (641_150_098.0, "ms", "178 h"),
            (2_500_000.0, "ms", "41.7 min"),
            (45_000.0, "ms", "45 s"),
            (250.0, "ms", "250 ms"),
            (0.5, "s", "0.5 s"),
            (641_150_098.0, "requests", "641150098 requests"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(in_unit(value, unit), expected);
        }
    }

    #[test]
    fn a_unit_that_a_name_says_is_not_repeated() {
        assert!(is_named_by("failed_requests", "requests"));
        assert!(is_named_by("requests", "requests"));
        assert!(!is_named_by("latency_p95", "ms"));
        assert!(!is_named_by("requests", ""));
    }

    #[test]
    fn time_between_is_in_whole_seconds() {
        let from: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let to: Timestamp = "2026-01-01T10:04:10.5Z".parse().unwrap();
        assert_eq!(span_between(from, to), "4m 10s");
    }
}
