//! What to say of a tool that a server does not have.

use eog_evidence::shorten;

/// How alike names must be, from 0 to 1.
const ALIKE: f64 = 0.8;

/// Most names that may have been meant.
const MOST_NEAR: usize = 3;

/// Most names of a list.
const MOST_LISTED: usize = 30;

/// Longest name that is compared or shown, in characters: names come from the server.
const MAX_NAME: usize = 100;

/// That there is no such tool, and which may have been meant, else which there are.
pub(super) fn no_tool<'a>(name: &str, offered: impl Iterator<Item = &'a str>) -> String {
    let wanted = shorten(name, MAX_NAME).to_lowercase();
    let offered: Vec<String> = offered.map(|known| shorten(known, MAX_NAME)).collect();
    let mut near: Vec<(f64, &str)> = offered
        .iter()
        .map(|known| (strsim::jaro_winkler(&wanted, &known.to_lowercase()), known.as_str()))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let near: Vec<&str> = near.into_iter().take(MOST_NEAR).map(|(_, known)| known).collect();
    let hint = match (near.is_empty(), offered.len()) {
        (false, _) => format!("did you mean {}?", near.join(" or ")),
        (true, 0) => "it offers none".to_owned(),
        (true, count) => {
            let listed: Vec<&str> = offered.iter().take(MOST_LISTED).map(String::as_str).collect();
            let more = match count.saturating_sub(MOST_LISTED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!("its tools are {}{more}", listed.join(", "))
        }
    };
    format!("it has no tool {:?}; {hint}", shorten(name, MAX_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_listed_else_all() {
        let offered = ["get_context", "get_context_contract", "list_logs"];
        let said = |name: &str| no_tool(name, offered.into_iter());
        let expected = "it has no tool \"get_contxt\"; did you mean get_context or \
                        get_context_contract?";
        assert_eq!(said("get_contxt"), expected);
        let expected =
            "it has no tool \"xyz\"; its tools are get_context, get_context_contract, list_logs";
        assert_eq!(said("xyz"), expected);
        assert_eq!(no_tool("a", std::iter::empty()), "it has no tool \"a\"; it offers none");
        let many: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
        let said = no_tool("xyz", many.iter().map(String::as_str));
        assert!(said.ends_with("t28, t29, and 10 more"), "{said}");
    }
}
