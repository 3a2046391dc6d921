//! What a template may include: partials that exist, and never itself, not even by way of another.

use std::collections::{BTreeMap, BTreeSet};

use handlebars::Handlebars;
use handlebars::template::{HelperTemplate, Template, TemplateElement};

use super::PackError;

pub(super) fn includes(templates: &Handlebars<'_>) -> Result<(), PackError> {
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, template) in templates.get_templates() {
        let bad = |reason| PackError::BadTemplate { name: name.clone(), reason };
        let found = known.entry(name).or_default();
        collect(template, found).map_err(bad)?;
    }
    for (name, included) in &known {
        if let Some(unknown) = included.iter().find(|other| !known.contains_key(other.as_str())) {
            let names = known.keys().copied().collect::<Vec<_>>().join(", ");
            let reason = format!("it includes {unknown:?}, which is none of: {names}");
            return Err(PackError::BadTemplate { name: (*name).to_owned(), reason });
        }
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = included.iter().map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if next == *name {
                let reason = "it includes itself, perhaps by way of another".to_owned();
                return Err(PackError::BadTemplate { name: (*name).to_owned(), reason });
            }
            if reached.insert(next) {
                open.extend(known.get(next).into_iter().flatten().map(String::as_str));
            }
        }
    }
    Ok(())
}

/// The names of the partials that a template includes. What could include something that is not
/// known before the template runs is refused.
fn collect(template: &Template, found: &mut BTreeSet<String>) -> Result<(), String> {
    for element in &template.elements {
        match element {
            TemplateElement::PartialExpression(partial)
            | TemplateElement::PartialBlock(partial) => {
                let Some(name) = partial.name.as_name() else {
                    return Err("it includes a partial whose name it works out; name it".to_owned());
                };
                found.insert(name.to_owned());
                collect_all(partial.template.as_ref(), found)?;
            }
            TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                return Err("it uses a decorator such as an inline partial, which is not \
                            supported; make it a file"
                    .to_owned());
            }
            TemplateElement::HelperBlock(helper)
            | TemplateElement::Expression(helper)
            | TemplateElement::HtmlExpression(helper) => collect_helper(helper, found)?,
            _ => {}
        }
    }
    Ok(())
}

fn collect_helper(helper: &HelperTemplate, found: &mut BTreeSet<String>) -> Result<(), String> {
    collect_all(helper.template.as_ref(), found)?;
    collect_all(helper.inverse.as_ref(), found)
}

fn collect_all(template: Option<&Template>, found: &mut BTreeSet<String>) -> Result<(), String> {
    template.map_or(Ok(()), |template| collect(template, found))
}
