//! `report.md`: the report for a ticket or a page.

use std::fmt::Write as _;

use eog::{EntityId, Finding};
use eog_prompts::{Author, NarratedEntity};

use super::clean::{for_markdown, for_markdown_code, for_markdown_up_to};
use super::graph::mermaid;
use super::model::{MAX_UNLINKED, Report};
use super::words;

/// Characters shown of a summary, or of an answer to a question: several pieces of telemetry.
const MAX_TEXT: usize = 2_000;

/// Renders the report as Markdown.
pub(crate) fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Root causes: {}\n", for_markdown(&report.name));
    let early = words::early(report);
    let _ = writeln!(out, "- Result: **{}**{early}", report.conclusion.confidence);
    let _ = writeln!(
        out,
        "- Window: {} ({})",
        words::window(&report.window),
        for_markdown(&report.window_reason)
    );
    for fork in &report.forks {
        let _ = writeln!(
            out,
            "- Forked {}; the parent ends with {}",
            for_markdown(&fork.in_words()),
            fork.parent
        );
    }
    let _ = writeln!(out, "- Cost: {}", words::cost(report));
    author(&mut out, report);
    let summary = for_markdown_up_to(&report.narrative.summary, MAX_TEXT);
    let _ = writeln!(out, "\n## Summary\n\n{summary}");
    causes(&mut out, report);
    further_factors(&mut out, report);
    ranking(&mut out, report);
    timeline(&mut out, report);
    chain(&mut out, report);
    unlinked(&mut out, report);
    alerts(&mut out, report);
    beliefs(&mut out, report);
    not_taken(&mut out, report);
    notes(&mut out, report);
    out
}

fn author(out: &mut String, report: &Report) {
    let _ = match &report.narrative.author {
        Author::Rules => Ok(()),
        Author::Model { name } => {
            writeln!(out, "- Told by {}, checked against the ledger", for_markdown(name))
        }
        Author::RulesAfterFailure { failure } => writeln!(
            out,
            "- Told by rules, since no model gave an answer that can be used: {}",
            for_markdown_up_to(failure, MAX_TEXT)
        ),
    };
}

fn causes(out: &mut String, report: &Report) {
    for group in report.causes() {
        for origin in &group.origins {
            let _ = writeln!(
                out,
                "\n## {}: {} ({})\n",
                words::cause(&report.conclusion, group),
                for_markdown(origin.as_str()),
                group.confidence
            );
            let told = report.narrative.entities.iter().find(|entity| entity.name == *origin);
            if let Some(told) = told {
                let _ = writeln!(out, "{}\n", for_markdown(&told.reasoning));
                answers(out, told);
            }
            let Some(belief) = report.beliefs.get(origin) else { continue };
            evidence(out, &report.cited(belief));
            for doubt in &group.doubts {
                let _ = writeln!(out, "\nNot confirmed: {}.", for_markdown(&doubt.to_string()));
            }
        }
    }
}

/// What every contributing factor must answer.
fn answers(out: &mut String, entity: &NarratedEntity) {
    if let Some(what) = &entity.what_changed {
        let _ = writeln!(out, "- What changed: {}", for_markdown_up_to(what, MAX_TEXT));
    }
    if let Some(when) = &entity.when {
        let _ = writeln!(out, "- When: {}", words::time(when));
    }
    if let Some(how) = &entity.how_it_explains {
        let _ =
            writeln!(out, "- How it explains the rest: {}\n", for_markdown_up_to(how, MAX_TEXT));
    }
}

/// Contributing factors that a model named and the frontier does not have.
fn further_factors(out: &mut String, report: &Report) {
    let factors = report.narrative.entities.iter().filter(|entity| entity.contributing_factor);
    for entity in factors.filter(|entity| report.cause_of(&entity.name).is_none()) {
        let what = match report.narrative.best_guess {
            true => "Best guess, not a finding",
            false => "Named by the model, not an origin of the frontier",
        };
        let name = for_markdown(entity.name.as_str());
        let _ = writeln!(out, "\n## {what}: {name}\n\n{}\n", for_markdown(&entity.reasoning));
        answers(out, entity);
        let cited = entity.evidence.iter().map(|citation| &citation.id);
        evidence(out, &report.lookup(cited));
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
            query => format!("`{}`", for_markdown_code(query).replace('|', "\\|")),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {query} |",
            words::time(&moment.time),
            for_markdown(moment.entity.as_str()),
            for_markdown(&moment.what),
            moment.evidence.as_ref().map(ToString::to_string).unwrap_or_default()
        );
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
            "- {} is {} contributing factor here: {}",
            for_markdown(deviation.entity.as_str()),
            if deviation.contributing_factor { "a" } else { "no" },
            for_markdown(&deviation.reason)
        );
    }
    if !narrative.refused.is_empty() {
        let _ = writeln!(out, "\n## What the model said and was not taken\n");
    }
    for refused in &narrative.refused {
        let (what, reason) = (for_markdown(&refused.what), for_markdown(&refused.reason));
        let _ = writeln!(out, "- {what}: {reason}");
    }
    if !narrative.left_out.is_empty() {
        let _ = writeln!(out, "\n## Left out\n");
    }
    for left_out in &narrative.left_out {
        let _ = writeln!(out, "- {}", for_markdown(left_out));
    }
}

fn evidence(out: &mut String, findings: &[&Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "| Time | Evidence | Query |\n|---|---|---|");
    for finding in findings {
        let _ = writeln!(
            out,
            "| {} | {} | `{}` |",
            words::time(&finding.time),
            for_markdown(&words::finding(finding)),
            for_markdown_code(&words::query(finding)).replace('|', "\\|")
        );
    }
}

fn ranking(out: &mut String, report: &Report) {
    if report.is_diagnosed() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Inconclusive\n\nNo origin was found that explains an alert. Best candidates, not findings:\n"
    );
    let _ = writeln!(
        out,
        "| Candidate | Label | Score | Judged | Reach | Change | Label part |\n|---|---|---|---|---|---|---|"
    );
    for ranked in report.conclusion.ranking.iter().take(10) {
        let s = ranked.score;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            for_markdown(ranked.entity.as_str()),
            ranked.label,
            s.total(),
            s.judged,
            s.reach,
            s.change,
            s.label
        );
    }
}

fn chain(out: &mut String, report: &Report) {
    if report.claims.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## How it spread\n\n```mermaid\n{}```\n", mermaid(report));
    for claim in &report.causal {
        let _ = writeln!(
            out,
            "- {} → {}: because {}; seen as {}",
            for_markdown(claim.cause.as_str()),
            for_markdown(claim.effect.as_str()),
            for_markdown(claim.condition.trim()),
            for_markdown(claim.observed.trim())
        );
    }
}

fn alerts(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "\n## Alerts\n\n| Alert | Entity | Since | Explained by |\n|---|---|---|---|"
    );
    for (position, anomaly) in report.anomalies.iter().enumerate() {
        let groups = report.explained_by(position);
        let by: Vec<String> = groups
            .into_iter()
            .flat_map(|group| &group.origins)
            .map(|origin: &EntityId| for_markdown(origin.as_str()))
            .collect();
        let mut by = if by.is_empty() { "**not explained**".to_owned() } else { by.join(", ") };
        if report.conclusion.earlier_onset.contains(&position) {
            by.push_str(" (its earlier onset is not: it began before the change)");
        }
        let _ = writeln!(
            out,
            "| {} | {} | {} | {by} |",
            for_markdown(&anomaly.name),
            for_markdown(anomaly.entity.as_str()),
            words::instant(anomaly.onset)
        );
    }
}

fn beliefs(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## Beliefs\n\n| Entity | Label | Why |\n|---|---|---|");
    for (entity, belief) in &report.beliefs {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            for_markdown(entity.as_str()),
            belief.label,
            for_markdown(&belief.summary)
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
        let _ = writeln!(out, "- {}{colon}{}", for_markdown(origin.as_str()), for_markdown(why));
    }
    if origins.len() > MAX_UNLINKED {
        let more = origins.len() - MAX_UNLINKED;
        let _ = writeln!(out, "- and {more} more, among the beliefs below");
    }
}

fn notes(out: &mut String, report: &Report) {
    let notes = report.notes();
    if !notes.is_empty() {
        let _ = writeln!(out, "\n## Notes\n");
    }
    for note in notes {
        let _ = writeln!(out, "- {}", for_markdown(&note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog::Config;
    use eog_prompts::{Deviation, Moment, NarratedEntity, Refused};
    use eog_testkit::{
        MemoryContext, alert, case, finding, origin, policy_fn, run, symptom_of, topology,
    };

    const HOSTILE: &str =
        "\u{1b}[2J<img src=x>\n# Fake\n| a | b |\n- [go](javascript:x) `c` \u{202e}";

    /// A diagnosed incident.
    fn report() -> Report {
        let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
        let contract = MemoryContext::default()
            .with(finding("web").at("10:05").excerpt("failing"))
            .with(finding("db").change("pool", "50", "5").at("10:04"));
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "db"),
            _ => origin(packet),
        });
        Report::new("pools".to_owned(), &run(Config::default(), case, &contract, &policy))
    }

    #[test]
    fn the_questions_are_answered_below_the_cause() {
        let text = markdown(&report());
        let cause = text.split_once("\n## Root cause: db (confirmed)\n").unwrap().1;
        let what = "- What changed: pool changed from 50 to 5\n- When: 2026-01-01 10:04:00Z\n";
        assert!(cause.contains(what), "{text}");
        assert!(cause.contains("- How it explains the rest: it affects web (because "), "{text}");
        assert!(text.contains("| 2026-01-01 10:05:00Z | web | alert Errors |  |  |"), "{text}");
    }

    #[test]
    fn what_a_model_wrote_cannot_break_out() {
        let mut report = report();
        let plain = markdown(&report);
        let db = eog::EntityId::new("db").unwrap();
        let named = eog::EntityId::new("<b>|`x`").unwrap();
        let narrative = &mut report.narrative;
        narrative.author = Author::Model { name: HOSTILE.to_owned() };
        narrative.summary = HOSTILE.to_owned();
        for entity in &mut narrative.entities {
            entity.reasoning = HOSTILE.to_owned();
            entity.what_changed = Some(HOSTILE.to_owned());
            entity.how_it_explains = Some(HOSTILE.to_owned());
        }
        narrative.entities.push(NarratedEntity {
            name: named.clone(),
            contributing_factor: true,
            ..narrative.entities[0].clone()
        });
        narrative.timeline.push(Moment {
            entity: named,
            what: HOSTILE.to_owned(),
            query: HOSTILE.to_owned(),
            ..narrative.timeline[0].clone()
        });
        let (what, reason) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        narrative.refused.push(Refused { what, reason });
        let (entity, reason) = (db, HOSTILE.to_owned());
        narrative.deviations.push(Deviation { entity, contributing_factor: false, reason });
        narrative.left_out.push(HOSTILE.to_owned());
        let text = markdown(&report);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        for line in text.lines().filter(|line| line.contains("Fake")) {
            // Between backquotes nothing is markup but a backquote.
            let (line, code) = line.split_once("| `").unwrap_or((line, "` |"));
            assert_eq!(code.find('`'), code.len().checked_sub(3), "{code}");
            let markup = line.replace("\\#", "").replace("\\[", "").replace("&lt;", "");
            assert!(!markup.contains('<') && !markup.contains('['), "{line}");
            assert!(!line.starts_with('#') && line.contains("Fake"), "{line}");
        }
        let headings = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
        };
        let new: Vec<String> =
            headings(&text).into_iter().filter(|line| !headings(&plain).contains(line)).collect();
        assert_eq!(
            new,
            [
                "## Named by the model, not an origin of the frontier: &lt;b&gt;\\|\\`x\\`",
                "## Where this differs from the frontier",
                "## What the model said and was not taken",
                "## Left out",
            ]
        );
        let timeline = text.split_once("\n## Timeline\n\n").unwrap().1;
        for row in timeline.lines().take_while(|line| !line.is_empty()) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
        }
    }

    #[test]
    fn a_failed_model_is_said() {
        let mut report = report();
        let failure = "mock/a: is <down>".to_owned();
        report.narrative.author = Author::RulesAfterFailure { failure };
        let line = "- Told by rules, since no model gave an answer that can be used: mock/a: is &lt;down&gt;\n";
        assert!(markdown(&report).contains(line));
    }
}
