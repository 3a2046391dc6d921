//! What holds of what sources say, whatever it is. Each function takes the bytes of an answer, a request or a
//! file and panics when something does not hold; the targets of `fuzz/` and the tests of this crate call the
//! same ones.

use std::fs;
use std::path::Path;

use eog_core::{Timestamp, Window};
use eog_evidence::{Bundle, FolderHandle, open_case};

use crate::http::Answer;
use crate::period::Period;
use crate::piece::{Measured, Piece, Who};
use crate::report::CaptureReport;
use crate::{SourceConfig, alertmanager, bundle, changes, jaeger, kubernetes, otlp, prometheus};
use crate::{receiver, resolve};

/// Everything that there may be.
const ALWAYS: Period = Period { from: 0, until: i64::MAX };

/// A configuration is read, or refused by name.
///
/// # Panics
/// When an error does not begin with the name of the file.
pub fn source_toml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match SourceConfig::parse(&text, "source.toml".as_ref()) {
        Ok(config) => assert!(!config.sources().is_empty(), "it names no source"),
        Err(error) => assert!(error.to_string().starts_with("source.toml"), "{error}"),
    }
}

/// An answer of Prometheus gives series within the bound, with finite points. One that was cut off is no
/// error.
///
/// # Panics
/// When it does not.
pub fn prometheus(bytes: &[u8]) {
    for is_cut in [false, true] {
        let answer = answer(bytes, is_cut);
        let Ok(series) = prometheus::series(&answer, 20) else { continue };
        assert!(series.len() <= 20);
        let series = series.into_iter().map(|(name, points)| {
            assert!(points.iter().all(|(at, value)| *at >= 0 && value.is_finite()));
            Measured {
                who: Who::service(name),
                peer: None,
                metric: "m".to_owned(),
                signal: eog_core::evidence::Signal::Errors,
                unit: String::new(),
                points,
            }
        });
        captured(Piece { series: series.collect(), ..Piece::default() });
    }
}

/// An answer of Alertmanager gives alerts that can be captured, or an error.
///
/// # Panics
/// When it does not.
pub fn alertmanager(bytes: &[u8]) {
    let read = alertmanager::read(&answer(bytes, false), ALWAYS);
    if let Ok(piece) = read {
        assert!(piece.alerts.iter().all(|alert| !alert.name.is_empty()));
        captured(piece);
    }
}

/// An answer of Jaeger gives spans that can be captured, or an error.
///
/// # Panics
/// When it does not.
pub fn jaeger(bytes: &[u8]) {
    if let Ok(piece) = jaeger::piece(&answer(bytes, false)) {
        captured(piece);
    }
}

/// A trace of Tempo gives spans that can be captured, or an error.
///
/// # Panics
/// When it does not.
pub fn tempo(bytes: &[u8]) {
    if let Ok((spans, _)) = otlp::trace(bytes) {
        captured(Piece { spans, ..Piece::default() });
    }
}

/// Lists of the API of Kubernetes, by their plural names, give what can be captured.
///
/// # Panics
/// When they do not.
pub fn kubernetes(bytes: &[u8]) {
    if let Ok(lists) = serde_json::from_slice(bytes) {
        captured(kubernetes::piece(lists, ALWAYS));
    }
}

/// A file of the collector gives so many records at most, which can be captured.
///
/// # Panics
/// When it does not.
pub fn otlp_file(bytes: &[u8]) {
    in_file("otlp.jsonl", bytes, |file| {
        let piece = otlp::read(file, ALWAYS, (20, 20)).expect("the file is there");
        assert!(piece.spans.len() <= 20 && piece.lines.len() <= 20);
        captured(piece);
    });
}

/// A request of OTLP is taken in or refused; what was taken in can be captured. The first byte says of
/// which kind it is.
///
/// # Panics
/// When it cannot.
pub fn otlp_request(bytes: &[u8]) {
    let Some((kind, message)) = bytes.split_first() else { return };
    if let Some(piece) = receiver::piece_of(*kind, message, ALWAYS) {
        captured(piece);
    }
}

/// A file of changes gives what can be captured, or a reason that names it.
///
/// # Panics
/// When it does not.
pub fn changes(bytes: &[u8]) {
    in_file("changes.json", bytes, |file| {
        let config = SourceConfig { changes: vec![file.to_owned()], ..SourceConfig::default() };
        let mut piece = Piece::default();
        changes::read(&config, ALWAYS, &mut piece);
        assert!(piece.missing.iter().all(|it| it.contains("changes.json")), "{:?}", piece.missing);
        captured(piece);
    });
}

/// The report of a capture is read, or refused by name.
///
/// # Panics
/// When it is neither.
pub fn capture_json(bytes: &[u8]) {
    in_file("capture.json", bytes, |file| {
        let folder = file.parent().expect("it lies in a folder");
        let folder = FolderHandle::open(folder).expect("the folder is there");
        if let Err(error) = CaptureReport::from(&folder) {
            assert!(error.starts_with("capture.json: "), "{error}");
        }
    });
}

fn answer(bytes: &[u8], is_cut: bool) -> Answer {
    Answer { body: bytes.to_vec(), is_cut }
}

fn in_file(name: &str, bytes: &[u8], check: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(name);
    fs::write(&file, bytes).expect("a file in it");
    check(&file);
}

/// What was captured is a bundle that can be read, and investigated if there is an alert in it.
fn captured(mut piece: Piece) {
    resolve::names(&mut piece);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let window = Window::new(Timestamp::UNIX_EPOCH, Timestamp::MAX).expect("the start is first");
    let report = CaptureReport::new("fuzzed", None, window);
    bundle::write(&SourceConfig::default(), &report, piece, folder.path())
        .expect("what was read can be written");
    match Bundle::read(folder.path()) {
        // Where there is nothing to begin with, that is reported.
        Ok(bundle) => drop(open_case(&bundle.incident(), None)),
        Err(error) => panic!("what was written cannot be read: {error}"),
    }
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;

    #[test]
    fn corpora_of_the_targets_are_read() {
        type Target = (&'static str, fn(&[u8]));
        let targets: [Target; 10] = [
            ("source_toml", super::source_toml),
            ("prometheus", super::prometheus),
            ("alertmanager", super::alertmanager),
            ("jaeger", super::jaeger),
            ("tempo", super::tempo),
            ("kubernetes", super::kubernetes),
            ("otlp_file", super::otlp_file),
            ("otlp_request", super::otlp_request),
            ("changes", super::changes),
            ("capture_json", super::capture_json),
        ];
        for (target, check) in targets {
            replay(target, check);
        }
    }
}
