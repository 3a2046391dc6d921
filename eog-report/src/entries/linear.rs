//! What the entries of the linear loop record, in words.

use eog_core::EntityId;
use eog_core::linear::{LinearBody, LinearStep};

use super::{Described, answered, joined, named, some};

impl Described for LinearBody {
    fn described(&self) -> String {
        match self {
            Self::Stepped(step) => stepped(step),
            _ => "an entry of an unknown kind".to_owned(),
        }
    }
}

fn stepped(step: &LinearStep) -> String {
    let LinearStep { entity, answer, belief, forgotten, .. } = step;
    let line = format!("{}{}", named(entity, belief.label), answered(answer));
    let names: Vec<&str> = forgotten.iter().map(EntityId::as_str).collect();
    let forgets = (!names.is_empty()).then(|| format!("forgets {}", some(&names)));
    joined(line, forgets.into_iter().collect())
}
