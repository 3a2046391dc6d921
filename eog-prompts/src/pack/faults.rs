//! What is wrong with a template, in words for whoever writes one.

use handlebars::{
    RenderError, RenderErrorReason as Render, TemplateError, TemplateErrorReason as Parse,
};
use strsim::damerau_levenshtein;

/// What is wrong with a template, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The template or partial.
    pub(super) template: String,
    /// The line, from 1, where it is known.
    pub(super) line: Option<usize>,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(template: &str, line: Option<usize>, reason: impl Into<String>) -> Self {
        Self { template: template.to_owned(), line, reason: reason.into() }
    }

    /// Of a text that is no template.
    pub(super) fn unreadable(template: &str, error: &TemplateError) -> Self {
        let reason = match error.reason() {
            Parse::MismatchingClosedHelper(open, close)
            | Parse::MismatchingClosedDecorator(open, close) => {
                format!("{{{{#{open}}}}} is closed by {{{{/{close}}}}}")
            }
            Parse::InvalidParam(given) => format!("{given:?} is nothing that can stand there"),
            _ => "this cannot be read: each {{ needs its }}, and each {{#…}} its {{/…}}".to_owned(),
        };
        Self::new(template, error.pos().map(|(line, _)| line), reason)
    }

    /// Of a template that cannot be filled in. `fields` are the names that it could use.
    pub(super) fn unfilled(root: &str, error: &RenderError, fields: &[&str]) -> Self {
        let template = error.template_name.as_deref().unwrap_or(root);
        Self::new(template, error.line_no, words(error.reason(), fields))
    }
}

/// Why a template cannot be filled in.
pub(super) fn words(reason: &Render, fields: &[&str]) -> String {
    match reason {
        Render::MissingVariable(Some(path)) => {
            let last = path.rsplit(['.', '/']).next().unwrap_or(path);
            let meant = fields
                .iter()
                .map(|field| (damerau_levenshtein(last, field), field))
                .filter(|(distance, field)| *distance > 0 && *distance <= field.len() / 3)
                .min();
            let meant = meant.map(|(_, field)| format!("; perhaps {field:?} is meant"));
            format!("there is no field {path:?} here{}", meant.unwrap_or_default())
        }
        Render::MissingVariable(None) => "what is looked up is not there".to_owned(),
        Render::HelperNotFound(name) => format!(
            "nothing is called {name:?}; there are data, quote, name, if, unless, each, with and \
             lookup"
        ),
        Render::PartialNotFound(name) => format!("there is no template {name:?} to include"),
        Render::ParamNotFoundForIndex(name, _) | Render::ParamNotFoundForName(name, _) => {
            format!("{name:?} needs a value")
        }
        Render::InvalidParamType(wanted) => format!("a value is no {wanted}"),
        // What our own helpers say.
        Render::Other(text) => text.clone(),
        _ => "this cannot be filled in".to_owned(),
    }
}
