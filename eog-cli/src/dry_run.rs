//! `--dry-run`: what would be asked, and the most that it could use.

#[cfg(feature = "models")]
mod asked;

use std::fmt::Write as _;

use eog::incident::Neighbour;
use eog::{Case, ContextContract as _, ContextPacket, ContextRequest, Controller, LocalContext};
use eog_report::clean::{clean, escape_json};
use eog_session::controllers::AnySettings;
use eog_session::judge::Chosen;
use eog_session::run::Start as Begin;
use eog_session::source::Opened;

use crate::args::Start;
use crate::error::{CliError, Exit};
use crate::files;
use crate::runtime::runtime;

/// Prints packets and the first prompt. Makes no calls.
pub(crate) fn run(
    judge: &Chosen,
    source: &Opened,
    begin: &Begin,
    start: &Start,
) -> Result<Exit, CliError> {
    let case = &begin.by_rule;
    let packets = packets(source, begin, judge.reads_case_file())?;
    let mut text = String::from("Dry run: no calls are made.\n");
    let _ = writeln!(
        text,
        "\nWindow {} to {}: {}\nEntities to start from, chosen by the built-in rules: {}.",
        case.window.start(),
        case.window.end(),
        clean(&case.bootstrap.window_reason),
        packets.iter().map(|packet| packet.entity.as_str()).collect::<Vec<_>>().join(", ")
    );
    for (packet, seed) in packets.iter().zip(&case.seeds) {
        let _ = writeln!(text, "\nPACKET {} ({})", packet.entity, clean(&seed.reason));
        let json = serde_json::to_string_pretty(packet).unwrap_or_default();
        text += &escape_json(&json);
        text.push('\n');
    }
    #[cfg(not(feature = "models"))]
    let _ = (judge, start);
    #[cfg(feature = "models")]
    text.push_str(&asked::calls(judge, start, begin, packets.first())?);
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

/// The packets of the entities to start from, before any entity has been judged.
fn packets(
    source: &Opened,
    begin: &Begin,
    reads_case_file: bool,
) -> Result<Vec<ContextPacket>, CliError> {
    let runtime = runtime()?;
    let case = &match reads_case_file {
        true => {
            begin.by_rule.clone().with_case_file(runtime.block_on(source.case_file(&begin.by_rule)))
        }
        false => begin.by_rule.clone(),
    };
    let controller = match &begin.settings {
        AnySettings::Eog(config) => Some(Controller::new((**config).clone(), case.clone())),
        _ => None,
    };
    let packet = |seed: &eog::Seed| {
        let request = ContextRequest {
            entity: seed.entity.clone(),
            window: case.window,
            page: 1,
            visit: 1,
            changed_neighbours: std::collections::BTreeSet::new(),
            query: None,
        };
        // In a run, a context that cannot be fetched is a recorded failure.
        let context = runtime.block_on(source.get_context(&request));
        let context = context.unwrap_or_else(|failure| LocalContext {
            omitted: vec![failure.to_string()],
            ..LocalContext::default()
        });
        if let Some(controller) = &controller {
            return controller.upcoming_packet(&seed.entity, context);
        }
        ContextPacket {
            entity: seed.entity.clone(),
            window: case.window,
            context,
            neighbours: neighbours(case, &seed.entity),
            inbox: Vec::new(),
            anomalies: Vec::new(),
            notice: None,
            former: None,
            hints: Vec::new(),
            quoted: Vec::new(),
            reach: None,
            case_file: case.case_file.clone(),
            queries_left: 0,
        }
    };
    Ok(case.seeds.iter().map(packet).collect())
}

fn neighbours(case: &Case, entity: &eog::EntityId) -> Vec<Neighbour> {
    case.topology.neighbours(entity)
}
