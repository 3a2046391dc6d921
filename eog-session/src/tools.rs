//! Tools for the specialists of a tree search, beside those of the contract.

mod sre;

pub use sre::SreTools;

/// Longest answer of a tool, in bytes: it stands in the ledger, and in prompts.
const MAX_BYTES: usize = 16 * 1024;

/// As many lines as fit, and how many were left out. Secrets are masked.
fn bounded(lines: impl IntoIterator<Item = String>) -> String {
    let (mut text, mut left_out) = (String::new(), 0_usize);
    for line in lines {
        let line = eog_evidence::mask_text(&line);
        if left_out > 0 || text.len() + line.len() >= MAX_BYTES {
            left_out += 1;
            continue;
        }
        text += &line;
        text.push('\n');
    }
    if left_out > 0 {
        text += &format!("{left_out} more lines are left out; ask for less\n");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_and_hold_no_secrets() {
        assert_eq!(
            bounded(["a".to_owned(), "password=hunter2hunter2".to_owned()]),
            "a\npassword=[masked]"
        );
        let long = (0..10_000).map(|number| format!("line {number}"));
        let text = bounded(long);
        assert!(text.len() < MAX_BYTES + 100, "{}", text.len());
        assert!(text.ends_with("more lines are left out; ask for less"), "{text}");
        assert_eq!(bounded(["x".repeat(MAX_BYTES)]), "1 more lines are left out; ask for less");
    }
}
