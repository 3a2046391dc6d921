//! Runs text cases: parse, drive the controller, render, compare.

mod drive;
mod parse;
mod render;
mod script;
mod settings;
mod words;

use std::path::Path;

pub(crate) use parse::parse;

/// Runs every run of one case file. With `update` the expected part is written anew.
pub(crate) fn check_or_update(path: &Path, update: bool) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let script = parse(&name, &text).map_err(|error| error.to_string())?;
    let mut found = String::new();
    for run in &script.runs {
        if script.runs.len() > 1 {
            let gap = if found.is_empty() { "" } else { "\n" };
            found.push_str(&format!("{gap}== {}\n", run.title));
        }
        let finished = drive::drive(&script, run)
            .map_err(|error| format!("{name} ({}): {error}", run.title))?;
        found.push_str(&render::render(&script, &finished));
    }
    if found == script.expected {
        return Ok(());
    }
    if update {
        let whole = format!("{}----\n{found}", script.input);
        return std::fs::write(path, whole).map_err(|error| format!("{name}: {error}"));
    }
    Err(format!("{name} comes out differently:\n{}", difference(&script.expected, &found)))
}

/// Lines of both texts from the first difference on.
fn difference(expected: &str, found: &str) -> String {
    let same = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let rest = |sign: &str, text: &str| -> String {
        text.lines().skip(same).map(|line| format!("  {sign} {line}\n")).collect()
    };
    format!("{}{}", rest("-", expected), rest("+", found))
}
