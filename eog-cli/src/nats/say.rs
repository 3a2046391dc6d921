//! `eog cancel` and `eog tell`: what people say to an investigation, wherever it runs.

use eog_nats::InvestigationId;
use eog_session::source::Words;

use super::incidents::{Incidents, Unopened};
use super::order::{Order, Saying};
use super::reach::Reached;
use super::state::{State, Status};
use crate::args::{Cancel, Reading, Tell};
use crate::error::{CliError, Exit};

/// `eog cancel`.
pub(crate) fn cancel(arguments: &Cancel) -> Result<Exit, CliError> {
    let reached = Reached::connecting(&arguments.nats)?;
    let (id, _) = reached.find(&arguments.id)?;
    let state = State::read(&reached.register.state(&id)?.unwrap_or_default())?;
    if let Some(state) = state.filter(|state| state.status.has_ended()) {
        eprintln!("eog: {id} has ended already: {}", state.status.as_str());
        return Ok(Exit::Diagnosed);
    }
    reached.register.say(&id, &Saying::Cancel.written()?)?;
    eprintln!("eog: {id} ends; its result is what was found so far");
    Ok(Exit::Diagnosed)
}

/// `eog tell`.
pub(crate) fn tell(arguments: &Tell) -> Result<Exit, CliError> {
    let reached = Reached::connecting(&arguments.nats)?;
    let (id, order) = reached.find(&arguments.id)?;
    if !order.settings.takes_words() {
        return Err(CliError::Usage(format!(
            "the controller {} takes no input while it runs; submit the incident again with \
             --cause, --not-cause or --note",
            order.settings.controller()
        )));
    }
    let words = known(&reached, &id, &order, arguments)?;
    if words.is_empty() {
        return Err(CliError::Usage(
            "no input; give --cause, --not-cause or --note, such as --not-cause 'database=its \
             owner checked it, it is healthy'"
                .to_owned(),
        ));
    }
    for (entity, word) in words {
        reached.register.say(&id, &Saying::Word { entity, word }.written()?)?;
    }
    go_on(&reached, &id, &order)?;
    eprintln!("eog: {id} continues with it");
    Ok(Exit::Diagnosed)
}

/// Has an investigation wait for a worker, unless it does or has one: that worker receives what was said.
pub(super) fn go_on(
    reached: &Reached,
    id: &InvestigationId,
    order: &Order,
) -> Result<(), CliError> {
    let register = &reached.register;
    let before = register.standing(id)?;
    if reached.queue.submit(id, &order.written()?)?
        && let Some(before) = before
        && let Ok(Some(ended)) = State::read(&before.bytes)
        && ended.status.has_ended()
    {
        let note = "it continues with the new input".to_owned();
        let waiting = State::new(Status::Waiting, &ended.worker, ended.attempts, note);
        // A worker may have it by now, and have said so, or even have ended it: what it said counts.
        register.set_state_after(id, before.sequence, &waiting.written()?)?;
    }
    Ok(())
}

/// The words of a person, of entities that the incident has.
fn known(
    reached: &Reached,
    id: &InvestigationId,
    order: &Order,
    arguments: &Tell,
) -> Result<Words, CliError> {
    let incidents = Incidents::new(Reading::default());
    let incident = incidents.open(reached, id, order);
    let incident = incident.map_err(|unopened| match unopened {
        Unopened::Nats(error) => error.into(),
        Unopened::Unusable(reason) | Unopened::Here(reason) => {
            CliError::Input { path: id.as_str().into(), reason }
        }
    })?;
    arguments.said.words(&incident.opened.incident().topology)
}
