//! What investigations asked of models.

use std::fmt;

use eog::Usage;
use serde::Serialize;

/// What investigations by a model cost: medians over all runs, and the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelUsage {
    /// Investigations.
    pub runs: usize,
    /// Requests to models, in the median.
    pub requests: u64,
    /// Tokens read and written, in the median.
    pub tokens: u64,
    /// The cost of all together, in millionths of a US dollar, where prices are known.
    pub cost_micro_usd: u64,
}

impl ModelUsage {
    /// Nothing where no model was asked.
    pub fn of(usage: impl IntoIterator<Item = Usage>) -> Option<Self> {
        let all: Vec<Usage> = usage.into_iter().collect();
        let tokens = |one: &Usage| one.tokens_in.saturating_add(one.tokens_out);
        all.iter().any(|one| one.model_calls > 0).then(|| Self {
            runs: all.len(),
            requests: median(all.iter().map(|one| one.model_calls)),
            tokens: median(all.iter().map(tokens)),
            cost_micro_usd: all.iter().map(|one| one.cost_micro_usd).sum(),
        })
    }
}

/// The lower one of two in the middle.
fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

impl fmt::Display for ModelUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, tokens, runs, .. } = self;
        write!(f, "models: median {requests} requests, {tokens} tokens; {runs} investigations")?;
        if self.cost_micro_usd > 0 {
            write!(f, " cost {:.2} US dollars", self.cost_micro_usd as f64 / 1e6)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_over_investigations_and_costs_are_added() {
        let usage = |model_calls, tokens_in, cost_micro_usd| Usage {
            model_calls,
            tokens_in,
            tokens_out: 10,
            cost_micro_usd,
        };
        assert_eq!(ModelUsage::of([usage(0, 0, 0)]), None);
        let all = ModelUsage::of([usage(8, 900, 10_000), usage(3, 100, 0), usage(4, 300, 20_000)]);
        let expected = ModelUsage { runs: 3, requests: 4, tokens: 310, cost_micro_usd: 30_000 };
        assert_eq!(all, Some(expected));
        let shown = expected.to_string();
        assert_eq!(
            shown,
            "models: median 4 requests, 310 tokens; 3 investigations cost 0.03 US dollars"
        );
    }
}
