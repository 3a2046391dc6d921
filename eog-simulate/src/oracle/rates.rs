//! How often the oracle is wrong, and in which ways.

use serde::{Deserialize, Serialize};

use crate::truth::InvalidSpec;

/// How often a [`NoisyOracle`](super::NoisyOracle) is wrong; see [`oracle`](crate::oracle) for the
/// formula.
///
/// ```
/// use eog_simulate::oracle::OracleRates;
/// let rates = OracleRates { wrong: 0.2, shrink: 0.5, ..OracleRates::default() };
/// assert_eq!([rates.at(0), rates.at(1), rates.at(2), rates.at(-1)], [0.2, 0.1, 0.05, 0.4]);
/// assert_eq!(rates.at(9), rates.floor);
/// assert_eq!(OracleRates { wrong: 0.0, ..rates }.at(-3), 0.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OracleRates {
    /// The share of wrong answers with an inbox that says nothing (`e₀`), from 0 to 1.
    pub wrong: f64,
    /// By what a right message multiplies the rate, and a wrong one divides it (`r`): above 0, up to 1.
    pub shrink: f64,
    /// The rate never falls below this, however much the inbox says; `wrong` if that is less.
    pub floor: f64,
    /// The rate never rises above this, however wrong the inbox is; `wrong` if that is more.
    pub ceiling: f64,
    /// Weight of taking an origin for a symptom and the reverse, or a healthy entity for an origin.
    pub swapped: f64,
    /// Weight of taking a failing entity for healthy, and a healthy one for a symptom.
    pub missed: f64,
    /// Weight of not deciding.
    pub deferred: f64,
    /// Whether one draw decides on an entity for good: it is wrong for as long as the rate is above
    /// that draw, whatever else changes in the inbox. Else each inbox is a draw of its own.
    pub stubborn: bool,
}

/// One answer in five is wrong where nobody helps. The rest are assumptions and no measurements:
/// a right message halves the rate; one answer in fifty stays wrong whatever the inbox says, for no
/// model is perfect; misled, it still is right as often as not. Half of the errors swap origin and
/// symptom, which is the trap of the paper's §4.4; the others are shared evenly.
impl Default for OracleRates {
    fn default() -> Self {
        Self {
            wrong: 0.2,
            shrink: 0.5,
            floor: 0.02,
            ceiling: 0.5,
            swapped: 0.5,
            missed: 0.25,
            deferred: 0.25,
            stubborn: false,
        }
    }
}

impl OracleRates {
    /// The defaults with this share of wrong answers where the inbox says nothing.
    pub fn wrong(share: f64) -> Self {
        Self { wrong: share, ..Self::default() }
    }

    /// The rate of errors when `balance` more messages are right than wrong.
    pub fn at(&self, balance: i64) -> f64 {
        let mut rate = self.wrong;
        // Multiplied one by one: the same bits on every machine. Floor and ceiling are met long
        // before the bound.
        for _ in 0..balance.unsigned_abs().min(1_000) {
            rate = if balance > 0 { rate * self.shrink } else { rate / self.shrink };
        }
        rate.max(self.floor.min(self.wrong)).min(self.ceiling.max(self.wrong))
    }

    /// Whether an oracle can work with it.
    ///
    /// # Errors
    /// [`InvalidSpec`] names the first field that makes no sense.
    pub fn check(&self) -> Result<(), InvalidSpec> {
        let invalid = |field, found: f64, expected: &str| {
            Err(InvalidSpec { field, found: found.to_string(), expected: expected.to_owned() })
        };
        for (field, share) in [
            ("wrong", self.wrong),
            ("floor", self.floor),
            ("ceiling", self.ceiling),
            ("swapped", self.swapped),
            ("missed", self.missed),
            ("deferred", self.deferred),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return invalid(field, share, "0 to 1");
            }
        }
        if !(self.shrink > 0.0 && self.shrink <= 1.0) {
            return invalid("shrink", self.shrink, "above 0 and up to 1");
        }
        if self.swapped + self.missed + self.deferred <= 0.0 {
            return invalid("swapped", self.swapped, "above 0, unless another kind of error is");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_keeps_to_floor_and_ceiling() {
        let rates = OracleRates { wrong: 0.3, floor: 0.04, ceiling: 0.7, ..OracleRates::default() };
        let of = |balance| (rates.at(balance) * 1e6).round() / 1e6;
        assert_eq!(
            [of(-3), of(-1), of(0), of(1), of(2), of(3)],
            [0.7, 0.6, 0.3, 0.15, 0.075, 0.04]
        );
        assert_eq!([of(i64::MAX), of(i64::MIN)], [0.04, 0.7]);
        let always = OracleRates { wrong: 0.9, ..OracleRates::default() };
        assert_eq!(always.at(-2), 0.9, "the ceiling is no less than the base");
        let hardly = OracleRates { wrong: 0.01, ..OracleRates::default() };
        assert_eq!(hardly.at(2), 0.01, "the floor is no more than the base");
    }

    #[test]
    fn the_field_that_makes_no_sense_is_named() {
        let good = OracleRates::default();
        for (rates, field) in [
            (OracleRates { wrong: 1.1, ..good.clone() }, "wrong"),
            (OracleRates { floor: f64::NAN, ..good.clone() }, "floor"),
            (OracleRates { shrink: 0.0, ..good.clone() }, "shrink"),
            (OracleRates { swapped: 0.0, missed: 0.0, deferred: 0.0, ..good.clone() }, "swapped"),
        ] {
            assert_eq!(rates.check().expect_err("makes no sense").field, field);
        }
        assert_eq!(good.check(), Ok(()));
    }
}
