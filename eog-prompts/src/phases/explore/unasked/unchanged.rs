//! An entity that was judged before, and of which nothing is shown that was not shown then.

use eog_core::belief::Belief;
use eog_core::contract::NoticeReason;
use eog_core::{ContextPacket, Decision};

/// The former judgement, where the packet holds no finding that the entity was not judged with. Where a search ends, the
/// question is put once all the same: something may have been overlooked.
pub(super) fn decision(packet: &ContextPacket) -> Option<Decision> {
    let former = packet.former.as_ref()?;
    let is_unchanged = former.news.as_ref()?.is_empty();
    let notice = packet.notice.as_ref();
    let ends_here = notice.is_some_and(|it| it.reason == NoticeReason::DeadEnd && it.count == 1);
    (is_unchanged && !ends_here).then(|| again(&former.belief))
}

/// A belief as a decision, without what led to it: it looks nowhere anew.
fn again(belief: &Belief) -> Decision {
    let Belief { label, summary, evidence, claims, since, explains, .. } = belief.clone();
    let rule = Some("as before".to_owned());
    Decision { evidence, claims, since, explains, rule, ..Decision::new(label, summary) }
}
