//! Where two runs part.

use eog::travel::{Parting, diff as difference};
use eog_report::brief;

use crate::controllers::{AnyLedger, ControllerName, Investigator};

/// How two ledgers compare, whichever controller wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compared {
    /// Settings in which they differ.
    pub settings: Vec<eog::travel::ChangedSetting>,
    /// Whether the cases (topology, window, alerts, seeds) differ.
    pub other_case: bool,
    /// Where their courses part.
    pub parting: Parted,
    /// Whether the ledgers are equal.
    pub equal: bool,
}

/// Two ledgers that cannot be compared entry by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the controllers {first} and {second} wrote these ledgers, whose entries do not compare; \
         what each concluded can be read by itself"
)]
pub struct OtherControllers {
    /// The controller that wrote the first.
    pub first: ControllerName,
    /// The controller that wrote the second.
    pub second: ControllerName,
}

/// Where the courses of two runs part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parted {
    /// Nowhere.
    Never,
    /// One ends where the other goes on.
    OneGoesOn {
        /// How many entries they share.
        shared: u64,
        /// Whether it is the first.
        first: bool,
    },
    /// At an entry.
    At {
        /// Its number.
        seq: u64,
        /// What it records in the first ledger, in a few words.
        first: String,
        /// What it records in the second.
        second: String,
    },
}

impl Parted {
    /// The number of the first entry that one has and the other has not.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::OneGoesOn { shared: seq, .. } | Self::At { seq, .. } => Some(*seq),
        }
    }
}

/// Compares two ledgers of one controller: their inputs, then entry by entry what happened.
///
/// # Errors
/// [`OtherControllers`] when different controllers wrote them.
pub fn diff(first: &AnyLedger, second: &AnyLedger) -> Result<Compared, OtherControllers> {
    match (first, second) {
        (AnyLedger::Eog(first), AnyLedger::Eog(second)) => {
            Ok(compared::<eog::Controller>(first, second))
        }
        (AnyLedger::Linear(first), AnyLedger::Linear(second)) => {
            Ok(compared::<eog::Linear>(first, second))
        }
        (AnyLedger::Search(first), AnyLedger::Search(second)) => {
            Ok(compared::<eog_search::SearchController>(first, second))
        }
        (first, second) => {
            let (wanted, given) = (first.controller(), second.controller());
            Err(OtherControllers { first: wanted, second: given })
        }
    }
}

fn compared<M: Investigator>(
    first: &eog::Ledger<M::Body>,
    second: &eog::Ledger<M::Body>,
) -> Compared {
    let difference = difference(first, second);
    Compared {
        equal: difference.is_none(),
        other_case: difference.other_case,
        parting: match difference.parting {
            Parting::Never => Parted::Never,
            Parting::OneGoesOn { shared, first } => Parted::OneGoesOn { shared, first },
            Parting::At { first, second } => {
                Parted::At { seq: first.seq, first: brief(&first), second: brief(&second) }
            }
        },
        settings: difference.settings,
    }
}
