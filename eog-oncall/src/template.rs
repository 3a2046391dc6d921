//! Bodies of messages: JSON as the schema has it, or a template. What is filled in is data: it is escaped
//! for the format, and never read as a template.

use handlebars::Handlebars;
use serde::Deserialize;

use crate::message::{Event, Message};

const SLACK: &str = include_str!("templates/slack.json.hbs");
const MATTERMOST: &str = include_str!("templates/mattermost.json.hbs");
const TEAMS: &str = include_str!("templates/teams.json.hbs");
const PAGERDUTY: &str = include_str!("templates/pagerduty.json.hbs");
const MARKDOWN: &str = include_str!("templates/markdown.md.hbs");

/// Longest body, in bytes.
const MAX_BODY: usize = 256 << 10;

/// A format of bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// The message itself.
    #[default]
    Json,
    /// For Slack and what takes the same: Mattermost, Rocket.Chat, Google Chat in part.
    Slack,
    /// For Mattermost's incoming webhooks.
    Mattermost,
    /// For a workflow of Microsoft Teams that posts what a webhook sends: an adaptive card.
    Teams,
    /// A note on the incident of PagerDuty that the alerts came from.
    PagerDuty,
    /// Text in Markdown.
    Markdown,
}

/// How a message becomes a body.
#[derive(Debug)]
pub(crate) struct Body {
    form: Form,
    template: Option<Handlebars<'static>>,
}

impl Body {
    /// A format, with a template in place of the usual one: its text, and what it is called.
    ///
    /// # Errors
    /// What is wrong with the template. It is tried with a message of each kind.
    pub(crate) fn new(form: Form, own: Option<(&str, &str)>) -> Result<Self, String> {
        let text = match (own, form) {
            (Some((text, _)), _) => Some(text),
            (None, Form::Json) => None,
            (None, Form::Slack) => Some(SLACK),
            (None, Form::Mattermost) => Some(MATTERMOST),
            (None, Form::Teams) => Some(TEAMS),
            (None, Form::PagerDuty) => Some(PAGERDUTY),
            (None, Form::Markdown) => Some(MARKDOWN),
        };
        let place = own.map_or("template", |(_, place)| place);
        let template = text.map(|text| compiled(form, text)).transpose();
        let body = Self { form, template: template.map_err(|error| format!("{place}: {error}"))? };
        for event in Event::ALL {
            let full = Message::sample(event);
            let empty = Message { result: None, problem: None, recovery: None, ..full.clone() };
            for message in [full, empty] {
                body.render(&message).map_err(|error| format!("{place}: {error}"))?;
            }
        }
        Ok(body)
    }

    /// The format.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The media type.
    pub(crate) fn media_type(&self) -> &'static str {
        match self.form {
            Form::Json | Form::Slack | Form::Mattermost | Form::Teams | Form::PagerDuty => {
                "application/json"
            }
            Form::Markdown => "text/markdown; charset=utf-8",
        }
    }

    /// The body for a message.
    ///
    /// # Errors
    /// What is wrong with the template.
    pub(crate) fn render(&self, message: &Message) -> Result<String, String> {
        let text = match &self.template {
            None => serde_json::to_string(message).map_err(|error| error.to_string())?,
            Some(template) => {
                template.render("body", message).map_err(|error| error.to_string())?
            }
        };
        if text.len() > MAX_BODY {
            return Err(format!("the body is longer than {MAX_BODY} bytes"));
        }
        if self.form != Form::Markdown {
            serde_json::from_str::<serde::de::IgnoredAny>(&text)
                .map_err(|error| format!("the body is not valid JSON: {error}"))?;
        }
        Ok(text)
    }
}

fn compiled(form: Form, text: &str) -> Result<Handlebars<'static>, String> {
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(match form {
        Form::Json | Form::PagerDuty => json,
        Form::Mattermost => mattermost,
        Form::Teams => teams,
        Form::Slack => slack,
        Form::Markdown => markdown,
    });
    engine.register_template_string("body", text).map_err(|error| error.to_string())?;
    Ok(engine)
}

/// As it stands within a string of JSON.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// The same, without links and mentions, which Slack writes between `<` and `>`.
fn slack(text: &str) -> String {
    json(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Markdown within a string of JSON, without mentions.
fn mattermost(text: &str) -> String {
    json(&markdown(text).replace('@', "@\u{200b}"))
}

/// Markdown within a string of JSON. Mentions of Teams are entities of a card, never text.
fn teams(text: &str) -> String {
    json(&markdown(text))
}

/// In one line, without markup.
fn markdown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '\n' | '\r' => plain.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => plain.extend(['\\', c]),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message whose texts try to be markup, a template and the end of a string.
    fn hostile() -> Message {
        let mut message = Message::sample(Event::Diagnosed);
        let text = "\"}, <!channel> {{incident.id}} [x](http://evil) <http://evil|ok> @all\n# *";
        message.incident.title = text.to_owned();
        let result = message.result.as_mut().unwrap();
        result.headline = text.to_owned();
        result.causes[0].why = text.to_owned();
        message
    }

    #[test]
    fn what_is_filled_in_is_data_in_every_format() {
        for form in [Form::Slack, Form::Mattermost, Form::Teams, Form::Markdown] {
            let text = Body::new(form, None).unwrap().render(&hostile()).unwrap();
            assert!(text.contains("{{incident.id}}") || text.contains("{{incident.id}}"), "{text}");
            assert!(!text.contains("<!channel>") && !text.contains("<http://evil"), "{text}");
            assert!(form == Form::Slack || !text.contains("[x](http"), "{text}");
            assert!(form != Form::Mattermost || !text.contains("@all"), "{text}");
        }
        let own = Body::new(Form::Json, Some(("{\"a\": \"{{incident.title}}\"}", "t"))).unwrap();
        let read: serde_json::Value =
            serde_json::from_str(&own.render(&hostile()).unwrap()).unwrap();
        assert_eq!(read["a"], hostile().incident.title);
    }

    #[test]
    fn every_format_has_what_would_show_that_a_cause_is_right() {
        let mut message = Message::sample(Event::Diagnosed);
        let sentence = "If db is the cause, restarting or repairing db should end Slow on web";
        message.result.as_mut().unwrap().predictions = vec![sentence.to_owned()];
        let chats = [Form::Slack, Form::Mattermost, Form::Teams, Form::PagerDuty, Form::Markdown];
        for form in chats.into_iter().chain([Form::Json]) {
            let text = Body::new(form, None).unwrap().render(&message).unwrap();
            assert_eq!(text.matches(sentence).count(), 1, "{form:?}: {text}");
        }
    }

    #[test]
    fn templates_that_cannot_work_are_refused_at_once() {
        for (text, expected) in [
            ("{{#if}", "t: "),
            ("{\"a\": {{incident.title}}}", "not valid JSON"),
            ("\"{{incident.titel}}\"", "titel"),
            ("\"{{result.headline}}\"", "result"),
        ] {
            let error = Body::new(Form::Json, Some((text, "t"))).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn built_in_bodies_say_what_matters() {
        let markdown = Body::new(Form::Markdown, None).unwrap();
        for (event, expected) in [
            (Event::Diagnosed, "**text**"),
            (Event::Updated, "after further alerts"),
            (Event::Failed, "Not investigated"),
            (Event::Verified, "Verified"),
            (Event::Withdrawn, "Diagnosis withdrawn"),
            (Event::Resolved, "Resolved"),
        ] {
            let text = markdown.render(&Message::sample(event)).unwrap();
            assert!(text.contains(expected), "{text}");
        }
    }
}
