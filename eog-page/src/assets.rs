//! The parts of the page that do not depend on the investigation: template, style, scripts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handlebars::Handlebars;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::sections::Sections;

/// What is put together for the browser, in this order. The first is made by `assets/bundle.sh`.
const SCRIPTS: [&str; 8] = [
    include_str!("../assets/vendor.js"),
    include_str!("../assets/page/model.js"),
    include_str!("../assets/page/layout.js"),
    include_str!("../assets/page/graph.js"),
    include_str!("../assets/page/timeline.js"),
    include_str!("../assets/page/charts.js"),
    include_str!("../assets/page/replay.js"),
    include_str!("../assets/page/page.js"),
];
const STYLES: [&str; 2] =
    [include_str!("../assets/vendor.css"), include_str!("../assets/page.css")];
const TEMPLATE: &str = include_str!("../assets/page.hbs");
const LICENSES: &str = include_str!("../assets/vendor.LICENSES.txt");

#[derive(Serialize)]
struct Whole<'a> {
    policy: String,
    style: &'a str,
    scripts: &'a [&'a str],
    licenses: &'a str,
    data: &'a str,
    #[serde(flatten)]
    sections: &'a Sections,
}

/// The page with its sections and its data, which must be inert.
pub(crate) fn page(sections: &Sections, data: &str) -> String {
    let style = STYLES.concat();
    let policy = policy(&style, "");
    let whole =
        Whole { policy, style: &style, scripts: &SCRIPTS, licenses: LICENSES, data, sections };
    let mut templates = Handlebars::new();
    templates.set_strict_mode(true);
    // The template is a part of this crate, and a test renders it whole.
    templates
        .render_template(TEMPLATE, &whole)
        .unwrap_or_else(|error| unreachable!("the template of the page: {error}"))
}

/// What the page may do: run its own scripts and wear its own style, and nothing else.
fn policy(style: &str, more: &str) -> String {
    let scripts: Vec<String> = SCRIPTS.iter().map(|script| hash(script)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'{more}",
        scripts.join(" "),
        hash(style)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_ends_the_element_that_it_stands_in() {
        for script in SCRIPTS {
            let lower = script.to_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("<!--"), "{script:.60}");
        }
        assert!(!STYLES.concat().to_lowercase().contains("</style"));
    }

    #[test]
    fn a_hash_is_that_of_the_text() {
        assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
