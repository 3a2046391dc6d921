//! What kind of incident is generated.

use serde::{Deserialize, Serialize};

use crate::random::RandomSeed;

/// Most entities in one generated incident.
pub const MAX_ENTITIES: usize = 1_000_000;

/// Most dependencies of one entity, on average.
const MAX_DEPENDENCIES: f64 = 1_000.0;

/// What kind of incident [`TruthGraph::generate`](crate::truth::TruthGraph::generate) makes.
///
/// ```
/// use eog_simulate::truth::{Shape, TruthSpec};
/// let spec = TruthSpec { shape: Shape::Chain, entities: 10, ..TruthSpec::default() };
/// assert!(spec.check().is_ok());
/// assert!(TruthSpec { propagation: 1.5, ..spec }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthSpec {
    /// How many entities there are, from 1 to [`MAX_ENTITIES`].
    pub entities: usize,
    /// The shape of the calls.
    pub shape: Shape,
    /// How many others an entity calls on average, up to 1,000, as far as there are so many.
    /// A chain has one call each; of a wide graph, this is about the middle.
    pub dependencies: f64,
    /// How many entities fail for their own reason.
    pub origins: usize,
    /// The probability that a failing entity strikes a caller.
    pub propagation: f64,
    /// The share of all entities but the origins that show a harmless change.
    pub decoys: f64,
    /// The share of affected entities that also blame a healthy callee, if they have one.
    pub misleading: f64,
    /// The share of the true call edges that the declared topology lacks.
    pub undeclared: f64,
    /// How many entities an alert fires on: at most one alert each, and only on origins and what
    /// they affect, so there may be fewer.
    pub alerts: usize,
}

/// The shape of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Layers, as of frontends, services and stores: most calls go to the next layer, some deeper.
    /// Without cycles.
    Layered,
    /// Any service calls any other. With cycles.
    Random,
    /// Each calls the next one.
    Chain,
    /// One front calls everybody in a wide middle, and these call a few shared stores.
    Wide,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Layered, Self::Random, Self::Chain, Self::Wide];
}

impl Default for TruthSpec {
    fn default() -> Self {
        Self {
            entities: 30,
            shape: Shape::Layered,
            dependencies: 2.0,
            origins: 1,
            propagation: 0.8,
            decoys: 0.1,
            misleading: 0.1,
            undeclared: 0.1,
            alerts: 3,
        }
    }
}

/// A value of a [`TruthSpec`] that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}, but must be {expected}")]
pub struct InvalidSpec {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// What it may be.
    pub expected: String,
}

impl TruthSpec {
    /// A spec of this many entities with everything else drawn: shapes mixed evenly, 1 to 3
    /// origins, 1 to 5 alerts, 1 to 3 dependencies, most effects passed on, and up to a fifth of
    /// decoys, misleading blame and undeclared edges. At least one entity.
    pub fn drawn(entities: usize, seed: impl Into<RandomSeed>) -> Self {
        let mut draw = seed.into().stream("spec");
        let entities = entities.max(1);
        Self {
            entities,
            shape: *draw.pick(&Shape::ALL).unwrap_or(&Shape::Layered),
            dependencies: 1.0 + 2.0 * draw.share(),
            origins: (1 + draw.position(3)).min(entities),
            propagation: 0.6 + 0.4 * draw.share(),
            decoys: 0.2 * draw.share(),
            misleading: 0.2 * draw.share(),
            undeclared: 0.2 * draw.share(),
            alerts: 1 + draw.position(5),
        }
    }

    /// Whether an incident can be made of it.
    ///
    /// # Errors
    /// [`InvalidSpec`] names the first field that makes no sense.
    pub fn check(&self) -> Result<(), InvalidSpec> {
        let invalid = |field, found: &dyn ToString, expected: String| {
            Err(InvalidSpec { field, found: found.to_string(), expected })
        };
        if !(1..=MAX_ENTITIES).contains(&self.entities) {
            return invalid("entities", &self.entities, format!("1 to {MAX_ENTITIES}"));
        }
        if self.origins > self.entities {
            let expected = format!("at most {}, the number of entities", self.entities);
            return invalid("origins", &self.origins, expected);
        }
        if !(0.0..=MAX_DEPENDENCIES).contains(&self.dependencies) {
            let expected = format!("0 to {MAX_DEPENDENCIES}");
            return invalid("dependencies", &self.dependencies, expected);
        }
        for (field, share) in [
            ("propagation", self.propagation),
            ("decoys", self.decoys),
            ("misleading", self.misleading),
            ("undeclared", self.undeclared),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return invalid(field, &share, "0 to 1".to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_that_makes_no_sense_is_named() {
        let good = TruthSpec::default();
        for (spec, said) in [
            (TruthSpec { entities: 0, ..good.clone() }, "entities is 0, but must"),
            (TruthSpec { entities: 1_000_001, ..good.clone() }, "entities is 1000"),
            (
                TruthSpec { origins: 31, ..good.clone() },
                "origins is 31, but must be at most 30, the number of entities",
            ),
            (TruthSpec { dependencies: f64::NAN, ..good.clone() }, "dependencies"),
            (TruthSpec { dependencies: 1e9, ..good.clone() }, "must be 0 to 1000"),
            (TruthSpec { propagation: 1.1, ..good.clone() }, "propagation is 1.1"),
            (TruthSpec { decoys: -0.1, ..good.clone() }, "decoys is -0.1, but"),
            (TruthSpec { misleading: 2.0, ..good.clone() }, "misleading is 2"),
            (TruthSpec { undeclared: f64::NAN, ..good.clone() }, "must be 0 to 1"),
        ] {
            let error = spec.check().expect_err("makes no sense").to_string();
            assert!(error.contains(said), "{error} should say {said}");
        }
        assert_eq!(good.check(), Ok(()));
    }

    #[test]
    fn drawn_specs_make_sense_and_mix_the_shapes() {
        let mut counts = [0; 4];
        for seed in 0..400 {
            let spec = TruthSpec::drawn(usize::try_from(seed % 70).expect("is small"), seed);
            assert_eq!(spec.check(), Ok(()));
            counts[spec.shape as usize] += 1;
        }
        assert!(counts.iter().all(|count| (70..130).contains(count)), "{counts:?}");
    }
}
