//! Helpers for templates. Nothing here accesses files.

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, Renderable, StringOutput,
};
use serde_json::Value;

pub(super) fn register(templates: &mut Handlebars<'_>) {
    templates.unregister_helper("log");
    templates.register_helper("data", Box::new(Data));
    templates.register_helper("quote", Box::new(quote));
    templates.register_helper("name", Box::new(name));
}

/// `{{#data "evidence"}}…{{/data}}`: a delimited, labelled block. Its content cannot close it,
/// because no string of the data contains a `<`.
struct Data;

impl HelperDef for Data {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let label = text_of(helper, "data")?;
        let mut inner = StringOutput::new();
        if let Some(template) = helper.template() {
            template.render(registry, context, render, &mut inner)?;
        }
        let inner = inner.into_string()?;
        let lines = inner.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let body: String = lines.map(|line| format!("{line}\n")).collect();
        Ok(out.write(&format!("<data {label}>\n{body}</data>\n"))?)
    }
}

/// `{{quote text}}`: a text in quotation marks.
fn quote(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    Ok(out.write(&format!("\"{}\"", text_of(helper, "quote")?))?)
}

/// `{{name entity}}`: a name, in quotation marks if it could be taken for something else.
fn name(
    helper: &Helper<'_>,
    _: &Handlebars<'_>,
    _: &Context,
    _: &mut RenderContext<'_, '_>,
    out: &mut dyn Output,
) -> HelperResult {
    let name = text_of(helper, "name")?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@#+*$%".contains(c);
    let plain = !name.is_empty() && name.chars().all(is_plain);
    Ok(out.write(&if plain { name.to_owned() } else { format!("\"{name}\"") })?)
}

fn text_of<'rc>(helper: &'rc Helper<'rc>, called: &'static str) -> Result<&'rc str, RenderError> {
    match helper.param(0).map(handlebars::PathAndJson::value) {
        Some(Value::String(text)) => Ok(text),
        _ => {
            Err(RenderErrorReason::Other(format!("{called}: the value is missing or is not text"))
                .into())
        }
    }
}
