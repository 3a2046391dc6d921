//! The report that is read in half a minute: verdict, chain, what speaks against it.

use eog_core::diagnosis::OriginGroup;
use eog_core::{Claim, Confidence, Diagnosis, EntityId, EvidenceKind, Finding};

use crate::clean::{clean, clean_to};
use crate::folded::{Hop, folded};
use crate::page::{DIM, PLAIN, Page, RED, YELLOW};
use crate::report::{Report, Weight};
use crate::text::{
    head, more, next_suspects, notes, ranking, said, similar, to_be_sure, told, unusable,
};
use crate::words;

/// Findings shown for one cause.
const MAX_FINDINGS: usize = 3;
/// Places of one change of which the evidence is shown.
const MAX_PLACES: usize = 2;
/// Characters shown of a finding, and of each half of a claim.
const MAX_WORDS: usize = 140;
/// Characters shown of what a model says of a cause.
const MAX_SUMMARY: usize = 600;
/// Hops shown of the chain.
const MAX_HOPS: usize = 15;
/// Lines shown of what speaks against the result.
const MAX_AGAINST: usize = 6;
/// Lines shown of what was considered and is not named.
const MAX_CONSIDERED: usize = 3;
/// Notes shown.
const MAX_NOTES: usize = 4;
/// Causes of which it is said what would show that they are the cause.
const MAX_SURE: usize = 3;
/// Candidates shown when there is no finding, and characters of why.
const CANDIDATES: (usize, usize) = (3, 200);
/// Names shown of those that pass an effect on.
const MAX_VIA: usize = 6;

/// Renders the report that is read in half a minute, with colours; the output stream takes them out
/// where they do not belong. Wraps at `width` columns, if given.
///
/// The verdict with its evidence, how it spread without those that only pass an effect on, and what speaks
/// against it. [`text`](crate::text()) has everything else: queries, other entities, notes.
pub fn short(report: &Report, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    head(&mut page, report);
    unusable(&mut page, report);
    told(&mut page, report);
    said(&mut page, report);
    if report.diagnosis.is_diagnosed() {
        for group in report.diagnosis.causes() {
            cause(&mut page, report, group);
        }
        spread(&mut page, report);
    } else {
        ranking(&mut page, report, CANDIDATES);
    }
    against(&mut page, report);
    to_be_sure(&mut page, report, MAX_SURE);
    next_suspects(&mut page, report);
    similar(&mut page, report);
    considered(&mut page, report);
    notes(&mut page, report, (MAX_NOTES, MAX_WORDS));
    page.title("");
    page.line("", DIM, &report.cost());
    if let Some(run) = report.run.and_then(|run| run.in_words()) {
        page.line("", DIM, &run);
    }
    page.into_text()
}

fn cause(page: &mut Page, report: &Report, group: &OriginGroup) {
    let style = if group.confidence == Confidence::Confirmed { RED } else { YELLOW };
    let confidence = words::confidence(group);
    page.title(&format!("{} ({confidence})", report.heading(group).to_uppercase()));
    let places = match words::shared_change(group) {
        Some(shared) => {
            page.line("  ", PLAIN, &clean_to(&shared, MAX_WORDS));
            MAX_PLACES
        }
        None => usize::MAX,
    };
    for origin in group.origins.iter().take(places) {
        page.line("  ", style, &clean(origin.as_str()));
        let Some(belief) = report.diagnosis.belief(origin) else { continue };
        let cited = report.diagnosis.cited(belief);
        // A note says how what is listed here hangs together, which the chain shows.
        let shown = || {
            let is_shown = |finding: &&&Finding| {
                finding.kind != EvidenceKind::Note || finding.verdict().is_some()
            };
            cited.iter().filter(is_shown)
        };
        let weights = report.weights(origin);
        let carrying = || weights.iter().filter(|weight| weight.term.log_odds > 0);
        for weight in carrying().take(MAX_FINDINGS) {
            let when = weight.finding.map(|finding| words::time(&finding.time) + "  ");
            let line = format!("{}{}", when.unwrap_or_default(), in_words_of(weight));
            page.line("    • ", PLAIN, &line);
        }
        if carrying().next().is_some() {
            continue;
        }
        // Policies without weights, such as models, say why in words of their own.
        if !belief.summary.is_empty() {
            page.paragraph("    ", "    ", PLAIN, &clean_to(&belief.summary, MAX_SUMMARY));
        }
        for finding in shown().take(MAX_FINDINGS) {
            let when = words::time(&finding.time);
            page.line("    • ", PLAIN, &format!("{when}  {}", in_words(finding)));
        }
        more(page, shown().count(), MAX_FINDINGS, "pieces of evidence");
    }
    if group.origins.len() > places {
        page.line("  ", style, &clean(&words::list(group.origins.iter().skip(places))));
    }
}

/// What a weight of evidence says, with the finding where there is one.
fn in_words_of(weight: &Weight<'_>) -> String {
    let text = match weight.finding {
        Some(finding) => in_words(finding),
        None => clean_to(&weight.term.text, MAX_WORDS),
    };
    format!("{text} ({} {})", weight.term.name, words::log_odds(weight.term.log_odds))
}

/// What a finding says, and of a change what was written about it.
fn in_words(finding: &Finding) -> String {
    let words = clean_to(&words::finding(finding), MAX_WORDS);
    let about = finding.change.as_ref().and_then(|change| {
        let (text, _) = finding.excerpt.split_once(&format!(" ({} from ", change.path))?;
        (!text.is_empty()).then(|| clean_to(text, MAX_WORDS))
    });
    about.map_or(words.clone(), |text| format!("{words}: {text}"))
}

fn spread(page: &mut Page, report: &Report) {
    page.title("HOW IT SPREAD");
    let hops = folded(&report.diagnosis);
    for hop in hops.iter().take(MAX_HOPS) {
        let below = format!("  {}", hop.continued());
        let alerts = if hop.alerts.is_empty() {
            String::new()
        } else {
            format!("  {RED}⚠ {}{RED:#}", clean(&hop.alerts_in_words()))
        };
        let again = if hop.repeated { "  (see above)" } else { "" };
        let entity = format!("{}{alerts}{again}", clean(hop.entity.as_str()));
        page.paragraph(&format!("  {}", hop.lead()), &below, PLAIN, &entity);
        if hop.repeated {
            continue;
        }
        if !hop.via.is_empty() {
            page.paragraph(&below, &below, DIM, &via(&hop.via));
        }
        if let Some(claim) = hop.claim {
            why(page, &below, claim, hop, &report.diagnosis);
        }
    }
    more(page, hops.len(), MAX_HOPS, "entities");
}

/// The entities that pass an effect on.
fn via(names: &[&EntityId]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_VIA).map(|name| clean(name.as_str())).collect();
    let rest = match names.len().saturating_sub(MAX_VIA) {
        0 => String::new(),
        rest => format!(" > … {rest} more"),
    };
    format!("via {}{rest}", shown.join(" > "))
}

fn why(page: &mut Page, below: &str, claim: &Claim, hop: &Hop<'_>, diagnosis: &Diagnosis) {
    // How one that passes it on hangs together with the next says nothing of the harm.
    if hop.via.is_empty() && !claim.condition.is_empty() {
        page.paragraph(below, below, DIM, &clean_to(&claim.condition, MAX_WORDS));
    }
    let is_seen = hop.alerts.is_empty() && !hop.passes_on(diagnosis);
    if is_seen && !claim.observed.is_empty() {
        page.paragraph(
            below,
            below,
            DIM,
            &format!("seen as {}", clean_to(&claim.observed, MAX_WORDS)),
        );
    }
}

fn against(page: &mut Page, report: &Report) {
    let is_one = report.diagnosis.causes().count() == 1;
    let doubts = report.diagnosis.causes().flat_map(|group| {
        // Of several causes each doubt says whose it is.
        let of = if is_one { String::new() } else { format!(" ({})", words::list(&group.origins)) };
        group.doubts.iter().map(move |doubt| format!("not confirmed{of}: {doubt}"))
    });
    let alerts = report.alerts();
    let open = alerts.iter().filter(|alert| alert.explained_by.is_empty()).map(|alert| {
        let (name, entity) = (&alert.anomaly.name, &alert.anomaly.entity);
        format!("not explained: {name} on {entity} since {}", words::instant(alert.anomaly.onset))
    });
    let early = alerts.iter().filter(|alert| alert.began_before).map(|alert| {
        let (name, entity) = (&alert.anomaly.name, &alert.anomaly.entity);
        format!(
            "{name} on {entity} began before the change, at {}",
            words::instant(alert.anomaly.onset)
        )
    });
    let unlinked = report.unlinked_origins();
    let names = unlinked.iter().take(MAX_VIA).map(|(origin, _)| *origin);
    let unlinked = (!unlinked.is_empty()).then(|| {
        format!("origins that reach no alert ({}): {}", unlinked.len(), words::list(names))
    });
    let weights = report.weights_against().map(|(entity, weight)| {
        let of = if is_one { String::new() } else { format!(" ({entity})") };
        format!("{}{of}", weight.in_words())
    });
    let lines = doubts.chain(open).chain(early).chain(unlinked).chain(weights);
    let mut lines: Vec<String> = lines.collect();
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    if !lines.is_empty() {
        page.title(if report.diagnosis.is_diagnosed() {
            "EVIDENCE AGAINST IT"
        } else {
            "OPEN QUESTIONS"
        });
    }
    for line in lines.iter().take(MAX_AGAINST) {
        page.line("  ", YELLOW, &clean_to(line, MAX_WORDS * 3 / 2));
    }
    more(page, lines.len(), MAX_AGAINST, "doubts");
}

/// Changes and entities that are not named, and why.
fn considered(page: &mut Page, report: &Report) {
    let others = report.also_considered();
    if others.is_empty() {
        return;
    }
    page.title("ALSO CONSIDERED");
    for line in others.iter().take(MAX_CONSIDERED) {
        page.line("  ", PLAIN, &clean_to(line, MAX_WORDS));
    }
    more(page, others.len(), MAX_CONSIDERED, "changes and entities that were considered");
}
