//! A context that a server gives as a whole, without its secrets.

use std::collections::BTreeMap;

use eog_core::evidence::{ChangeDetail, FindingContent};
use eog_core::{Finding, LocalContext};
use eog_evidence::mask_named;

/// The same context with its texts masked. Findings whose texts change have other ids then, also where
/// routes name them.
pub(super) fn masked(mut context: LocalContext) -> serde_json::Result<LocalContext> {
    let findings = std::mem::take(&mut context.findings);
    let mut context = eog_evidence::masked(&context)?;
    let mut renamed = BTreeMap::new();
    for finding in findings {
        let new = Finding::new(content(finding.content())?);
        if new.id() != finding.id() {
            renamed.insert(finding.id().clone(), new.id().clone());
        }
        context.findings.push(new);
    }
    for route in &mut context.routes {
        if let Some(new) = renamed.get(&route.finding) {
            route.finding.clone_from(new);
        }
    }
    Ok(context)
}

fn content(given: &FindingContent) -> serde_json::Result<FindingContent> {
    let change = given.change.as_ref().map(|change| {
        let value = |value: &Option<String>| Some(mask_named(&change.path, value.as_deref()?));
        let (old, new) = (value(&change.old), value(&change.new));
        ChangeDetail { path: change.path.clone(), old, new }
    });
    eog_evidence::masked(&FindingContent { change, ..given.clone() })
}

#[cfg(test)]
mod tests {
    use eog_core::Timestamp;
    use eog_core::contract::Route;
    use eog_core::evidence::{EvidenceKind, EvidenceTime, Signal};

    use super::*;

    #[test]
    fn no_text_of_a_context_keeps_a_secret_and_routes_follow_their_findings() {
        let entity = eog_core::EntityId::new("db").unwrap();
        let at = EvidenceTime::At(Timestamp::UNIX_EPOCH);
        let plain = FindingContent::new(entity.clone(), EvidenceKind::Change, Signal::Errors, at);
        let secret = "login with password=hunter2 failed".to_owned();
        let change = ChangeDetail {
            path: "env[DB_PASSWORD]".to_owned(),
            old: None,
            new: Some("hunter2".to_owned()),
        };
        let leaking = Finding::new(FindingContent {
            change: Some(change),
            query: secret.clone(),
            excerpt: secret.clone(),
            ..plain.clone()
        });
        let calm = Finding::new(plain);
        let route = |of: &Finding| Route { finding: of.id().clone(), hops: vec![entity.clone()] };
        let context = LocalContext {
            routes: vec![route(&leaking), route(&calm)],
            findings: vec![leaking, calm.clone()],
            omitted: vec![secret],
            ..LocalContext::default()
        };
        let masked = masked(context).unwrap();
        assert!(!format!("{masked:?}").contains("hunter2"), "{masked:?}");
        assert_eq!(masked.findings[1], calm, "what holds none stays as it is");
        assert_eq!(masked.routes[0].finding, *masked.findings[0].id());
        assert_eq!(masked.routes[1].finding, *calm.id());
    }
}
