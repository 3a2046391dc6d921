//! A verification for people.

use eog::Timestamp;
use eog_report::clean::{clean, clean_to};
use eog_report::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, YELLOW};
use eog_report::words;
use eog_session::recovery::{Intervention, Judged, Outcome, Subject, Verdict, Verification};

/// Characters shown of a text of telemetry.
const MAX_WORDS: usize = 140;
/// Other changes shown.
const MAX_OTHERS: usize = 3;

/// The verification as text, wrapped at `width` columns, if given.
pub(super) fn text(
    name: &str,
    verification: &Verification,
    reopen: Option<&str>,
    width: Option<usize>,
) -> String {
    let Verification { intervention, returns, unaffected, .. } = verification;
    let mut page = Page::new(width);
    page.line("", BOLD, &clean(name));
    page.line("", DIM, &repaired(intervention));
    page.title(&verification.verdict.to_string().to_uppercase());
    let style = match verification.verdict {
        Verdict::Verified => GREEN,
        Verdict::Withdrawn => RED,
        _ => YELLOW,
    };
    page.line("  ", style, &clean(&conclusion(verification)));
    page.title("SHOULD RETURN");
    for one in returns {
        page.line(&sign(one), PLAIN, &line(one, intervention.at));
    }
    for (place, one) in unaffected.iter().enumerate() {
        if place == 0 {
            page.title("SHOULD NOT CHANGE");
        }
        page.line("  ", PLAIN, &unaffected_line(one));
    }
    others(&mut page, verification);
    if let Some(command) = reopen {
        page.title("INVESTIGATE AGAIN");
        page.whole("  ", PLAIN, &clean(command));
        page.line(
            "  ",
            DIM,
            "PATH is what was investigated. The repair becomes evidence in the new ledger.",
        );
    }
    page.into_text()
}

fn repaired(intervention: &Intervention) -> String {
    let Intervention { at, entity, what, is_recorded } = intervention;
    let source = if *is_recorded { "on record" } else { "as given" };
    let what = clean_to(what, MAX_WORDS);
    format!("repair of {} at {} ({source}): {what}", clean(entity.as_str()), words::instant(*at))
}

fn conclusion(verification: &Verification) -> String {
    let origins = words::list(&verification.origins);
    match verification.verdict {
        Verdict::Verified => format!(
            "What {origins} explains returned in time after the repair: the diagnosis is verified."
        ),
        Verdict::Withdrawn => format!(
            "No alert returned although {origins} was repaired: the diagnosis is withdrawn."
        ),
        Verdict::TooEarly => {
            let by = verification.returns.iter().map(|one| one.by).max();
            let by = by.map_or_else(String::new, words::instant);
            let until = verification.recorded_until.map(words::instant);
            let until = until.unwrap_or_else(|| "an unknown time".to_owned());
            format!("The record ends at {until}. Repeat this with records until {by}.")
        }
        Verdict::Undecided => {
            "Nothing decides: no alert was on record as active at the repair.".to_owned()
        }
        Verdict::Partial => {
            format!("Not all that {origins} explains is on record as returned in time.")
        }
    }
}

fn sign(one: &Judged) -> String {
    match one.outcome {
        Outcome::Returned { .. } => format!("  {GREEN}✓{GREEN:#} "),
        Outcome::Late { .. } | Outcome::NotReturned => format!("  {RED}✗{RED:#} "),
        _ => format!("  {DIM}–{DIM:#} "),
    }
}

fn line(one: &Judged, repaired: Timestamp) -> String {
    let (what, returned) = match &one.subject {
        Subject::Alert { .. } => (subject(one), "last active"),
        Subject::Series { .. } => (subject(one), "as usual since"),
    };
    let (at, by) = (|at: &Timestamp| words::instant(*at), words::instant(one.by));
    let within = format!("within {} min", one.by.duration_since(repaired).as_mins());
    let outcome = match &one.outcome {
        Outcome::Returned { at: when } => {
            let after = when.duration_since(repaired).as_mins();
            format!("{returned} {}, {after} min after the repair (predicted: {within})", at(when))
        }
        Outcome::Late { at: when } => {
            format!("{returned} {}, too late: predicted by {by}", at(when))
        }
        Outcome::NotReturned => format!("did not return; predicted by {by}"),
        Outcome::Before { at: Some(when) } => {
            format!("{returned} {}, before the repair: no evidence", at(when))
        }
        Outcome::Before { at: None } => "as usual before the repair: no evidence".to_owned(),
        Outcome::NotRecorded => "nothing recorded that decides".to_owned(),
        Outcome::Open => format!("not yet returned; predicted by {by}"),
    };
    format!("{what}: {outcome}")
}

fn subject(one: &Judged) -> String {
    match &one.subject {
        Subject::Alert { name, entity } => clean_to(&format!("{name} on {entity}"), MAX_WORDS),
        Subject::Series { entity, text, .. } => clean_to(&format!("{entity}: {text}"), MAX_WORDS),
    }
}

/// What became of an alert that the cause does not explain.
fn unaffected_line(one: &Judged) -> String {
    let outcome = match &one.outcome {
        Outcome::Returned { at } => format!(
            "returned as well, at {}, although this cause does not explain it",
            words::instant(*at)
        ),
        Outcome::Late { .. } | Outcome::NotReturned | Outcome::Open => "unchanged".to_owned(),
        Outcome::Before { .. } => "had ended before the repair".to_owned(),
        Outcome::NotRecorded => "nothing recorded that decides".to_owned(),
    };
    format!("{}: {outcome}", subject(one))
}

fn others(page: &mut Page, verification: &Verification) {
    let others = &verification.other_changes;
    for (place, other) in others.iter().take(MAX_OTHERS).enumerate() {
        if place == 0 {
            page.title("OTHER CHANGES AFTER THE HARM");
        }
        let what = clean_to(&other.what, MAX_WORDS);
        page.line("  ", DIM, &format!("{}  {}: {what}", words::instant(other.at), other.entity));
    }
    if !others.is_empty() {
        page.line("  ", DIM, "To judge by one of these, give its time: --at TIME.");
    }
}
