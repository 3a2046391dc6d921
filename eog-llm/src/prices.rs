//! What tokens cost.

use eog_prompts::TokenUsage;
use serde::{Deserialize, Serialize};

const MILLION: u128 = 1_000_000;

/// Prices in US dollars per million tokens, as providers publish them.
///
/// ```
/// use eog_llm::Prices;
/// use eog_prompts::TokenUsage;
/// let prices = Prices::new(2.5, Some(0.25), 10.0)?;
/// let usage = TokenUsage { input: 1_000, cached: 600, output: 100, ..TokenUsage::default() };
/// assert_eq!(prices.cost_micro_usd(&usage), 1_000 + 150 + 1_000);
/// # Ok::<(), eog_llm::PriceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PerMillion", into = "PerMillion")]
pub struct Prices {
    /// Millionths of a US dollar per million tokens.
    input: u64,
    cached: u64,
    output: u64,
}

/// An invalid price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the price {name} is {value}: write US dollars per million tokens, from 0 to 1000000")]
pub struct PriceError {
    name: &'static str,
    value: String,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PerMillion {
    input: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached_input: Option<f64>,
    output: f64,
}

impl Prices {
    /// Prices of input tokens, input tokens from the provider's cache (the same as others, if
    /// `None`), and output tokens, which include reasoning.
    ///
    /// # Errors
    /// [`PriceError`] for a price that is negative, too large or not a number.
    pub fn new(input: f64, cached_input: Option<f64>, output: f64) -> Result<Self, PriceError> {
        Self::try_from(PerMillion { input, cached_input, output })
    }

    /// For models that cost nothing, such as local ones.
    pub const FREE: Self = Self { input: 0, cached: 0, output: 0 };

    /// What usage costs, in millionths of a US dollar, rounded up.
    pub fn cost_micro_usd(&self, usage: &TokenUsage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let parts = [
            (usage.input - cached, self.input),
            (cached, self.cached),
            (usage.output, self.output),
        ];
        let sum: u128 = parts.iter().map(|(n, price)| u128::from(*n) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX)
    }

    /// The most that so many tokens can cost. Cached tokens may be more expensive than others.
    pub(crate) fn most_micro_usd(&self, input: u64, output: u64) -> u64 {
        let dearest = Self { input: self.input.max(self.cached), cached: 0, ..*self };
        dearest.cost_micro_usd(&TokenUsage { input, output, ..TokenUsage::default() })
    }
}

impl TryFrom<PerMillion> for Prices {
    type Error = PriceError;
    fn try_from(given: PerMillion) -> Result<Self, PriceError> {
        let input = micro_usd("input", given.input)?;
        let cached = given.cached_input.map_or(Ok(input), |it| micro_usd("cached_input", it))?;
        Ok(Self { input, cached, output: micro_usd("output", given.output)? })
    }
}

impl From<Prices> for PerMillion {
    fn from(prices: Prices) -> Self {
        let usd = |micro: u64| micro as f64 / 1e6;
        Self {
            input: usd(prices.input),
            cached_input: Some(usd(prices.cached)),
            output: usd(prices.output),
        }
    }
}

fn micro_usd(name: &'static str, usd: f64) -> Result<u64, PriceError> {
    if (0.0..=1e6).contains(&usd) {
        return Ok((usd * 1e6).round() as u64);
    }
    Err(PriceError { name, value: usd.to_string() })
}
