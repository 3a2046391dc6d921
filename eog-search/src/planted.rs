//! Planted defects, to prove that the properties find them. Compiled in by the feature
//! `planted-faults` alone, and inactive even then until a test plants one on its own thread.

use std::cell::Cell;

thread_local! {
    static PLANTED: Cell<Option<PlantedFault>> = const { Cell::new(None) };
}

/// A defect that can be planted. The first few are those of public implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// The sum of rewards is divided by the visits at backup, and again at selection.
    DividesTwice,
    /// What is under way does not count as a visit.
    ForgetsVirtualLoss,
    /// What is answered first is committed first.
    Overtakes,
    /// Selection stops at the first child instead of descending.
    NoDescent,
    /// Of a plan, what is sound is applied, and the rest is not.
    HalfApplied,
    /// A score that cannot be read counts as 500.
    UnreadableIsHalf,
    /// The best of a level is cut, and the others survive.
    BeamKeepsWorst,
    /// A level is expanded although one above it waits.
    SkipsLevels,
    /// The second answer to a ticket is taken, too.
    TakesTwice,
    /// A trajectory that answers is closed before it has its reward.
    ClosesUnrewarded,
    /// Exploration counts double.
    ExploresTwice,
    /// What a node expected of its task counts before the node ran.
    PriorCounts,
    /// Selection among hypotheses uses scores alone.
    NeverExplores,
    /// Selection among hypotheses sees no score but that of the parent.
    IgnoresBelow,
    /// A specialist's calls are counted one too few.
    CountsLate,
    /// A lane sees what lanes beside it recorded meanwhile.
    SharesLanes,
    /// A finding is recorded although no answer of the lane holds it.
    QuotesOthers,
    /// Hypotheses keep their first score.
    KeepsScores,
    /// A hypothesis is expanded with the very score that is too low.
    ExpandsAtGate,
    /// A path must go back one selection too late.
    ReturnsLate,
    /// A goal starts although what it needs is not complete.
    IgnoresNeeds,
    /// A ratio that rose is progress without new evidence.
    RatioAlone,
    /// A path goes back to the same node again and again.
    ReturnsForEver,
    /// A path may go back one selection too early.
    ReturnsEarly,
    /// A fact may have values that its finding does not hold.
    TakesAnyValue,
    /// What is to be remembered of a path is kept at another one.
    RemembersElsewhere,
    /// A step of a chain's plan may be settled again.
    SettlesTwice,
    /// A chain may name causes that were not evaluated.
    NamesUnseen,
    /// A chain goes on after it was asked to conclude.
    GoesOn,
    /// A chain sums up its newest step, too.
    ForgetsNewest,
    /// What a chain summed up comes back.
    ShowsAgain,
    /// A chain's summary may have any length.
    KeepsLongSummaries,
}

/// The thread has the defect until this is dropped.
#[derive(Debug)]
#[must_use = "the defect is gone when this is dropped"]
pub struct Planted(());

/// Plants a defect on this thread.
pub fn plant(fault: PlantedFault) -> Planted {
    PLANTED.set(Some(fault));
    Planted(())
}

/// Whether this defect is planted on this thread.
pub fn is_planted(fault: PlantedFault) -> bool {
    PLANTED.get() == Some(fault)
}

impl Drop for Planted {
    fn drop(&mut self) {
        PLANTED.set(None);
    }
}
