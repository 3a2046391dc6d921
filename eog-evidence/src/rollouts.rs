//! Rollouts of which only events of Kubernetes are on record.

use std::collections::BTreeMap;

use eog_core::evidence::Signal;
use eog_core::{EntityId, Timestamp};

use crate::bundle::ChangeRecord;
use crate::events::EventRecord;

/// How a Deployment scaled one of its ReplicaSets.
struct Scaling<'a> {
    time: Timestamp,
    is_up: bool,
    set: &'a str,
}

/// The rollouts that events tell: a Deployment scales up a ReplicaSet in the place of another one of it. Its name holds a hash of
/// the pod template, so another name is another template; what changed in it, events do not tell.
pub(crate) fn rollouts<'a>(events: impl IntoIterator<Item = &'a EventRecord>) -> Vec<ChangeRecord> {
    let mut scaled: BTreeMap<(&EntityId, &str), Vec<Scaling<'_>>> = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.reason == "ScalingReplicaSet") {
        let Some((is_up, set)) = scaling(&event.message) else { continue };
        let Some((deployment, _)) = set.rsplit_once('-') else { continue };
        let scaling = Scaling { time: event.time, is_up, set };
        scaled.entry((&event.entity, deployment)).or_default().push(scaling);
    }
    let mut found = Vec::new();
    for ((entity, _), mut steps) in scaled {
        steps.sort_by_key(|step| step.time);
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_up) {
            let is_new = steps.iter().take(at).all(|earlier| earlier.set != step.set);
            let others = || steps.iter().filter(|other| other.set != step.set);
            let replaced = others().rfind(|other| other.time < step.time);
            let replaced = replaced.or_else(|| others().find(|other| !other.is_up));
            if let (true, Some(replaced)) = (is_new, replaced) {
                found.push(ChangeRecord {
                    time: step.time,
                    entity: entity.clone(),
                    signal: Signal::Configuration,
                    path: "pod template (ReplicaSet)".to_owned(),
                    old: Some(replaced.set.to_owned()),
                    new: Some(step.set.to_owned()),
                    description: "rollout; events do not say what changed in the template"
                        .to_owned(),
                });
            }
        }
    }
    found
}

/// `Scaled up replica set web-7d4b9c to 3` or `… web-7d4b9c from 0 to 3`.
fn scaling(message: &str) -> Option<(bool, &str)> {
    let (how, rest) = message.strip_prefix("Scaled ")?.split_once(" replica set ")?;
    let is_up = match how {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    Some((is_up, rest.split_whitespace().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_replica_set_of_a_deployment_is_a_rollout() {
        let event = |minute: i64, message: &str| EventRecord {
            time: Timestamp::from_second(minute * 60).unwrap(),
            entity: EntityId::new("web").unwrap(),
            reason: "ScalingReplicaSet".into(),
            signal: Signal::Other,
            message: message.into(),
            peer: None,
        };
        let told = |events: &[EventRecord]| -> Vec<(i64, String, String)> {
            let found = rollouts(events).into_iter();
            found.map(|it| (it.time.as_second() / 60, it.old.unwrap(), it.new.unwrap())).collect()
        };
        let expected = [(5, "web-aa11".to_owned(), "web-bb22".to_owned())];
        let rolling = [
            event(5, "Scaled up replica set web-bb22 from 0 to 1"),
            event(6, "Scaled down replica set web-aa11 from 1 to 0"),
            event(7, "Scaled up replica set web-bb22 from 1 to 2"),
        ];
        assert_eq!(told(&rolling), expected);
        let earlier = [
            event(1, "Scaled up replica set web-aa11 to 1"),
            event(5, "Scaled up replica set web-bb22 to 1"),
        ];
        assert_eq!(told(&earlier), expected);
        // The first rollout of all, more replicas, and another Deployment's set are none.
        let others = [
            event(1, "Scaled up replica set web-aa11 to 1"),
            event(5, "Scaled up replica set web-aa11 to 3"),
            event(6, "Scaled up replica set web-canary-cc33 to 1"),
        ];
        assert_eq!(told(&others), []);
    }
}
