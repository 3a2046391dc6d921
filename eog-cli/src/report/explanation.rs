//! Why an entity has its label, for a person at a terminal.

use eog::travel::{Again, Explanation, Part, Step};

use super::clean::clean;
use super::entries;
use super::model::Report;
use super::page::{BOLD, DIM, PLAIN, Page, YELLOW};
use super::words;

/// Renders an explanation.
pub(crate) fn explanation(
    report: &Report,
    explanation: &Explanation,
    width: Option<usize>,
) -> String {
    let mut page = Page::new(width);
    let label = explanation
        .belief
        .as_ref()
        .map_or("never evaluated".to_owned(), |belief| belief.label.to_string());
    page.line("", BOLD, &format!("{}: {label}", clean(explanation.entity.as_str())));
    if let Some(belief) = &explanation.belief {
        page.line("  ", PLAIN, &clean(&belief.summary));
        for finding in report.cited(belief) {
            let when = words::time(&finding.time);
            page.line("  • ", PLAIN, &format!("{when}  {}", clean(&words::finding(finding))));
            let query = words::query(finding);
            page.line("    ", DIM, &format!("{}  {}", finding.id(), clean(&query)));
        }
        for claim in &belief.claims {
            let claim = format!("claims that {} explains {}", claim.cause, claim.effect);
            page.line("  • ", PLAIN, &clean(&claim));
        }
    }
    page.title("HOW IT CAME TO THAT");
    for step in &explanation.steps {
        one_step(&mut page, step);
    }
    page.title("WHAT IT HANGS ON");
    if explanation.hangs_on.is_empty() {
        page.line("  ", PLAIN, &nothing_single(&explanation.again));
    }
    for dependence in &explanation.hangs_on {
        let without = match &dependence.without {
            Part::Finding(id) => report.findings.get(id).map_or_else(
                || id.to_string(),
                |finding| format!("{id}, {}", clean(&words::finding(finding))),
            ),
            Part::Message(sender) => format!("the message of {}", clean(sender.as_str())),
        };
        page.line("  • without ", PLAIN, &without);
        let then = format!("{}: {}", dependence.label, clean(&dependence.summary));
        page.line("    it would be ", YELLOW, &then);
    }
    page.into_text()
}

/// Why nothing is named that the label hangs on.
fn nothing_single(again: &Again) -> String {
    match again {
        Again::Same => "No single finding or message: without any one of them, the label stays.",
        Again::NotAsked => {
            "Not known: the last evaluation has no decision that could be asked for again."
        }
        Again::Other(label) => {
            return format!(
                "Not known: asked again with everything, the policy says {label} and not what is \
                 recorded. It wavers, or is not the one that made the ledger: see --policy."
            );
        }
        Again::Failed(reason) => {
            let reason = clean(reason);
            return format!("Not known: asked again with everything, the policy fails: {reason}");
        }
    }
    .to_owned()
}

fn one_step(page: &mut Page, step: &Step) {
    for heard in &step.heard {
        let heard =
            format!("entry {}: heard that {} is {}", heard.entry, heard.sender, heard.label);
        page.line("    ", DIM, &clean(&heard));
    }
    let change = words::change(step.change);
    let line = format!(
        "{}, {change} ({}): {}",
        step.belief.label,
        entries::why(step.reason, step.activated_by),
        clean(&step.belief.summary)
    );
    page.line(&format!("  entry {}: ", step.entry), PLAIN, &line);
}

/// The conclusion of a run in one line.
pub(crate) fn in_one_line(report: &Report) -> String {
    let causes = words::list(report.causes().flat_map(|group| &group.origins));
    let causes = if causes.is_empty() { "no origin".to_owned() } else { causes };
    format!("{} ({}), {}", clean(&causes), report.conclusion.confidence, words::cost(report))
}
