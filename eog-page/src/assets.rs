//! The parts of the page that do not depend on the investigation: template, style, scripts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handlebars::Handlebars;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::sections::Sections;

/// The scripts for the browser, in this order. The first is made by `assets/bundle.sh`.
const SCRIPTS: [&str; 9] = [
    include_str!("../assets/vendor.js"),
    include_str!("../assets/page/model.js"),
    include_str!("../assets/page/layout.js"),
    include_str!("../assets/page/graph.js"),
    include_str!("../assets/page/timeline.js"),
    include_str!("../assets/page/charts.js"),
    include_str!("../assets/page/tree.js"),
    include_str!("../assets/page/replay.js"),
    include_str!("../assets/page/page.js"),
];
const STYLES: [&str; 2] =
    [include_str!("../assets/vendor.css"), include_str!("../assets/page.css")];
/// Further scripts of a served page.
const LIVE_SCRIPT: &str = include_str!("../assets/page/live.js");
const LIVE_STYLE: &str = include_str!("../assets/live.css");
const TEMPLATE: &str = include_str!("../assets/page.hbs");
/// A section of the document, within [`TEMPLATE`].
const PART: &str = include_str!("../assets/part.hbs");
const LICENSES: &str = include_str!("../assets/vendor.LICENSES.txt");

/// Lets a page call the server that it came from.
pub(crate) const CONNECT: &str = "; connect-src 'self'";

#[derive(Serialize)]
struct Whole<'a> {
    policy: String,
    style: &'a str,
    scripts: &'a [&'a str],
    licenses: &'a str,
    data: &'a str,
    live: Option<&'a str>,
    is_running: bool,
    #[serde(flatten)]
    sections: &'a Sections,
}

/// The page with its sections and its data, which must be inert. `live` is the data of a page that is
/// served, and whether the investigation runs.
pub(crate) fn page(sections: &Sections, data: &str, live: Option<(&str, bool)>) -> String {
    let parts = Parts::of(live.is_some());
    let Parts { style, scripts, .. } = &parts;
    let policy = parts.policy();
    let (live, is_running) = live.map_or((None, false), |(live, runs)| (Some(live), runs));
    render(
        TEMPLATE,
        &Whole { policy, style, scripts, licenses: LICENSES, data, live, is_running, sections },
    )
}

/// A template with its data.
pub(crate) fn render(template: &str, shown: &impl Serialize) -> String {
    let mut templates = Handlebars::new();
    templates.set_strict_mode(true);
    // The templates are a part of this crate, and a test renders each of them whole.
    templates
        .register_partial("part", PART)
        .map_err(handlebars::RenderError::from)
        .and_then(|()| templates.render_template(template, shown))
        .unwrap_or_else(|error| unreachable!("a template of the page: {error}"))
}

/// Style and scripts of a page, and its permissions.
pub(crate) struct Parts {
    pub(crate) style: String,
    pub(crate) scripts: Vec<&'static str>,
    /// Its further permissions.
    pub(crate) more: &'static str,
}

impl Parts {
    fn of(is_live: bool) -> Self {
        let (mut style, mut scripts) = (STYLES.concat(), SCRIPTS.to_vec());
        if is_live {
            style += LIVE_STYLE;
            // The last one says that the page is ready.
            scripts.insert(scripts.len() - 1, LIVE_SCRIPT);
        }
        Self { style, scripts, more: if is_live { CONNECT } else { "" } }
    }

    /// A small page that is served: it may send its form to its own server.
    pub(crate) fn small(scripts: Vec<&'static str>) -> Self {
        Self { style: STYLES[1].to_owned() + LIVE_STYLE, scripts, more: "" }
    }

    /// Runs these scripts and uses this style, and nothing else.
    pub(crate) fn policy(&self) -> String {
        let scripts: Vec<String> = self.scripts.iter().map(|script| hash(script)).collect();
        let scripts = if scripts.is_empty() { "'none'".to_owned() } else { scripts.join(" ") };
        let form = if self.scripts.len() < SCRIPTS.len() { "'self'" } else { "'none'" };
        format!(
            "default-src 'none'; script-src {scripts}; style-src {}; base-uri 'none'; form-action {form}{}",
            hash(&self.style),
            self.more
        )
    }
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_ends_the_element_that_it_stands_in() {
        for script in SCRIPTS.into_iter().chain([LIVE_SCRIPT, crate::served::LIST_SCRIPT]) {
            let lower = script.to_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("<!--"), "{script:.60}");
        }
        assert!(!(STYLES.concat() + LIVE_STYLE).to_lowercase().contains("</style"));
    }

    #[test]
    fn a_hash_is_that_of_the_text() {
        assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
