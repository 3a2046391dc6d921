//! What the words of a log line are by their form alone.

/// What a byte of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Byte {
    Space,
    Word,
    Quote,
    /// Stands between the parts of one value: `12:30`, `1,024`, `7#3`.
    Joint,
    Mark,
}

pub(super) fn class(byte: u8) -> Byte {
    CLASSES[usize::from(byte)]
}

const CLASSES: [Byte; 256] = {
    let mut classes = [Byte::Word; 256];
    let mut at = 0;
    while at < 256 {
        classes[at] = match at as u8 {
            0..=b' ' | 0x7f => Byte::Space,
            b'"' | b'\'' => Byte::Quote,
            b':' | b',' | b'#' | b'|' | b'@' => Byte::Joint,
            b'=' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'`' => {
                Byte::Mark
            }
            _ => Byte::Word,
        };
        at += 1;
    }
    classes
};

/// Whether a word without digits is a value all the same: eight hexadecimal digits or more.
pub(super) fn is_value(word: &str) -> bool {
    word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a word behind a number is its unit. Only those between which programs choose by size
/// (`512 B`, `1.5 KB`; `900 us`, `3 ms`): these vary as numbers do.
pub(super) fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 24] = [
        "B", "KB", "MB", "GB", "TB", "kB", "KiB", "MiB", "GiB", "TiB", "K", "M", "G", "ns", "us",
        "µs", "ms", "s", "sec", "secs", "min", "mins", "h", "hrs",
    ];
    word.len() <= 4 && UNITS.contains(&word)
}

/// Whether a word is the name of a day, a month or a time zone as dates have them.
pub(super) fn is_date_word(word: &str) -> bool {
    const WORDS: [&str; 36] = [
        "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun",
        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "UTC", "GMT", "CET", "CEST", "EST", "EDT", "CST",
        "CDT", "MST", "MDT", "PST", "PDT", "BST", "IST", "JST", "AM", "PM",
    ];
    (2..=4).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && WORDS.contains(&word)
}

/// Whether a text ends with the name of a field that holds a message (`msg=`, `"error": `): logfmt
/// and JSON loggers put into quotes there what other loggers write as the line itself.
pub(super) fn is_message_key(text: &str) -> bool {
    const NAMES: [&str; 9] =
        ["msg", "message", "error", "err", "reason", "event", "exception", "cause", "description"];
    let Some(text) = text.strip_suffix(['=', ':']) else { return false };
    let text = text.trim_end_matches(['"', '\'', ' ']);
    let name = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}
