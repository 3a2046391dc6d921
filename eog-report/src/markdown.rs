//! `report.md`: the report for a ticket or a page.

mod escape;

use std::fmt::Write as _;

use eog_core::diagnosis::OriginGroup;
use eog_core::{EntityId, Finding};

use self::escape::{code, text, text_up_to};
use crate::mermaid::mermaid;
use crate::narrative::{Author, NarratedEntity};
use crate::report::{MAX_CONSIDERED, MAX_UNLINKED, Report};
use crate::words;

/// Characters shown of a summary, or of an answer to a question: several pieces of telemetry.
const MAX_TEXT: usize = 2_000;

/// Renders the report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Root causes: {}\n", text(&report.name));
    let early = report.early();
    let confidence = report.diagnosis.conclusion.confidence;
    let _ = match report.diagnosis.causes().map(places).sum::<usize>() {
        0 => writeln!(out, "- Result: **{confidence}**{early}"),
        1 => writeln!(out, "- Result: the root cause is **{confidence}**{early}"),
        _ => writeln!(out, "- Result: the root causes are **{confidence}**{early}"),
    };
    let _ = writeln!(
        out,
        "- Window: {} ({})",
        words::window(&report.diagnosis.window),
        text(&report.diagnosis.bootstrap.window_reason)
    );
    for fork in &report.diagnosis.forks {
        let _ = writeln!(
            out,
            "- Forked {}; the hash of the parent's last entry is {}",
            text(&words::fork(fork)),
            fork.parent
        );
    }
    let _ = writeln!(out, "- Cost: {}", report.cost());
    author(&mut out, report);
    unusable(&mut out, report);
    let summary = text_up_to(&report.narrative.summary, MAX_TEXT);
    let _ = writeln!(out, "\n## Summary\n\n{summary}");
    causes(&mut out, report);
    further_factors(&mut out, report);
    ranking(&mut out, report);
    to_be_sure(&mut out, report);
    next_suspects(&mut out, report);
    similar(&mut out, report);
    timeline(&mut out, report);
    chain(&mut out, report);
    considered(&mut out, report);
    unlinked(&mut out, report);
    alerts(&mut out, report);
    beliefs(&mut out, report);
    not_taken(&mut out, report);
    notes(&mut out, report);
    out
}

/// As how many causes a group counts: as one where its origins are places of the same change.
fn places(group: &OriginGroup) -> usize {
    if group.shared_change.is_some() { 1 } else { group.origins.len() }
}

fn author(out: &mut String, report: &Report) {
    let _ = match &report.narrative.author {
        Author::Rules => Ok(()),
        Author::Model { name } => {
            writeln!(out, "- Narrative by {}, checked against the ledger", text(name))
        }
        Author::RulesAfterFailure { failure } => writeln!(
            out,
            "- Narrative by rules, because no model gave a usable answer: {}",
            text_up_to(failure, MAX_TEXT)
        ),
    };
}

fn unusable(out: &mut String, report: &Report) {
    let parts = report.unusable();
    if !parts.is_empty() {
        let _ = writeln!(out, "\n## Parts of the input could not be used\n");
    }
    for part in parts {
        let _ = writeln!(out, "- {}", text(&part));
    }
}

fn causes(out: &mut String, report: &Report) {
    for group in report.diagnosis.causes() {
        let (heading, confidence) = (report.heading(group), words::confidence(group));
        let shared = words::shared_change(group);
        if let Some(shared) = &shared {
            let _ = writeln!(out, "\n## {heading}: {} ({confidence})", text(shared));
        }
        for origin in &group.origins {
            let origin_name = text(origin.as_str());
            let _ = match shared {
                Some(_) => writeln!(out, "\n### {origin_name}\n"),
                None => writeln!(out, "\n## {heading}: {origin_name} ({confidence})\n"),
            };
            let told = report.narrative.entities.iter().find(|entity| entity.name == *origin);
            if let Some(told) = told {
                let _ = writeln!(out, "{}\n", text(&told.reasoning));
                answers(out, told);
            }
            let Some(belief) = report.diagnosis.belief(origin) else { continue };
            evidence(out, report, &report.diagnosis.cited(belief));
            weights(out, report, origin);
            for doubt in &group.doubts {
                let _ = writeln!(out, "\nNot confirmed: {}.", text(&doubt.to_string()));
            }
        }
    }
}

/// The largest weights of evidence of an entity.
fn weights(out: &mut String, report: &Report, entity: &EntityId) {
    let weights = report.weights(entity);
    if !weights.is_empty() {
        let _ = writeln!(out, "\nLargest weights of evidence, in log-odds:\n");
    }
    for weight in weights {
        let _ = writeln!(out, "- {}", text_up_to(&weight.in_words(), MAX_TEXT));
    }
}

/// What every contributing factor must answer.
fn answers(out: &mut String, entity: &NarratedEntity) {
    if let Some(what) = &entity.what_changed {
        let _ = writeln!(out, "- What changed: {}", text_up_to(what, MAX_TEXT));
    }
    if let Some(when) = &entity.when {
        let _ = writeln!(out, "- When: {}", words::time(when));
    }
    if let Some(how) = &entity.how_it_explains {
        let _ = writeln!(out, "- How it explains the rest: {}\n", text_up_to(how, MAX_TEXT));
    }
}

/// Contributing factors that a model named and the frontier does not have.
fn further_factors(out: &mut String, report: &Report) {
    let factors = report.narrative.entities.iter().filter(|entity| entity.contributing_factor);
    for entity in factors.filter(|entity| report.diagnosis.cause_of(&entity.name).is_none()) {
        let what = match report.narrative.best_guess {
            true => "Best guess, not a finding",
            false => "Named by the model, not an origin of the frontier",
        };
        let name = text(entity.name.as_str());
        let _ = writeln!(out, "\n## {what}: {name}\n\n{}\n", text(&entity.reasoning));
        answers(out, entity);
        let cited = entity.evidence.iter().map(|citation| &citation.id);
        evidence(out, report, &report.diagnosis.lookup(cited));
    }
}

fn timeline(out: &mut String, report: &Report) {
    let moments = &report.narrative.timeline;
    if moments.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Timeline\n\n| Time | Entity | What | Evidence | Query |\n|---|---|---|---|---|"
    );
    for moment in moments {
        let query = match moment.query.as_str() {
            "" => String::new(),
            query => code(query),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {query} |",
            words::time(&moment.time),
            text(moment.entity.as_str()),
            text(&moment.what),
            moment.evidence.as_ref().map(ToString::to_string).unwrap_or_default()
        );
    }
}

/// What was considered and is not named.
fn considered(out: &mut String, report: &Report) {
    let considered = report.also_considered();
    if considered.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Also considered\n");
    for line in considered.iter().take(MAX_CONSIDERED) {
        let _ = writeln!(out, "- {}", text(line));
    }
    if considered.len() > MAX_CONSIDERED {
        let more = considered.len() - MAX_CONSIDERED;
        let _ = writeln!(out, "- … and {more} more in the JSON result");
    }
}

/// Where the narrative differs from the frontier, from its author's words, or from all there is.
fn not_taken(out: &mut String, report: &Report) {
    let narrative = &report.narrative;
    if !narrative.deviations.is_empty() {
        let _ = writeln!(out, "\n## Where this differs from the frontier\n");
    }
    for deviation in &narrative.deviations {
        let _ = writeln!(
            out,
            "- {} {} a contributing factor here: {}",
            text(deviation.entity.as_str()),
            if deviation.contributing_factor { "is" } else { "is not" },
            text(&deviation.reason)
        );
    }
    if !narrative.refused.is_empty() {
        let _ = writeln!(out, "\n## Rejected statements of the model\n");
    }
    for refused in &narrative.refused {
        let (what, reason) = (text(&refused.what), text(&refused.reason));
        let _ = writeln!(out, "- {what}: {reason}");
    }
    if !narrative.left_out.is_empty() {
        let _ = writeln!(out, "\n## Left out\n");
    }
    for left_out in &narrative.left_out {
        let _ = writeln!(out, "- {}", text(left_out));
    }
}

fn evidence(out: &mut String, report: &Report, findings: &[&Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "| Time | Evidence | Query |\n|---|---|---|");
    for finding in findings {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            words::time(&finding.time),
            text(&words::finding(finding)),
            code(&report.query(finding))
        );
    }
}

fn ranking(out: &mut String, report: &Report) {
    if report.diagnosis.is_diagnosed() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Inconclusive\n\nInconclusive: {}. {}\n",
        words::inconclusive(&report.diagnosis),
        match report.diagnosis.candidates().next() {
            Some(_) => "The best guess comes first; none of these is a finding:".to_owned(),
            None => words::no_candidates(&report.diagnosis),
        }
    );
    if report.diagnosis.candidates().next().is_none() {
        return;
    }
    let _ = writeln!(out, "| Candidate | Label | Score | Why |\n|---|---|---|---|");
    for ranked in report.diagnosis.candidates().take(10) {
        let belief = report.diagnosis.belief(&ranked.entity);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            text(ranked.entity.as_str()),
            ranked.label,
            words::score(ranked),
            belief.map(|belief| text_up_to(&belief.summary, MAX_TEXT)).unwrap_or_default()
        );
    }
}

fn to_be_sure(out: &mut String, report: &Report) {
    for (place, line) in report.predictions().iter().enumerate() {
        if place == 0 {
            let _ = writeln!(out, "\n## To be sure\n");
        }
        let _ = writeln!(out, "- {}", text(line));
    }
}

fn similar(out: &mut String, report: &Report) {
    for (place, line) in report.similar_in_words().enumerate() {
        if place == 0 {
            let _ = writeln!(out, "\n## Similar incidents\n");
        }
        let _ = writeln!(out, "- {}", text(&line));
    }
}

fn next_suspects(out: &mut String, report: &Report) {
    for (place, next) in words::next_suspects(&report.diagnosis).iter().enumerate() {
        if place == 0 {
            let _ = writeln!(out, "\n## Next suspects\n");
        }
        let _ = writeln!(out, "{}. {}", place + 1, text(next));
    }
}

fn chain(out: &mut String, report: &Report) {
    if report.diagnosis.claims.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## How it spread\n\n```mermaid\n{}```\n", mermaid(report));
    for claim in &report.diagnosis.causal {
        let _ = writeln!(
            out,
            "- {} → {}: because {}; seen as {}",
            text(claim.cause.as_str()),
            text(claim.effect.as_str()),
            text(claim.condition.trim()),
            text(claim.observed.trim())
        );
    }
}

fn alerts(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "\n## Alerts\n\n| Alert | Entity | Since | Explained by |\n|---|---|---|---|"
    );
    for alert in report.alerts() {
        let by: Vec<String> = alert.explained_by.iter().map(|it| text(it.as_str())).collect();
        let mut by = if by.is_empty() { "**not explained**".to_owned() } else { by.join(", ") };
        if alert.began_before {
            by.push_str(" (not its earlier onset, which precedes the change)");
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} | {by} |",
            text(&alert.anomaly.name),
            text(alert.anomaly.entity.as_str()),
            words::instant(alert.anomaly.onset)
        );
    }
}

fn beliefs(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## Beliefs\n\n| Entity | Label | Why |\n|---|---|---|");
    for (entity, belief) in &report.diagnosis.beliefs {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            text(entity.as_str()),
            belief.label,
            text(&belief.summary)
        );
    }
}

fn unlinked(out: &mut String, report: &Report) {
    let origins = report.unlinked_origins();
    if !origins.is_empty() {
        let _ = writeln!(out, "\n## Origins that reach no alert\n");
    }
    for (origin, why) in origins.iter().take(MAX_UNLINKED) {
        let colon = if why.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "- {}{colon}{}", text(origin.as_str()), text(why));
    }
    if origins.len() > MAX_UNLINKED {
        let more = origins.len() - MAX_UNLINKED;
        let _ = writeln!(out, "- and {more} more; see the beliefs below");
    }
}

fn notes(out: &mut String, report: &Report) {
    let notes = report.notes();
    if !notes.is_empty() {
        let _ = writeln!(out, "\n## Notes\n");
    }
    for note in notes {
        let _ = writeln!(out, "- {}", text(&note));
    }
}
