//! A proposed explanation, and by what explanations are compared.

use eog_core::{Claim, Decision, EntityId, Label};

/// What one rule makes of a packet: the decision it would be, and how it stands.
#[derive(Clone, Debug)]
pub(super) struct Explanation {
    pub(super) decision: Decision,
    pub(super) standing: Standing,
    /// Why it stands no better, in words.
    pub(super) doubt: Option<String>,
    /// The part of the harm that it accounts for, where that was measured, 0 to 1.
    pub(super) share: Option<f64>,
}

/// How an explanation agrees with what is known of time, and with what people said; from worst to
/// best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Contradicted: the effect was there before its cause, or is measured to have come long after it, a person says
    /// otherwise, it accounts for too little, or it was a mere change while something else is seen to fail by itself.
    Refuted,
    /// It says only that nothing explains the entity.
    Unexplained,
    /// Not contradicted, but something else is needed to believe it: its cause lies long before the
    /// harm, or the trouble had already begun upstream.
    Doubtful,
    /// Nothing speaks against it.
    Possible,
    /// A person says so.
    Stated,
}

impl Explanation {
    fn new(decision: Decision, standing: Standing) -> Self {
        Self { decision, standing, doubt: None, share: None }
    }

    /// What nothing speaks against so far, if the rule applies.
    pub(super) fn possible(decision: Option<Decision>) -> Vec<Self> {
        decision.map(|decision| Self::new(decision, Standing::Possible)).into_iter().collect()
    }

    /// The same, with the part of the harm that it accounts for.
    pub(super) fn sharing(decision: Option<Decision>, share: Option<f64>) -> Vec<Self> {
        let all = Self::possible(decision).into_iter();
        all.map(|explanation| Self { share, ..explanation }).collect()
    }

    /// What explains nothing, if the rule applies.
    pub(super) fn unexplained(decision: Option<Decision>) -> Vec<Self> {
        decision.map(|decision| Self::new(decision, Standing::Unexplained)).into_iter().collect()
    }

    /// What a person says.
    pub(super) fn stated(decision: Option<Decision>) -> Vec<Self> {
        decision.map(|decision| Self::new(decision, Standing::Stated)).into_iter().collect()
    }

    /// Lowers the standing to at most this, with the reason.
    pub(super) fn lower(&mut self, to: Standing, doubt: impl Into<String>) {
        if to < self.standing {
            self.standing = to;
            self.doubt = Some(doubt.into());
        }
    }

    /// Who explains the entity: itself, or others by claim.
    pub(super) fn causes<'a>(&'a self, entity: &'a EntityId) -> Vec<&'a EntityId> {
        if self.decision.label == Label::Origin {
            return vec![entity];
        }
        self.claims_on(entity).map(|claim| &claim.cause).collect()
    }

    /// The claims of which the entity is the effect.
    pub(super) fn claims_on<'a>(&'a self, entity: &'a EntityId) -> impl Iterator<Item = &'a Claim> {
        self.decision.claims.iter().filter(move |claim| claim.effect == *entity)
    }
}
