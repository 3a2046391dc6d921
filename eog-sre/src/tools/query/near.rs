//! Names near to a misspelt one.

/// Most names that a message lists.
const MAX_LISTED: usize = 24;

/// Most names that are compared.
const MAX_COMPARED: usize = 50_000;

/// What to say about a name that is not there: what may have been meant, else what there is.
/// `what` is the plural of what the names are of.
pub(crate) fn near<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    let wanted: String = name.chars().take(200).collect::<String>().to_lowercase();
    let bare_wanted = wanted.rsplit('/').next().unwrap_or(&wanted);
    let mut close: Vec<(f64, &str)> = Vec::new();
    for known in names.clone().take(MAX_COMPARED).filter(|known| known.len() <= 400) {
        let lower = known.to_lowercase();
        // Of entities the last part of the name says most.
        let bare = lower.rsplit('/').next().unwrap_or(&lower);
        let whole = strsim::jaro_winkler(&wanted, &lower);
        let likeness = whole.max(strsim::jaro_winkler(bare_wanted, bare));
        if likeness >= 0.85 {
            close.push((likeness, known));
        }
    }
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match close.is_empty() {
        true => format!("the {what} are {}", listed(names)),
        false => {
            let close: Vec<&str> = close.iter().take(5).map(|(_, known)| *known).collect();
            format!("did you mean {}?", close.join(" or "))
        }
    }
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
