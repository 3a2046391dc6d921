//! `eog schema`: the JSON Schemas of what programs exchange with eog.

use eog_core::{ContextPacket, Decision, json_schema};
use serde_json::{Value, json};

use crate::args::SchemaName;
use crate::error::{CliError, Exit};

/// Prints one schema.
pub(crate) fn print(name: SchemaName) -> Result<Exit, CliError> {
    crate::files::print(&render(name)?)?;
    Ok(Exit::Diagnosed)
}

/// One schema as indented JSON with a final newline: the bytes of the file in `docs/schema`.
pub(crate) fn render(name: SchemaName) -> Result<String, CliError> {
    let mut schema = match name {
        SchemaName::CommandInput => command_input(),
        SchemaName::Decision => json_schema::<Decision>(),
        #[cfg(not(feature = "serve"))]
        SchemaName::OnCallMessage => {
            return Err(CliError::not_built("the service on call", "serve"));
        }
        #[cfg(feature = "serve")]
        SchemaName::OnCallMessage => json_schema::<eog_oncall::Message>(),
    };
    schema.sort_all_objects();
    Ok(format!("{schema:#}\n"))
}

/// A packet with the field that the correction round adds.
fn command_input() -> Value {
    let mut schema = json_schema::<ContextPacket>();
    schema["title"] = json!("CommandInput");
    schema["properties"]["correction"] = json!({
        "description": "Present on the second attempt: what was written the first time, and what \
                        is wrong with it.",
        "type": "object",
        "properties": {
            "output": { "type": "string" },
            "error": { "type": "string" }
        },
        "required": ["output", "error"],
        "additionalProperties": false
    });
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_schemas_are_current() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema");
        for (name, file) in [
            (SchemaName::CommandInput, "command-input.schema.json"),
            (SchemaName::Decision, "decision.schema.json"),
            (SchemaName::OnCallMessage, "on-call-message.schema.json"),
        ] {
            let path = format!("{folder}/{file}");
            if std::env::var_os("EOG_UPDATE_SCHEMAS").is_some() {
                std::fs::write(&path, render(name).unwrap()).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            let is_current = published == render(name).unwrap();
            assert!(is_current, "{file} is out of date: run with EOG_UPDATE_SCHEMAS=1");
            assert!(!published.contains("```"), "{file} holds Rust");
        }
    }
}
