//! Making a differing run smaller: as few varied factors as possible, and as few displaced seeds.

use std::collections::BTreeSet;

use eog_core::machine::Responder;
use eog_core::{Digest, Machine};

use super::compare::{disagreements, parting};
use super::report::{DelaysAlone, Pair, Shrinking, Side, StressOutcome};
use super::setting::{Factor, Plan, Reorder, Setting};
use super::{Lab, StressProgress};
use crate::engine::Finished;

/// The search for the smallest setting whose outcome differs from the baseline's.
pub(super) struct Search<M> {
    baseline: Setting,
    outcome: StressOutcome,
    /// Runs that differ, as they were drawn.
    differing: Vec<(u32, Setting)>,
    smallest: Option<Smallest<M>>,
    /// Settings whose outcome is that of the baseline.
    agreeing: BTreeSet<Digest>,
    /// Settings whose outcome is another.
    others: BTreeSet<Digest>,
    runs: u32,
    at_most: u32,
    gave_up: bool,
}

struct Smallest<M> {
    size: Size,
    run: u32,
    setting: Setting,
    finished: Finished<M>,
}

/// What makes a setting small: few factors, few displaced seeds, not far displaced, a short
/// ledger. Of single factors the swap of two seeds comes first, since nothing is easier to
/// understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    factors: usize,
    is_no_swap: bool,
    displaced: usize,
    shift: usize,
    entries: u64,
}

/// No more runs are allowed.
struct Ended;

impl<M: Machine<Settings: Reorder>> Search<M> {
    pub(super) fn new(plan: &Plan<M::Settings>, baseline: &Finished<M>, at_most: u32) -> Self {
        Self {
            baseline: plan.baseline(),
            outcome: StressOutcome::of(&baseline.conclusion()),
            differing: Vec::new(),
            smallest: None,
            agreeing: BTreeSet::new(),
            others: BTreeSet::new(),
            runs: 0,
            at_most,
            gave_up: false,
        }
    }

    /// Records the outcome of a drawn run.
    pub(super) fn found(&mut self, run: u32, setting: Setting, ran: Finished<M>) {
        if self.judge(run, &setting, ran) {
            self.differing.push((run, setting));
        }
    }

    /// Whether a run differs from the baseline. The smallest that does is kept.
    fn judge(&mut self, run: u32, setting: &Setting, ran: Finished<M>) -> bool {
        if StressOutcome::of(&ran.conclusion()) == self.outcome {
            self.agreeing.insert(Digest::of(setting));
            return false;
        }
        self.others.insert(Digest::of(setting));
        let size = self.size(setting, ran.ledger().next_seq());
        if self.smallest.as_ref().is_none_or(|smallest| size < smallest.size) {
            self.smallest = Some(Smallest { size, run, setting: setting.clone(), finished: ran });
        }
        true
    }

    fn size(&self, setting: &Setting, entries: u64) -> Size {
        let factors = setting.factors(&self.baseline);
        let displaced = setting.displaced().len();
        let is_no_swap = factors != [Factor::Seeds] || displaced != 2;
        let shift = setting.shift();
        Size { factors: factors.len(), is_no_swap, displaced, shift, entries }
    }

    /// Makes every differing run smaller, the smallest first, as far as the allowed runs reach.
    pub(super) async fn shrink<R: Responder<M::Question>>(
        &mut self,
        lab: &mut Lab<'_, M, R>,
        delays: &mut DelaysAlone,
    ) {
        let mut differing = std::mem::take(&mut self.differing);
        differing.sort_by_key(|(_, setting)| self.size(setting, 0));
        for (run, setting) in differing {
            if self.shrink_one(lab, delays, run, &setting).await.is_err() {
                return;
            }
        }
    }

    async fn shrink_one<R: Responder<M::Question>>(
        &mut self,
        lab: &mut Lab<'_, M, R>,
        delays: &mut DelaysAlone,
        run: u32,
        setting: &Setting,
    ) -> Result<(), Ended> {
        let at_once = setting.only(&Factor::OF_ORDER, &self.baseline);
        if !self.differs(lab, run, &at_once).await? {
            delays.hangs_on_delays(run);
            return Ok(());
        }
        for mut less in self.fewest_factors(lab, run, &at_once).await? {
            loop {
                let mut plainer = None;
                for candidate in lab.plan.plainer(&less) {
                    if self.differs(lab, run, &candidate).await? {
                        plainer = Some(candidate);
                        break;
                    }
                }
                match plainer {
                    Some(plainer) => less = plainer,
                    None => break,
                }
            }
            self.fewest_seeds(lab, run, less).await?;
        }
        Ok(())
    }

    /// The setting with as few of its factors as possible: all choices of that many that differ.
    async fn fewest_factors<R: Responder<M::Question>>(
        &mut self,
        lab: &mut Lab<'_, M, R>,
        run: u32,
        setting: &Setting,
    ) -> Result<Vec<Setting>, Ended> {
        let varied = setting.factors(&self.baseline);
        for size in 1..varied.len() {
            let mut differing = Vec::new();
            for chosen in choices(&varied, size) {
                let less = setting.only(&chosen, &self.baseline);
                if self.differs(lab, run, &less).await? {
                    differing.push(less);
                }
            }
            if !differing.is_empty() {
                return Ok(differing);
            }
        }
        Ok(vec![setting.clone()])
    }

    /// Puts seeds back to their places, in ever smaller parts, while the outcome still differs.
    async fn fewest_seeds<R: Responder<M::Question>>(
        &mut self,
        lab: &mut Lab<'_, M, R>,
        run: u32,
        setting: Setting,
    ) -> Result<(), Ended> {
        let mut less = setting;
        let mut part = less.displaced().len() / 2;
        while part > 0 {
            let mut is_smaller = false;
            for places in less.displaced().chunks(part) {
                let restored = less.restored(places);
                if self.differs(lab, run, &restored).await? {
                    is_smaller |= restored != less;
                    less = restored;
                }
            }
            if !is_smaller {
                part /= 2;
            }
        }
        // A swap may do where no single place can be put right, and a nearer one where one does.
        let displaced = less.displaced();
        let places: Vec<usize> = match displaced[..] {
            [] => return Ok(()),
            [one, other] => (one..=other).collect(),
            _ => displaced,
        };
        for (one, other) in pairs(&places) {
            let mut swap = Setting { seeds: self.baseline.seeds.clone(), ..less.clone() };
            swap.seeds.swap(one, other);
            if self.differs(lab, run, &swap).await? {
                break;
            }
        }
        Ok(())
    }

    /// Whether the outcome of a setting differs from the baseline's. Runs it unless that is known.
    async fn differs<R: Responder<M::Question>>(
        &mut self,
        lab: &mut Lab<'_, M, R>,
        run: u32,
        setting: &Setting,
    ) -> Result<bool, Ended> {
        let digest = Digest::of(setting);
        if *setting == self.baseline || self.agreeing.contains(&digest) {
            return Ok(false);
        }
        if self.others.contains(&digest) {
            return Ok(true);
        }
        if self.runs == self.at_most {
            self.gave_up = true;
            return Err(Ended);
        }
        self.runs += 1;
        lab.report(StressProgress::Shrinking { number: self.runs, at_most: self.at_most });
        let ran = lab.run(setting).await.ok_or(Ended)?;
        Ok(self.judge(run, setting, ran))
    }

    pub(super) fn effort(&self) -> Shrinking {
        Shrinking { runs: self.runs, at_most: self.at_most, gave_up: self.gave_up }
    }

    pub(super) fn into_pair(
        self,
        plan: &Plan<M::Settings>,
        baseline: &Finished<M>,
    ) -> Option<Pair<M::Body>> {
        let Smallest { run, setting, finished, .. } = self.smallest?;
        Some(Pair {
            run,
            factors: setting.factors(&self.baseline),
            parting: parting(baseline.ledger(), finished.ledger()),
            entities: disagreements(baseline, &finished),
            differing: Side::new(plan, setting, &finished),
        })
    }
}

/// All pairs of places, nearest first.
fn pairs(places: &[usize]) -> Vec<(usize, usize)> {
    let with =
        |one: usize| places.iter().filter(move |&&two| two > one).map(move |&two| (one, two));
    let mut pairs: Vec<_> = places.iter().flat_map(|&one| with(one)).collect();
    pairs.sort_by_key(|&(one, other)| (other - one, one));
    pairs
}

/// All choices of so many of these, in their order.
fn choices(factors: &[Factor], size: usize) -> Vec<Vec<Factor>> {
    let all = 0..1_u32 << factors.len();
    let mut chosen: Vec<Vec<Factor>> = all
        .filter(|bits| bits.count_ones() as usize == size)
        .map(|bits| {
            let with = |position: &usize| bits >> position & 1 == 1;
            (0..factors.len()).filter(with).map(|position| factors[position]).collect()
        })
        .collect();
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::Factor::{Order, Seeds, Width};
    use super::{choices, pairs};

    #[test]
    fn choices_are_complete_and_in_order() {
        let all = [Seeds, Width, Order];
        assert_eq!(choices(&all, 1), [[Seeds], [Width], [Order]]);
        assert_eq!(choices(&all, 2), [[Seeds, Width], [Seeds, Order], [Width, Order]]);
    }

    #[test]
    fn nearest_pairs_come_first() {
        assert_eq!(pairs(&[1, 2, 5]), [(1, 2), (2, 5), (1, 5)]);
    }
}
