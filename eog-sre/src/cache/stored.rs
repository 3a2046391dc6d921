//! The records of a snapshot as bytes. A field that is missing here does not compile.

use std::sync::Arc;

use eog_core::incident::Unusable;

use super::codec::{Reader, Stored, Writer};
use crate::read::{
    AlertRecord, EventRecord, MetricSeries, ObjectHistory, Objects, Observation, Records, Resource,
    Subject, WORKLOADS,
};
use crate::store::{Link, Logs, Samples, SpanKind, Spans, Texts, Times};

/// What a cache gives back.
pub(crate) struct Cached {
    pub(crate) records: Records,
    pub(crate) files: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) unusable: Vec<Unusable>,
}

/// Writes and reads the named fields in order.
macro_rules! stored {
    ($($record:ident { $($field:ident),+ $(,)? })+) => {
        /// All records with their fields, so that a file of another form is recognized.
        pub(super) const FIELDS: &str = stringify!($($record { $($field)+ })+);

        $(impl Stored for $record {
            fn put(&self, to: &mut Writer) {
                let Self { $($field),+ } = self;
                $($field.put(to);)+
            }

            fn get(from: &mut Reader<'_>) -> Option<Self> {
                Some(Self { $($field: Stored::get(from)?),+ })
            }
        })+
    };
}

stored! {
    Cached { records, files, warnings, unusable }
    Unusable { source, records, unusable, reason }
    Records { alerts, events, objects, logs, spans, metrics }
    AlertRecord { name, labels, description, said, state, active_at, value, seen_at, file }
    EventRecord {
        at, entity, reason, is_warning, message, count, is_experiment, first_at, component, host,
        file,
    }
    Objects { histories, dumps, file }
    ObjectHistory { states, deleted }
    Observation { first_seen, last_seen, object }
    Logs { at, sender, severity, text, pattern, request, file, senders, texts }
    Spans {
        at, duration, sender, name, kind, failed, message, trace, trace_text, parent, callee,
        peer_host, file, senders, texts,
    }
    MetricSeries {
        subject, namespace, name, metric, metric_type, status_code, bucket, labels, points, file,
    }
    Samples { at, value }
    Resource { service, namespace, pod, version, workload, node }
}

/// Writes a kind as its place in a list of all.
macro_rules! stored_kinds {
    ($($kind:ident: $($name:ident)+;)+) => {$(
        impl Stored for $kind {
            fn put(&self, to: &mut Writer) {
                // One that is not listed does not compile.
                let text = match self {
                    $(Self::$name => stringify!($name),)+
                };
                let all = [$(stringify!($name)),+];
                all.iter().position(|one| *one == text).unwrap_or_default().put(to);
            }

            fn get(from: &mut Reader<'_>) -> Option<Self> {
                [$(Self::$name),+].get(usize::get(from)?).copied()
            }
        }
    )+};
}

stored_kinds! {
    SpanKind: Server Client Producer Consumer Internal;
    Subject: Pod Service;
}

/// The kind of a workload, of which there are few.
impl Stored for &'static str {
    fn put(&self, to: &mut Writer) {
        (*self).to_owned().put(to);
    }

    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let text = String::get(from)?;
        WORKLOADS.iter().map(|(_, kind)| *kind).find(|kind| *kind == text)
    }
}

/// Writes what is but a name for something else as that.
macro_rules! stored_as {
    ($($record:ident($inner:ty);)+) => {$(
        impl Stored for $record {
            fn put(&self, to: &mut Writer) {
                self.0.put(to);
            }

            fn get(from: &mut Reader<'_>) -> Option<Self> {
                <$inner>::get(from).map(Self)
            }
        }
    )+};
}

stored_as! {
    Link(u32);
    Texts(Vec<Arc<str>>);
}

/// Each time as the step from the one before, which is short.
impl Stored for Times {
    fn put(&self, to: &mut Writer) {
        self.0.len().put(to);
        let mut last = 0;
        for at in &self.0 {
            Step(at.wrapping_sub(last)).put(to);
            last = *at;
        }
    }

    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let steps: Vec<Step> = Vec::get(from)?;
        let mut last = 0_i64;
        let times = steps.into_iter().map(|step| {
            last = last.wrapping_add(step.0);
            last
        });
        Some(Self(times.collect()))
    }
}

/// A number that is near zero, on either side.
struct Step(i64);

impl Stored for Step {
    fn put(&self, to: &mut Writer) {
        ((self.0 << 1) ^ (self.0 >> 63)).cast_unsigned().put(to);
    }

    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let folded = u64::get(from)?;
        Some(Self((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed()))
    }
}
