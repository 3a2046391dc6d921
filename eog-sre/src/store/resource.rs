//! The sender of a piece of telemetry.

/// The sender of a span or log line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Resource {
    pub(crate) service: String,
    pub(crate) namespace: String,
    pub(crate) pod: String,
    /// The version of the service, if the sender says it.
    pub(crate) version: String,
    /// Kind and name of the workload, if the sender says it.
    pub(crate) workload: Option<(&'static str, String)>,
    pub(crate) node: String,
}

impl Resource {
    /// One that says nothing about itself.
    pub(crate) const fn unknown() -> Self {
        Self {
            service: String::new(),
            namespace: String::new(),
            pod: String::new(),
            version: String::new(),
            workload: None,
            node: String::new(),
        }
    }
}
