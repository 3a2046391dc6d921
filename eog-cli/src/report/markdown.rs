//! `report.md`: the report for a ticket or a page.

use std::fmt::Write as _;

use eog::{EntityId, Finding};

use super::clean::{for_markdown, for_markdown_code};
use super::graph::mermaid;
use super::model::Report;
use super::words;

/// Renders the report as Markdown.
pub(crate) fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Root causes: {}\n", for_markdown(&report.name));
    let _ = writeln!(out, "- Result: **{}**", report.conclusion.confidence);
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
    causes(&mut out, report);
    ranking(&mut out, report);
    chain(&mut out, report);
    unlinked(&mut out, report);
    alerts(&mut out, report);
    beliefs(&mut out, report);
    notes(&mut out, report);
    out
}

fn causes(out: &mut String, report: &Report) {
    for group in report.causes() {
        for origin in &group.origins {
            let _ = writeln!(
                out,
                "\n## {}: {} ({})\n",
                words::cause(report, group),
                for_markdown(origin.as_str()),
                group.confidence
            );
            let Some(belief) = report.beliefs.get(origin) else { continue };
            let _ = writeln!(out, "{}\n", for_markdown(&belief.summary));
            evidence(out, &report.cited(belief));
            for doubt in &group.doubts {
                let _ = writeln!(out, "\nNot confirmed: {}.", for_markdown(&doubt.to_string()));
            }
        }
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
            for_markdown(&claim.condition),
            for_markdown(&claim.observed)
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
    let origins: Vec<&EntityId> = report.unlinked().flat_map(|group| &group.origins).collect();
    if !origins.is_empty() {
        let _ = writeln!(out, "\n## Origins that reach no alert\n");
    }
    for origin in origins {
        let _ = writeln!(out, "- {}", for_markdown(origin.as_str()));
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
