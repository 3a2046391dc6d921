//! In which order a controller looks at what it could look at.

use std::cmp::Reverse;
use std::fmt;

use eog_simulate::Stream;
use serde::Serialize;

/// The order of exploration. Two of them are an oracle's: they know where the causes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exploration {
    /// Alerts by onset, then what the controller does by itself.
    Usual,
    /// The nearest to a cause first: the paper's reordering from symptoms to root causes.
    Favourable,
    /// By chance.
    Random,
    /// The furthest from all causes first.
    Adverse,
}

impl Exploration {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Usual, Self::Favourable, Self::Random, Self::Adverse];

    /// Brings candidates, the usual first, into this order.
    pub(super) fn sort<T>(
        self,
        candidates: &mut Vec<T>,
        distance: impl Fn(&T) -> usize,
        draw: &mut Stream,
    ) {
        match self {
            Self::Usual => {}
            Self::Favourable => candidates.sort_by_key(distance),
            Self::Adverse => candidates.sort_by_key(|candidate| Reverse(distance(candidate))),
            Self::Random => {
                let mut left: Vec<Option<T>> = candidates.drain(..).map(Some).collect();
                let positions = draw.sample(left.len(), left.len());
                candidates
                    .extend(positions.into_iter().filter_map(|position| left[position].take()));
            }
        }
    }
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Usual => "usual",
            Self::Favourable => "favourable",
            Self::Random => "random",
            Self::Adverse => "adverse",
        })
    }
}
