//! Names that may have been meant.

/// How alike names must be, from 0 to 1.
const ALIKE: f64 = 0.75;

/// The most names that are given.
const MOST: usize = 3;

/// `; nearest: a, b`, the most alike first; nothing when no name is alike.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        // One slip of the pen, two letters in the wrong order included.
        let one_slip = strsim::osa_distance(&wanted, &name) == 1;
        strsim::jaro_winkler(&wanted, &name).max(if one_slip { ALIKE + 0.2 } else { 0.0 })
    };
    let mut alike: Vec<(f64, &str)> =
        known.into_iter().map(|name| (likeness(name), name)).filter(|(l, _)| *l > ALIKE).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let names: Vec<&str> = alike.into_iter().map(|(_, name)| name).take(MOST).collect();
    if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_come_first_and_strangers_not_at_all() {
        let known = ["frontend", "frontend-proxy", "database", "front"];
        assert_eq!(nearest("Frontnd", known), "; nearest: frontend, front, frontend-proxy");
        assert_eq!(nearest("xyz", known), "");
        assert_eq!(nearest("wbe", ["cart", "web"]), "; nearest: web");
    }
}
