//! Why an entity is not named as a root cause.

use std::collections::BTreeSet;

use eog::{Diagnosis, EntityId, Label};
use eog_report::clean::clean;
use eog_report::words;

/// Most claims, changes and explanations listed, each.
const MAX_LISTED: usize = 5;

/// What speaks against an entity as a root cause, one line each: what explains it instead, changes of it that were
/// ruled out, explanations that were weighed and not taken. Nothing if it is named as one.
pub fn why_not(diagnosis: &Diagnosis, entity: &EntityId) -> Vec<String> {
    if diagnosis.cause_of(entity).is_some() {
        return Vec::new();
    }
    let mut lines = of_label(diagnosis, entity);
    let changes = diagnosis.considered.iter().filter(|it| it.change.entity == *entity);
    let changes = changes.map(|it| {
        let (what, made) = (&it.change.what, &it.change.made);
        format!("its change {what} ({made}): {}", words::ruled_out(&it.reason))
    });
    lines.extend(changes.take(MAX_LISTED));
    let terms = diagnosis.terms.get(entity).into_iter().flatten();
    let against = terms.filter(|term| term.log_odds < 0);
    lines.extend(
        against
            .take(MAX_LISTED)
            .map(|term| format!("{} {}: {}", words::log_odds(term.log_odds), term.name, term.text)),
    );
    let weighed = diagnosis.alternatives.get(entity).into_iter().flatten();
    let origins = weighed.filter(|it| it.label == Label::Origin).map(|it| {
        let rule = it.rule.as_deref().unwrap_or("an origin");
        format!("considered as {rule} and rejected: {}", it.lost)
    });
    let origins: Vec<String> = origins.take(MAX_LISTED).collect();
    // A change that was weighed and lost says so itself.
    lines.extend(origins.into_iter().filter(|line| !diagnosis_says(diagnosis, entity, line)));
    let named: Vec<&str> =
        diagnosis.causes().flat_map(|group| &group.origins).map(EntityId::as_str).collect();
    lines.push(match named.as_slice() {
        [] => "no root cause is named".to_owned(),
        named => format!("named instead: {}", named.join(", ")),
    });
    lines.iter().map(|line| clean(line).into_owned()).collect()
}

fn diagnosis_says(diagnosis: &Diagnosis, entity: &EntityId, line: &str) -> bool {
    let changes = diagnosis.considered.iter().filter(|it| it.change.entity == *entity);
    changes.map(|it| words::ruled_out(&it.reason)).any(|reason| reason == line)
}

/// What its label says.
fn of_label(diagnosis: &Diagnosis, entity: &EntityId) -> Vec<String> {
    let Some(belief) = diagnosis.belief(entity) else { return Vec::new() };
    match belief.label {
        Label::Origin if diagnosis.conclusion.derived_origins.contains(entity) => {
            vec!["it is an origin that another origin explains".to_owned()]
        }
        Label::Origin if diagnosis.conclusion.outweighed.contains(entity) => {
            vec![
                "it is an origin, but others with stronger evidence explain the same alerts"
                    .to_owned(),
            ]
        }
        Label::Origin if diagnosis.is_passed_over(entity) => {
            let reason = "it is an origin, but its label changed too often to be settled, and another origin \
                        explains the alerts";
            vec![reason.to_owned()]
        }
        Label::Origin => vec!["it is an origin, but its effects reach no alert".to_owned()],
        Label::Symptom => {
            // Both ends of a claim can make it.
            let claims = diagnosis.claims.iter().filter(|claim| claim.effect == *entity);
            let causes: BTreeSet<&EntityId> = claims.map(|claim| &claim.cause).collect();
            let causes = causes.into_iter().map(|cause| {
                let label = diagnosis.belief(cause).map(|belief| belief.label.to_string());
                let label = label.unwrap_or_else(|| "not evaluated".to_owned());
                format!("it is a symptom: {cause} ({label}) explains it")
            });
            let mut lines: Vec<String> = causes.take(MAX_LISTED).collect();
            if lines.is_empty() {
                lines.push("it is a symptom, but no claim names its cause".to_owned());
            }
            lines
        }
        Label::Healthy => vec!["it is healthy: no deviation was found".to_owned()],
        Label::Defer => vec!["its evidence was not conclusive".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use eog::controller::Wake;
    use eog::{Config, ContextPacket, Decision};
    use eog_testkit::{
        MemoryContext, alert, case, entity, finding, healthy, origin, policy_fn, run, symptom_of,
        topology,
    };

    use super::*;

    /// Why `a` is not named: it and `b` find no fixed point, and its last word is that it is an origin. `web` alerts, and
    /// calls `a` and `c`; `others` judges `web` and `c`.
    fn lines_on_a(others: fn(&ContextPacket) -> Decision) -> Vec<String> {
        let policy = policy_fn(|packet| {
            let knows_origin = |name: &str| {
                packet
                    .message_from(&entity(name))
                    .is_some_and(|belief| belief.label == Label::Origin)
            };
            match packet.entity.as_str() {
                "a" if knows_origin("b") => healthy(packet),
                "b" if !knows_origin("a") => healthy(packet),
                "a" | "b" => origin(packet),
                _ => others(packet),
            }
        });
        let graph = topology("web calls a; web calls c; a calls b");
        let case = case(graph, [alert("web", "HttpErrors", "10:05")])
            .with_seed(entity("a"), "named by the test")
            .with_seed(entity("b"), "named by the test");
        let contract = MemoryContext::default().with_all(["web", "a", "b", "c"].map(finding));
        let config =
            Config { wake: Wake::Visited, max_visits: None, widening: None, ..Config::default() };
        let diagnosis = run(config, case, &contract, &policy).diagnosis();
        assert!(diagnosis.conclusion.damped.contains(&entity("a")));
        why_not(&diagnosis, &entity("a"))
    }

    #[test]
    fn an_origin_that_changed_too_often_says_so_where_another_explains_the_alerts() {
        let lines = lines_on_a(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "c"),
            _ => origin(packet),
        });
        let too_often = "it is an origin, but its label changed too often to be settled, and \
                         another origin explains the alerts";
        assert_eq!(lines, [too_often, "named instead: c"]);
    }

    #[test]
    fn where_no_cause_is_named_an_origin_that_changed_too_often_reaches_no_alert() {
        let lines = lines_on_a(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "c"),
            _ => healthy(packet),
        });
        let reaches_none = "it is an origin, but its effects reach no alert";
        assert_eq!(lines, [reaches_none, "no root cause is named"]);
    }

    #[test]
    fn an_origin_that_changed_too_often_is_named_if_no_other_explains_the_alerts() {
        let lines = lines_on_a(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "a"),
            _ => healthy(packet),
        });
        assert_eq!(lines, Vec::<String>::new());
    }
}
