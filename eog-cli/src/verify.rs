//! `eog verify`: whether a repair bears a diagnosis out.

mod text;

use eog::{Confidence, EntityId, Timestamp, Window};
use eog_evidence::{mask_text, shorten};
use eog_report::{Step, pretty, shell_word};
use eog_session::controllers::AnyFinished;
use eog_session::judge::{Evidence, Policies as _};
use eog_session::recovery::{self, Asked, Outcome, Subject, Verdict, Verification, VerifyError};
use eog_session::travel::Read;
use serde::Serialize;

use crate::args::{Verify, VerifyFormat};
use crate::error::{CliError, Exit};
use crate::progress::Progress;
use crate::{files, source, travel};

/// The version of the JSON form.
const VERSION: u32 = 1;
/// Most characters of what was done.
const MAX_ACTION: usize = 400;

/// The JSON form.
#[derive(Serialize)]
struct VerificationFile<'v> {
    format: &'static str,
    version: u32,
    name: &'v str,
    confidence: Confidence,
    #[serde(flatten)]
    verification: &'v Verification,
    /// The command that investigates again with what the repair showed, where the diagnosis is withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    reopen: Option<&'v str>,
}

/// `eog verify`.
pub(crate) fn run(arguments: &Verify) -> Result<Exit, CliError> {
    let read = travel::read(&arguments.ledger)?;
    let finished = travel::restore(&read)?;
    let diagnosis = finished.diagnosis();
    let asked = asked(arguments)?;
    let progress = Progress::start(false);
    // Of live sources all of the incident is captured, and what came after it.
    let window = Window::new(diagnosis.window.start(), Timestamp::now()).ok();
    let at = source::At { window, ..source::At::default() };
    let architecture = arguments.architecture.as_deref();
    let after = source::open(&progress, &arguments.after, architecture, &arguments.reading, at)?;
    drop(progress);
    let verification = recovery::verify(&diagnosis, &*after, &asked)
        .map_err(|error| refused(arguments, &read, &error))?;
    let name = after.incident().name.as_str();
    let reopen = (verification.verdict == Verdict::Withdrawn)
        .then(|| reopen(&read, &finished, &verification));
    let text = match arguments.format {
        VerifyFormat::Text => {
            text::text(name, &verification, reopen.as_deref(), files::terminal_width())
        }
        VerifyFormat::Json => pretty(&VerificationFile {
            format: "eog-verification",
            version: VERSION,
            name,
            confidence: diagnosis.conclusion.confidence,
            verification: &verification,
            reopen: reopen.as_deref(),
        }),
    };
    files::print(&text)?;
    Ok(match verification.verdict {
        Verdict::Verified => Exit::Diagnosed,
        _ => Exit::Inconclusive,
    })
}

fn asked(arguments: &Verify) -> Result<Asked, CliError> {
    let cause = arguments.cause.as_ref().map(|cause| EntityId::new(cause.clone())).transpose();
    let cause = cause.map_err(|error| CliError::Usage(format!("--cause: {error}")))?;
    let action = arguments.action.as_ref().map(|text| mask_text(&shorten(text.trim(), MAX_ACTION)));
    Ok(Asked { at: arguments.at, action, cause })
}

/// The command that investigates again, with what the repair showed, from where the cause was first evaluated.
/// Where the first input is, the ledger does not say.
fn reopen(read: &Read, finished: &AnyFinished, verification: &Verification) -> String {
    let Verification { intervention, returns, origins, .. } = verification;
    let stay = returns.iter().filter_map(|one| match (&one.subject, one.outcome) {
        (Subject::Alert { name, entity }, Outcome::NotReturned) => {
            Some(format!("{name} on {entity}"))
        }
        _ => None,
    });
    let stay: Vec<String> = stay.collect();
    let (what, at) = (&intervention.what, eog_report::words::instant(intervention.at));
    let why = format!("{what} at {at}, and {} did not return", stay.join(", "));
    let steps = finished.steps();
    let is_origin = |step: &&Step| step.entity.as_ref().is_some_and(|it| origins.contains(it));
    let first = steps.iter().find(is_origin).map_or(0, |step| step.seq.saturating_sub(1));
    let ledger = shell_word(&read.path.display().to_string());
    let mut command = format!("eog fork {ledger} PATH --at {first}");
    for origin in origins {
        let word = mask_text(&shorten(&format!("{origin}={why}"), MAX_ACTION));
        command += &format!(" --not-cause {}", shell_word(&word));
    }
    // The ledger has the name of another policy, not how it is started.
    let is_other = read.ledger.judge_at(first).is_some_and(|it| it != Evidence.name());
    command + if is_other { " --policy …" } else { "" }
}

/// Why nothing can be verified, with what to do.
fn refused(arguments: &Verify, read: &Read, error: &VerifyError) -> CliError {
    let of_input = |hint: &str| CliError::Input {
        path: arguments.after.clone(),
        reason: format!("{error}{hint}"),
    };
    match error {
        VerifyError::NoIntervention { .. } => {
            of_input("; if it was repaired, give the time: --at TIME --action TEXT")
        }
        VerifyError::OtherSystem { .. } => of_input(""),
        VerifyError::WhichCause { .. } => CliError::Usage(format!("{error}: --cause ENTITY")),
        VerifyError::NotNamed { .. } => CliError::Usage(format!("--cause: {error}")),
        VerifyError::BeforeHarm { .. } => CliError::Usage(format!("--at: {error}")),
        _ => CliError::Input { path: read.path.clone(), reason: error.to_string() },
    }
}
