//! Checked cases as JUnit XML, which continuous integration shows.

use std::fmt::Write as _;

use eog_cases::check::Checked;

/// One test suite with a test case for each.
pub(super) fn report(cases: &[Checked]) -> String {
    let failures = cases.iter().filter(|it| it.outcome.is_failure()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"eog cases\" tests=\"{}\" failures=\"{failures}\">\n",
        cases.len()
    );
    for checked in cases {
        let _ =
            write!(text, "  <testcase classname=\"eog.cases\" name=\"{}\"", escaped(&checked.case));
        if !checked.outcome.is_failure() {
            text += "/>\n";
            continue;
        }
        let says = |what: &Option<String>| what.clone().unwrap_or_default();
        let (before, after, note) =
            (says(&checked.before), says(&checked.after), says(&checked.note));
        let _ = writeln!(
            text,
            ">\n    <failure message=\"{}\">before: {}\nnow: {}\n{}</failure>\n  </testcase>",
            checked.outcome,
            escaped(&before),
            escaped(&after),
            escaped(&note)
        );
    }
    text + "</testsuite>\n"
}

/// Text for an element or an attribute; what XML 1.0 cannot hold becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_breaks_out() {
        assert_eq!(escaped("a<b>&\"c\"\u{1b}\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\n");
    }
}
