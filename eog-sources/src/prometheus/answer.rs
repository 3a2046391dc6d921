//! Reads answers of Prometheus' HTTP interface, bounded, and as far as they go where they were cut off.

use std::collections::BTreeMap;
use std::fmt;

use eog_evidence::mask_named;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};

use crate::error::AskError;
use crate::http::Answer;
use crate::piece::Millis;

/// One series of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Raw {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) points: Vec<(Millis, f64)>,
}

impl Raw {
    /// The value of a label; empty where there is none.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// The series of one answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matrix {
    /// At most as many as were asked for, in the order of their labels, as Prometheus gives them.
    pub(super) series: Vec<Raw>,
    /// How many more there were.
    pub(super) left_out: usize,
    /// What the server says about the answer, such as that a part of it is missing.
    pub(super) warnings: Vec<String>,
    /// Whether it was cut off at the bound of bytes.
    pub(super) is_cut: bool,
    status: String,
    error: String,
}

/// Reads the answer to a query: a matrix or a vector.
pub(super) fn matrix(answer: &Answer, max_series: usize) -> Result<Matrix, AskError> {
    let mut found = Matrix { is_cut: answer.is_cut, ..Matrix::default() };
    let mut reader = serde_json::Deserializer::from_slice(&answer.body);
    let read = Part::Whole(&mut found, max_series).deserialize(&mut reader);
    if let Err(error) = read
        && !answer.is_cut
    {
        return Err(AskError::Answer(error.to_string()));
    }
    if found.status == "error" {
        return Err(AskError::Answer(found.error));
    }
    Ok(found)
}

/// Reads a list of names.
pub(super) fn names(answer: &Answer) -> Result<Vec<String>, AskError> {
    #[derive(Deserialize)]
    struct Names {
        data: Vec<String>,
    }
    let whole = answer.whole("the list of names is longer than max_bytes")?;
    Ok(whole.json::<Names>()?.data)
}

/// A part of an answer, which is taken in as it comes, with how many series are.
enum Part<'a> {
    Whole(&'a mut Matrix, usize),
    Data(&'a mut Matrix, usize),
    Series(&'a mut Matrix, usize),
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self {
            Self::Whole(..) => from.deserialize_map(self),
            Self::Data(..) => from.deserialize_any(self),
            Self::Series(..) => from.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole(..) => "an answer of Prometheus",
            Self::Data(..) => "the data of an answer",
            Self::Series(..) => "a list of series",
        })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self {
            Self::Data(..) => Ok(()),
            other => Err(E::invalid_type(Unexpected::Unit, &other)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match (&mut self, key.as_str()) {
                (Self::Whole(into, _), "status") => into.status = map.next_value()?,
                (Self::Whole(into, _), "error") => into.error = map.next_value()?,
                (Self::Whole(into, _), "warnings") => {
                    let warnings: Option<Vec<String>> = map.next_value()?;
                    into.warnings.extend(warnings.unwrap_or_default());
                }
                (Self::Whole(into, max), "data") => map.next_value_seed(Part::Data(into, *max))?,
                (Self::Data(..), "resultType") => {
                    let kind: String = map.next_value()?;
                    if !matches!(kind.as_str(), "matrix" | "vector") {
                        let reason = format!("it gives a {kind} where series are needed");
                        return Err(A::Error::custom(reason));
                    }
                }
                (Self::Data(into, max), "result") => {
                    map.next_value_seed(Part::Series(into, *max))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self::Series(into, max) = self else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        while into.series.len() < max {
            let Some(one) = list.next_element::<One>()? else { return Ok(()) };
            into.series.push(one.into());
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            into.left_out += 1;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct One {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
    value: Option<(f64, String)>,
}

impl From<One> for Raw {
    fn from(one: One) -> Self {
        let mut labels = one.metric;
        for (name, value) in &mut labels {
            let masked = mask_named(name, value);
            if *value != masked {
                *value = masked;
            }
        }
        let points = one.values.into_iter().chain(one.value);
        let points = points.filter_map(|(at, value)| {
            let value: f64 = value.parse().ok()?;
            // NaN and infinity stand where there was nothing to divide by.
            let at = (0.0..1e12).contains(&at).then(|| (at * 1000.0).round() as Millis)?;
            value.is_finite().then_some((at, value))
        });
        Self { labels, points: points.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        Answer { body: text.as_bytes().to_vec(), is_cut: false }
    }

    const TWO: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"job":"a"},"values":[[1,"1"],[2.5,"NaN"],[3,"+Inf"],[4,"2"]]},
        {"metric":{"job":"b","password":"hunter2"},"values":[[1,"7"]]}]},"warnings":["store x is away"]}"#;

    #[test]
    fn series_are_read_masked_and_bounded() {
        let all = matrix(&answer(TWO), 10).unwrap();
        assert_eq!(all.series.len(), 2);
        assert_eq!(all.series[0].points, [(1000, 1.0), (4000, 2.0)]);
        assert_eq!(all.series[1].label("password"), "[masked]");
        assert_eq!(all.warnings, ["store x is away"]);
        let one = matrix(&answer(TWO), 1).unwrap();
        assert_eq!((one.series.len(), one.left_out), (1, 1));
    }

    #[test]
    fn what_was_cut_off_gives_its_whole_series_wherever_the_cut_is() {
        for end in 0..TWO.len() {
            let cut = Answer { body: TWO.as_bytes()[..end].to_vec(), is_cut: true };
            let found = matrix(&cut, 10).expect("a cut answer is no error");
            assert!(found.is_cut && found.series.len() <= 2);
            let whole = matrix(&answer(TWO), 10).unwrap();
            assert_eq!(found.series[..], whole.series[..found.series.len()]);
        }
    }

    #[test]
    fn errors_and_nonsense_are_reported() {
        let error = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert!(matrix(&answer(error), 1).unwrap_err().to_string().contains("parse error"));
        let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}"#;
        assert!(matrix(&answer(scalar), 1).unwrap_err().to_string().contains("scalar"));
        assert!(matrix(&answer("<html>"), 1).is_err());
    }
}
