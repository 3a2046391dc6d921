//! Checks that templates will work when they are needed: the partials they include exist, they do
//! not include themselves, even indirectly, and they use no fields that they do not have.

use std::collections::{BTreeMap, BTreeSet};

use handlebars::Handlebars;
use handlebars::template::{HelperTemplate, Template, TemplateElement};
use serde_json::Value;

use super::faults::Fault;

/// Data such as the templates of the phases are given: once with everything, once with as little as
/// there can be.
const SAMPLES: &str = include_str!("samples.json");

/// Renders every template of every phase, so that a fault is found before anything is spent.
pub(super) fn fills(templates: &Handlebars<'_>) -> Result<(), Fault> {
    for (name, samples) in samples() {
        let mut fields = Vec::new();
        samples.iter().for_each(|sample| names(sample, &mut fields));
        for sample in &samples {
            if let Err(error) = templates.render(&name, sample) {
                return Err(Fault::unfilled(&name, &error, &fields));
            }
        }
    }
    Ok(())
}

/// The samples by the name of the template that they are for.
pub(super) fn samples() -> BTreeMap<String, Vec<Value>> {
    serde_json::from_str(SAMPLES).expect("the samples are tested")
}

/// The names of all fields of a value, however deep.
fn names<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push(name);
                names(value, found);
            }
        }
        _ => {}
    }
}

/// What a template includes, by line.
type Included = BTreeMap<String, Option<usize>>;

pub(super) fn includes(templates: &Handlebars<'_>) -> Result<(), Fault> {
    let mut known: BTreeMap<&str, Included> = BTreeMap::new();
    for (name, template) in templates.get_templates() {
        let found = known.entry(name).or_default();
        collect(template, found).map_err(|(line, reason)| Fault::new(name, line, reason))?;
    }
    for (name, included) in &known {
        let unknown = included.iter().find(|(other, _)| !known.contains_key(other.as_str()));
        if let Some((unknown, line)) = unknown {
            let names = known.keys().copied().collect::<Vec<_>>().join(", ");
            let reason = format!("it includes {unknown:?}, which is none of {names}");
            return Err(Fault::new(name, *line, reason));
        }
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        for (first, line) in included {
            let mut open: Vec<&str> = vec![first];
            while let Some(next) = open.pop() {
                if next == *name {
                    let reason = "it includes itself, directly or indirectly";
                    return Err(Fault::new(name, *line, reason));
                }
                if reached.insert(next) {
                    open.extend(known.get(next).into_iter().flatten().map(|(it, _)| it.as_str()));
                }
            }
        }
    }
    Ok(())
}

/// The names of the partials that a template includes. Includes that are only known at run time are
/// refused.
fn collect(template: &Template, found: &mut Included) -> Result<(), (Option<usize>, String)> {
    for (at, element) in template.elements.iter().enumerate() {
        let line = template.mapping.get(at).map(|place| place.0);
        match element {
            TemplateElement::PartialExpression(partial)
            | TemplateElement::PartialBlock(partial) => {
                let Some(name) = partial.name.as_name() else {
                    let reason = "it includes a partial by a computed name; write the name";
                    return Err((line, reason.to_owned()));
                };
                found.entry(name.to_owned()).or_insert(line);
                collect_all(partial.template.as_ref(), found)?;
            }
            TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                let reason = "it uses a decorator such as an inline partial, which is not \
                              supported; move it to a file";
                return Err((line, reason.to_owned()));
            }
            TemplateElement::HelperBlock(helper)
            | TemplateElement::Expression(helper)
            | TemplateElement::HtmlExpression(helper) => collect_helper(helper, found)?,
            _ => {}
        }
    }
    Ok(())
}

fn collect_helper(
    helper: &HelperTemplate,
    found: &mut Included,
) -> Result<(), (Option<usize>, String)> {
    collect_all(helper.template.as_ref(), found)?;
    collect_all(helper.inverse.as_ref(), found)
}

fn collect_all(
    template: Option<&Template>,
    found: &mut Included,
) -> Result<(), (Option<usize>, String)> {
    template.map_or(Ok(()), |template| collect(template, found))
}
