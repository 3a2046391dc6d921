//! What a service does, as lines on standard error: with their time, or as the journal of systemd has them.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The lines of a service on call.
pub(crate) fn layer<S>() -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let own = Targets::new().with_target("eog_oncall", LevelFilter::INFO);
    let lines = Lines { is_journal: is_journal() };
    tracing_subscriber::fmt::layer()
        .event_format(lines)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .with_filter(own)
}

/// A line for each event.
struct Lines {
    /// Whether the journal reads them: it knows the time, and reads the priority from the beginning of a line
    /// (sd-daemon(3)).
    is_journal: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let usual = Format::default().with_ansi(false).with_target(false);
        if !self.is_journal {
            return usual.format_event(context, writer, event);
        }
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        usual.with_level(false).without_time().format_event(context, writer, event)
    }
}

/// As syslog(3) numbers them.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// Whether standard error leads to the journal: systemd names the device and the inode of the stream.
#[cfg(unix)]
fn is_journal() -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;

    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    let own = std::io::stderr().as_fd().try_clone_to_owned();
    let own = own.and_then(|own| std::fs::File::from(own).metadata());
    own.is_ok_and(|own| named == format!("{}:{}", own.dev(), own.ino()))
}

#[cfg(not(unix))]
fn is_journal() -> bool {
    false
}
