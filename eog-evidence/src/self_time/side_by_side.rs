//! Calls that a caller makes side by side: how long it waits for each of them.
//!
//! The critical path of one span: from its end backwards, the caller waits for the call that ended
//! last; before that call began, for the one that had ended last by then, and so on.

use std::collections::BTreeMap;

use eog_core::evidence::PeerRole;

use crate::spans::SpanRecord;

/// One call within a span: its place, begin and end in milliseconds.
#[derive(Clone, Copy)]
struct Part {
    place: usize,
    begin: f64,
    end: f64,
}

/// For calls made to others whose caller's span is known by its id: how much of each is on the critical path of
/// that span, in milliseconds. By the places of the spans.
pub(super) fn waited_for<'a>(
    spans: impl Iterator<Item = &'a SpanRecord> + Clone,
) -> BTreeMap<usize, f64> {
    let mut parts: BTreeMap<(&str, &str), Vec<Part>> = BTreeMap::new();
    let mut owners: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    for (place, span) in spans.enumerate().filter(|(_, span)| span.duration_ms.is_finite()) {
        let Some(ids) = &span.ids else { continue };
        let begin = span.time.as_nanosecond() as f64 / 1e6;
        let end = begin + span.duration_ms.max(0.0);
        let is_made = span.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Callee);
        match (is_made, &ids.parent) {
            (true, Some(parent)) => {
                let key = (ids.trace.as_str(), parent.as_str());
                parts.entry(key).or_default().push(Part { place, begin, end });
            }
            (true, None) => {}
            (false, _) => {
                owners.insert((ids.trace.as_str(), ids.span.as_str()), (begin, end));
            }
        }
    }
    let known = parts.into_iter().filter_map(|(key, parts)| Some((*owners.get(&key)?, parts)));
    known.flat_map(|((begin, end), parts)| on_the_path(begin, end, parts)).collect()
}

/// How much of each part is waited for within a span.
fn on_the_path(begin: f64, end: f64, mut parts: Vec<Part>) -> Vec<(usize, f64)> {
    parts.sort_by(|a, b| b.end.total_cmp(&a.end).then(a.place.cmp(&b.place)));
    let mut until = end;
    let waited = parts.iter().map(|part| {
        let from = part.begin.max(begin);
        let to = part.end.min(until);
        let waited = (to - from).max(0.0);
        until = if waited > 0.0 { from } else { until };
        (part.place, waited)
    });
    waited.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_calls_side_by_side_the_last_to_end_is_waited_for() {
        let part = |place, begin, end| Part { place, begin, end };
        let waited = |parts: &[Part]| {
            let mut waited = on_the_path(0.0, 100.0, parts.to_vec());
            waited.sort_by_key(|(place, _)| *place);
            waited.into_iter().map(|(_, ms)| ms).collect::<Vec<_>>()
        };
        // One after the other; side by side; overlapping; beyond the end of the span.
        assert_eq!(waited(&[part(0, 10.0, 30.0), part(1, 30.0, 70.0)]), [20.0, 40.0]);
        assert_eq!(waited(&[part(0, 10.0, 30.0), part(1, 10.0, 70.0)]), [0.0, 60.0]);
        assert_eq!(waited(&[part(0, 10.0, 50.0), part(1, 40.0, 70.0)]), [30.0, 30.0]);
        assert_eq!(waited(&[part(0, 90.0, 130.0)]), [10.0]);
    }
}
