//! Small, bounded pieces of text. Telemetry is untrusted: whatever is quoted is cut to size.

/// At most `limit` characters of a text on one line, with an ellipsis where something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
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

/// The lower-case words of a name: split at everything that is no letter or digit, and where
/// camelCase begins a word.
pub(crate) fn words(name: &str) -> Vec<String> {
    let (mut found, mut word) = (Vec::new(), String::new());
    let mut previous = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        // `requestRate` and `CPULoad` both begin a word at their capital.
        let ends_acronym =
            previous.is_uppercase() && characters.peek().is_some_and(|c| c.is_lowercase());
        let after_lower = previous.is_lowercase() || previous.is_ascii_digit();
        let begins = character.is_uppercase() && (after_lower || ends_acronym);
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = character;
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_split() {
        assert_eq!(shorten("too\nlong", 4), "too …");
        assert_eq!(words("RequestErrorRate_p95").join(" "), "request error rate p95");
        assert_eq!(words("KubePodOOM").join(" "), "kube pod oom");
        assert_eq!(words("CPUThrottlingHigh").join(" "), "cpu throttling high");
    }
}
