//! The parameters of a tool.

use std::sync::Arc;

use eog_core::EntityId;
use serde_json::{Map, Value, json};

/// A tool as a specialist is offered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// A JSON schema in place of the parameters.
    pub given: Option<Given>,
}

/// What a tool takes, as JSON Schema, and who checks it: this crate reads no schemas.
#[derive(Clone, Debug)]
pub struct Given {
    schema: Arc<Value>,
    check: SchemaCheck,
}

/// Says what is wrong with arguments, by the schema of their tool, which comes first.
pub type SchemaCheck = fn(&Value, &Value) -> Result<(), String>;

impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Eq for Given {}

/// One argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// What it can be.
    pub kind: ParameterKind,
    /// Whether it must be given.
    pub required: bool,
}

/// What an argument can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// The name of an entity.
    Entity,
    /// Text.
    Text,
    /// A whole number from the first to the last.
    Whole(u32, u32),
}

impl ParameterKind {
    fn schema(self) -> Value {
        match self {
            Self::Entity | Self::Text => json!({ "type": "string", "minLength": 1 }),
            Self::Whole(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
        }
    }

    fn wants(self) -> String {
        match self {
            Self::Entity => "the name of an entity".to_owned(),
            Self::Text => "text that is not empty".to_owned(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
        }
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Entity => value.as_str().is_some_and(|text| EntityId::new(text).is_ok()),
            Self::Text => value.as_str().is_some_and(|text| !text.is_empty()),
            Self::Whole(least, most) => value
                .as_u64()
                .is_some_and(|number| (u64::from(least)..=u64::from(most)).contains(&number)),
        }
    }
}

/// Arguments that were checked against a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// An entity, if this argument is given and names one.
    pub fn entity(&self, name: &str) -> Option<EntityId> {
        EntityId::new(self.text(name)?).ok()
    }

    /// Text, if this argument is given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// All of them, as a JSON object.
    pub fn into_json(self) -> Value {
        Value::Object(self.0)
    }

    /// A whole number, if this argument is given.
    pub fn whole(&self, name: &str) -> Option<u32> {
        u32::try_from(self.0.get(name)?.as_u64()?).ok()
    }
}

impl ToolSpec {
    /// A tool that takes nothing yet.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let (parameters, given) = (Vec::new(), None);
        Self { name: name.into(), description: description.into(), parameters, given }
    }

    /// With a JSON Schema for what it takes, in place of parameters, and a check of arguments against it.
    #[must_use]
    pub fn with_schema(self, schema: Value, check: SchemaCheck) -> Self {
        Self { given: Some(Given { schema: Arc::new(schema), check }), ..self }
    }

    /// With an argument that must be given.
    #[must_use]
    pub fn taking(self, name: &str, kind: ParameterKind, description: &str) -> Self {
        self.with(name, kind, description, true)
    }

    /// With an argument that may be given.
    #[must_use]
    pub fn optionally(self, name: &str, kind: ParameterKind, description: &str) -> Self {
        self.with(name, kind, description, false)
    }

    fn with(mut self, name: &str, kind: ParameterKind, description: &str, required: bool) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        self.parameters.push(Parameter { name, description, kind, required });
        self
    }

    /// Its parameters, as JSON schema.
    pub fn schema(&self) -> Value {
        if let Some(given) = &self.given {
            return (*given.schema).clone();
        }
        let properties: Map<String, Value> = self
            .parameters
            .iter()
            .map(|parameter| {
                let mut schema = parameter.kind.schema();
                schema["description"] = parameter.description.clone().into();
                (parameter.name.clone(), schema)
            })
            .collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|it| it.required).map(|it| it.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Checks arguments, given as the text of a JSON object.
    ///
    /// # Errors
    /// Which argument is wrong, and what the tool wants instead.
    pub fn check(&self, arguments: &str) -> Result<Arguments, String> {
        let name = &self.name;
        let given: Map<String, Value> = serde_json::from_str(arguments)
            .map_err(|error| format!("{name}: the arguments are no JSON object: {error}"))?;
        if let Some(Given { schema, check }) = &self.given {
            let given = Value::Object(given);
            return match (check(schema, &given), given) {
                (Ok(()), Value::Object(given)) => Ok(Arguments(given)),
                (Ok(()), _) => Ok(Arguments::default()),
                (Err(reason), _) => Err(format!("{name}: {reason}")),
            };
        }
        for (key, value) in &given {
            let Some(parameter) = self.parameters.iter().find(|it| it.name == *key) else {
                let key: String = key.chars().take(80).collect();
                return Err(format!("{name}: there is no argument {key:?}"));
            };
            if !parameter.kind.takes(value) {
                let wants = parameter.kind.wants();
                return Err(format!("{name}: {key} must be {wants}"));
            }
        }
        let lacks = self.parameters.iter().find(|it| it.required && !given.contains_key(&it.name));
        match lacks {
            Some(lacks) => {
                Err(format!("{name}: {} is missing; it must be {}", lacks.name, lacks.kind.wants()))
            }
            None => Ok(Arguments(given)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_against_the_tool() {
        let tool = ToolSpec::new("get_context", "Evidence.")
            .taking("entity", ParameterKind::Entity, "Which.")
            .optionally("page", ParameterKind::Whole(1, 20), "Counted from 1.");
        let sound = tool.check(r#"{"entity":"cart","page":2}"#).unwrap();
        assert_eq!((sound.text("entity"), sound.whole("page")), (Some("cart"), Some(2)));
        assert!(tool.check(r#"{"entity":"cart"}"#).is_ok());
        for (arguments, why) in [
            ("[]", "no JSON object"),
            ("{\"entity\":\"cart\"", "no JSON object"),
            ("{}", "entity is missing"),
            (r#"{"entity":""}"#, "entity must be the name of an entity"),
            (r#"{"entity":7}"#, "entity must be the name of an entity"),
            (r#"{"entity":"cart","page":0}"#, "page must be a whole number from 1 to 20"),
            (r#"{"entity":"cart","page":"2"}"#, "page must be a whole number from 1 to 20"),
            (r#"{"entity":"cart","shell":"rm"}"#, "there is no argument \"shell\""),
        ] {
            let error = tool.check(arguments).unwrap_err();
            assert!(error.contains(why) && error.starts_with("get_context: "), "{error}");
        }
        assert_eq!(tool.schema()["required"], json!(["entity"]));
    }
}
