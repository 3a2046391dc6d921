//! Untrusted text in Markdown: nothing in it is markup.

use crate::clean::{clean, clean_up_to};

/// Cleaned, and with Markdown's special characters escaped.
pub(super) fn text(text: &str) -> String {
    plain(&clean(text))
}

/// Like [`text`], for a text that may be longer than a piece of telemetry.
pub(super) fn text_up_to(text: &str, limit: usize) -> String {
    plain(&clean_up_to(text, limit))
}

/// Cleaned, between backquotes, and safe within a cell of a table.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|"))
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                plain.push('\\');
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_means_nothing() {
        assert_eq!(text("[x](y) <img>"), "\\[x\\](y) &lt;img&gt;");
        assert_eq!(code("a`b|c"), "`a'b\\|c`");
    }
}
