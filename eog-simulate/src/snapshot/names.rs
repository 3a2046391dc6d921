//! Names that a truth's filters match.

use regex_syntax::hir::{Class, Hir, HirKind};

/// A name that a filter matches at its beginning: what is open in the filter becomes `tail` where
/// that fits, and nothing where it need not be anything.
///
/// An expression that cannot be read is taken literally.
pub(super) fn matching(filter: &str, tail: &str) -> String {
    let mut name = String::new();
    match regex_syntax::parse(filter) {
        Ok(hir) => write(&hir, tail, &mut name),
        Err(_) => name.push_str(filter),
    }
    name
}

fn write(hir: &Hir, tail: &str, name: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => name.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => name.push(character(class)),
        HirKind::Repetition(repetition) => {
            let is_open =
                repetition.max.is_none() && matches!(repetition.sub.kind(), HirKind::Class(_));
            if is_open
                && !name.is_empty()
                && tail.len() >= repetition.min as usize
                && fits(&repetition.sub, tail)
            {
                name.push_str(tail);
            } else {
                (0..repetition.min.min(8)).for_each(|_| write(&repetition.sub, tail, name));
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, tail, name),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, tail, name)),
        HirKind::Alternation(parts) => {
            if let Some(first) = parts.first() {
                write(first, tail, name);
            }
        }
    }
}

/// Whether a class holds every character of a text.
fn fits(class: &Hir, text: &str) -> bool {
    let HirKind::Class(class) = class.kind() else { return false };
    text.chars().all(|wanted| holds(class, wanted))
}

fn holds(class: &Class, wanted: char) -> bool {
    match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted))
        }
        Class::Bytes(class) => u8::try_from(wanted).is_ok_and(|wanted| {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted))
        }),
    }
}

fn character(class: &Class) -> char {
    let usual = ('a'..='z').chain('0'..='9').chain(['-', '.']);
    usual.into_iter().find(|wanted| holds(class, *wanted)).unwrap_or('x')
}

/// What two names share that mean one service: lowercase, without separators and `service`.
pub(super) fn key(name: &str) -> String {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_lowercase();
    let stem = plain.strip_suffix("service").or_else(|| plain.strip_suffix("svc"));
    stem.filter(|stem| !stem.is_empty()).map_or(plain.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_matches_the_name_made_of_it() {
        let cases = [
            (r"mail\b", "v1", "mail"),
            ("mail-.*", "v1", "mail-v1"),
            ("mail-.*", "", "mail-"),
            (".*mail-stress", "v1", "mail-stress"),
            (r"mail-[0-9]+$", "v1", "mail-0"),
            ("(mail|post)-x?", "v1", "mail-"),
            ("mail(", "v1", "mail("),
        ];
        for (filter, tail, expected) in cases {
            let name = matching(filter, tail);
            assert_eq!(name, expected, "{filter}");
            if let Ok(filter) = regex::Regex::new(&format!("^(?:{filter})")) {
                assert!(filter.is_match(&name), "{filter} {name}");
            }
        }
    }

    #[test]
    fn names_of_one_service_share_a_key() {
        assert_eq!(key("ad-service"), key("Ad"));
        assert_eq!(key("service"), "service");
        assert_ne!(key("front"), key("front-proxy"));
    }
}
