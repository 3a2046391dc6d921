//! A page of text for a terminal: styles, and paragraphs that wrap below their own beginning.

use anstyle::{AnsiColor, Style};

/// Plain.
pub const PLAIN: Style = Style::new();
/// For headings and names.
pub const BOLD: Style = Style::new().bold();
/// For secondary text.
pub const DIM: Style = Style::new().dimmed();
/// For errors and decisive facts.
pub const RED: Style = AnsiColor::Red.on_default().bold();
/// For what is uncertain.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// For good news.
pub const GREEN: Style = AnsiColor::Green.on_default();

/// Narrower than this, wrapping does more harm than good.
const MIN_WIDTH: usize = 40;

/// Text that grows line by line.
#[derive(Clone, Debug)]
pub struct Page {
    text: String,
    width: Option<usize>,
}

impl Page {
    /// An empty page that wraps at a width, if one is given.
    pub fn new(width: Option<usize>) -> Self {
        Self { text: String::new(), width: width.map(|width| width.max(MIN_WIDTH)) }
    }

    /// A heading with an empty line above; without words the empty line alone.
    pub fn title(&mut self, words: &str) {
        self.text.push('\n');
        if !words.is_empty() {
            self.line("", BOLD, words);
        }
    }

    /// A line or paragraph; further lines begin below the first.
    pub fn line(&mut self, lead: &str, style: Style, words: &str) {
        let below = " ".repeat(textwrap::core::display_width(lead));
        self.paragraph(lead, &below, style, words);
    }

    /// A paragraph whose first line begins with one lead and whose further lines with another.
    pub fn paragraph(&mut self, first: &str, below: &str, style: Style, words: &str) {
        let room = self.width.map(|width| {
            width.saturating_sub(textwrap::core::display_width(first)).max(MIN_WIDTH / 2)
        });
        let lines = match room {
            // Names, times and queries stay whole, so that they can be copied.
            Some(room) => {
                let options = textwrap::Options::new(room).break_words(false);
                let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
                textwrap::wrap(words, options.word_separator(textwrap::WordSeparator::AsciiSpace))
            }
            None => vec![words.into()],
        };
        for (number, line) in lines.iter().enumerate() {
            let lead = if number == 0 { first } else { below };
            self.text.push_str(&format!("{lead}{style}{line}{style:#}\n"));
        }
    }

    /// A line that stays one, so that it can be copied.
    pub fn whole(&mut self, lead: &str, style: Style, words: &str) {
        self.text.push_str(&format!("{lead}{style}{words}{style:#}\n"));
    }

    /// The text; the output stream takes the colours out where they do not belong.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Paragraphs, each with its lead.
pub fn paragraphs(lines: &[(&str, String)], width: Option<usize>) -> String {
    let mut page = Page::new(width);
    for (lead, words) in lines {
        page.line(lead, PLAIN, words);
    }
    page.into_text()
}

/// Text without its colours, which are for terminals.
///
/// ```
/// use eog_report::page::{RED, plain};
/// assert_eq!(plain(&format!("{RED}down{RED:#}")), "down");
/// ```
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_below_its_beginning_and_keeps_long_words_whole() {
        let mut page = Page::new(Some(44));
        page.paragraph("└─ ", "   ", PLAIN, "because requests from gateway rose from 80 to 100");
        page.line("• ", PLAIN, &format!("see {}", "x".repeat(60)));
        let text = page.into_text();
        assert_eq!(
            text,
            format!(
                "└─ because requests from gateway rose from\n   80 to 100\n• see\n  {}\n",
                "x".repeat(60)
            )
        );
    }

    #[test]
    fn a_line_is_a_line_where_no_width_is_known() {
        let mut page = Page::new(None);
        page.line("", PLAIN, &"word ".repeat(100));
        assert_eq!(page.into_text().lines().count(), 1);
    }
}
