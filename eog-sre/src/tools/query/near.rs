//! Names near to a misspelt one.

/// Most names that a message lists.
const MAX_LISTED: usize = 24;

/// Most names that are compared.
const MAX_COMPARED: usize = 50_000;

/// How alike two names must be for one to be meant by the other, from 0 to 1.
const CLOSE: f64 = 0.85;

/// How alike two names are that differ in one letter, however short they are.
const ONE_SLIP: f64 = 0.9;

/// How much of the likeness counts when only the beginning of a name was meant.
const BEGINNING: f64 = 0.98;

/// What to say about a name that is not there: what may have been meant, else what there is.
/// `what` is the plural of what the names are of.
pub(crate) fn near<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    let wanted: String = name.chars().take(200).collect::<String>().to_lowercase();
    let mut close: Vec<(f64, f64, &str)> = Vec::new();
    for known in names.clone().take(MAX_COMPARED).filter(|known| known.len() <= 400) {
        let lower = known.to_lowercase();
        let end = last_parts(&lower, wanted.matches('/').count() + 1);
        let likeness = likeness(&wanted, &lower);
        if likeness >= CLOSE {
            close.push((likeness, strsim::jaro_winkler(&wanted, end), known));
        }
    }
    // Of equally close names first those whose kind and namespace, if given, are closer too.
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2)));
    match close.is_empty() {
        true => format!("the {what} are {}", listed(names)),
        false => {
            let close: Vec<&str> = close.iter().take(5).map(|(_, _, known)| *known).collect();
            format!("did you mean {}?", close.join(" or "))
        }
    }
}

/// How alike two names in lower case are, from 0 to 1: as a whole, or in the last part, which says
/// most of an entity, or in the beginning of that, since names of pods go on with what is made up.
fn likeness(wanted: &str, known: &str) -> f64 {
    let (bare, known_bare) = (last_parts(wanted, 1), last_parts(known, 1));
    let words = bare.matches('-').count() + 1;
    let beginning = match known_bare.match_indices('-').nth(words - 1) {
        Some((at, _)) => BEGINNING * alike(bare, known_bare.get(..at).unwrap_or_default()),
        None => 0.0,
    };
    strsim::jaro_winkler(wanted, known).max(alike(bare, known_bare)).max(beginning)
}

/// A slip is one letter; another digit is another name.
fn alike(a: &str, b: &str) -> f64 {
    let share = strsim::jaro_winkler(a, b);
    let comparable = a.len().min(b.len()) >= 3 && a.len().abs_diff(b.len()) <= 4;
    if share >= ONE_SLIP || !comparable {
        return share;
    }
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    if strsim::osa_distance(a, b) == 1 && digits(a) == digits(b) { ONE_SLIP } else { share }
}

/// The last `count` parts between slashes.
fn last_parts(name: &str, count: usize) -> &str {
    let slash = name.rmatch_indices('/').nth(count - 1);
    slash.and_then(|(at, _)| name.get(at + 1..)).unwrap_or(name)
}

/// Names with commas between, cut after a few.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    let shown = all.get(..MAX_LISTED.min(all.len())).unwrap_or_default().join(", ");
    match all.len().saturating_sub(MAX_LISTED) {
        0 if all.is_empty() => "none".to_owned(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_in_bare_names_are_understood() {
        let names = [
            "shop/Deployment/cart",
            "shop/Pod/cart-7f9c6d5b8-x2x4z",
            "shop/Pod/checkout-1",
            "shop/Service/cart",
            "shop/Service/web",
        ];
        let hint = |name: &str| near(name, names.into_iter(), "entities");
        let cart = "did you mean shop/Deployment/cart or shop/Service/cart or \
                    shop/Pod/cart-7f9c6d5b8-x2x4z?";
        let cases = [
            // A wrong letter, also the first or one of few; a missing, a doubled, two swapped.
            ("dart", cart),
            ("wen", "did you mean shop/Service/web?"),
            ("cat", cart),
            ("caart", cart),
            ("crat", cart),
            ("CRAT", cart),
            ("chekcout-1", "did you mean shop/Pod/checkout-1?"),
            ("chekcout", "did you mean shop/Pod/checkout-1?"),
        ];
        for (name, expected) in cases {
            assert_eq!(hint(name), expected, "{name}");
        }
        let service = hint("Service/crat");
        assert!(service.starts_with("did you mean shop/Service/cart or "), "{service}");
        assert_eq!(
            near("p98", ["p90", "mean"].into_iter(), "statistics"),
            "the statistics are p90, mean"
        );
        assert!(hint("nothing-like-it").starts_with("the entities are "));
        assert!(hint("").starts_with("the entities are "));
    }
}
