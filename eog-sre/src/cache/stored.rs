//! The records of a snapshot as bytes. A field that is missing here does not compile.

use super::Cached;
use super::codec::{Reader, Stored, Writer};
use crate::read::{
    AlertRecord, EventRecord, LogRecord, MetricSeries, ObjectHistory, Objects, Observation,
    Records, Resource, SpanKind, SpanRecord, Subject, WORKLOADS,
};

/// Writes and reads the named fields in order.
macro_rules! stored {
    ($($record:ident { $($field:ident),+ $(,)? })+) => {
        /// All records with their fields, so that a file of another form is told apart.
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
    Cached { records, files, warnings }
    Records { alerts, events, objects, logs, spans, metrics }
    AlertRecord { name, labels, description, state, active_at, value, seen_at, file }
    EventRecord {
        at, entity, reason, is_warning, message, count, is_experiment, first_at, component, host,
        file,
    }
    Objects { histories, dumps, file }
    ObjectHistory { states, deleted }
    Observation { first_seen, last_seen, object }
    LogRecord { at, sender, severity, text, pattern, file }
    SpanRecord {
        at, sender, name, kind, duration_ms, failed, message, trace_id, parent_at, parent, callee,
        peer_host, trace, file,
    }
    MetricSeries {
        subject, namespace, name, metric, metric_type, status_code, bucket, labels, points, file,
    }
    Resource { service, namespace, pod, workload, node }
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
