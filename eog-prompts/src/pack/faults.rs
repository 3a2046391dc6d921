//! Errors in templates, in words for template authors.

use handlebars::{
    RenderError, RenderErrorReason as Render, TemplateError, TemplateErrorReason as Parse,
};
use strsim::damerau_levenshtein;

/// What is wrong with a template, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The template or partial.
    pub(super) template: String,
    /// The line, from 1, if known.
    pub(super) line: Option<usize>,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(template: &str, line: Option<usize>, reason: impl Into<String>) -> Self {
        Self { template: template.to_owned(), line, reason: reason.into() }
    }

    /// A template that cannot be parsed.
    pub(super) fn unreadable(template: &str, error: &TemplateError) -> Self {
        let reason = match error.reason() {
            Parse::MismatchingClosedHelper(open, close)
            | Parse::MismatchingClosedDecorator(open, close) => {
                format!("{{{{#{open}}}}} is closed by {{{{/{close}}}}}")
            }
            Parse::InvalidParam(given) => format!("{given:?} is not allowed there"),
            _ => "syntax error: each {{ needs a }}, and each {{#…}} a {{/…}}".to_owned(),
        };
        Self::new(template, error.pos().map(|(line, _)| line), reason)
    }

    /// A template that cannot be rendered. `fields` are the names that it could use.
    pub(super) fn unfilled(root: &str, error: &RenderError, fields: &[&str]) -> Self {
        let template = error.template_name.as_deref().unwrap_or(root);
        Self::new(template, error.line_no, words(error.reason(), fields))
    }
}

/// Why a template cannot be rendered.
pub(super) fn words(reason: &Render, fields: &[&str]) -> String {
    match reason {
        Render::MissingVariable(Some(path)) => {
            let last = path.rsplit(['.', '/']).next().unwrap_or(path);
            let meant = fields
                .iter()
                .map(|field| (damerau_levenshtein(last, field), field))
                .filter(|(distance, field)| *distance > 0 && *distance <= field.len() / 3)
                .min();
            let meant = meant.map(|(_, field)| format!("; did you mean {field:?}?"));
            format!("there is no field {path:?} here{}", meant.unwrap_or_default())
        }
        Render::MissingVariable(None) => "the value to look up does not exist".to_owned(),
        Render::HelperNotFound(name) => format!(
            "there is no helper {name:?}; the helpers are data, quote, name, if, unless, each, \
             with and lookup"
        ),
        Render::PartialNotFound(name) => format!("there is no template {name:?} to include"),
        Render::ParamNotFoundForIndex(name, _) | Render::ParamNotFoundForName(name, _) => {
            format!("{name:?} needs a value")
        }
        Render::InvalidParamType(wanted) => format!("a value is not of the type {wanted}"),
        // Errors of our own helpers.
        Render::Other(text) => text.clone(),
        _ => "this cannot be rendered".to_owned(),
    }
}
