//! What a run varies, and how the variations are drawn.

use std::time::Duration;

use eog_core::controller::{Concurrency, Order};
use eog_core::{Case, Config};
use serde::Serialize;

use super::Stress;
use super::draw::Draw;

/// Settings of a machine that has an order to vary.
pub trait Reorder: Clone {
    /// The order of the queue.
    fn order(&self) -> Order;

    /// How much may be under way at once.
    fn concurrency(&self) -> Concurrency;

    /// The same settings with another order and width.
    #[must_use]
    fn reordered(&self, order: Order, concurrency: Concurrency) -> Self;
}

impl Reorder for Config {
    fn order(&self) -> Order {
        self.order
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    fn reordered(&self, order: Order, concurrency: Concurrency) -> Self {
        Self { order, concurrency, ..self.clone() }
    }
}

/// Everything in which a run may differ from the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The seeds in the order they are queued, as positions in the case.
    pub seeds: Vec<usize>,
    /// The order of the active set.
    pub order: Order,
    /// How many evaluations may be under way.
    pub concurrency: Concurrency,
    /// The seed of the injected delays; `None` without delays.
    pub delays: Option<u64>,
}

/// One way to differ from the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// The order of the seeds.
    Seeds,
    /// The width.
    Width,
    /// The order of the active set.
    Order,
    /// Injected delays.
    Delays,
}

impl Factor {
    /// All, without the delays.
    pub(super) const OF_ORDER: [Self; 3] = [Self::Seeds, Self::Width, Self::Order];
}

impl Setting {
    /// The differences to another setting.
    pub fn factors(&self, baseline: &Self) -> Vec<Factor> {
        let differs = |factor: &Factor| match factor {
            Factor::Seeds => self.seeds != baseline.seeds,
            Factor::Width => self.concurrency != baseline.concurrency,
            Factor::Order => self.order != baseline.order,
            Factor::Delays => self.delays != baseline.delays,
        };
        let all = Factor::OF_ORDER.into_iter().chain([Factor::Delays]);
        all.filter(differs).collect()
    }

    /// The places of the seed order at which another seed stands than in the case.
    pub fn displaced(&self) -> Vec<usize> {
        (0..self.seeds.len()).filter(|&place| self.seeds[place] != place).collect()
    }

    /// How far seeds stand from their places, all together.
    pub(super) fn shift(&self) -> usize {
        self.seeds.iter().enumerate().map(|(place, &seed)| place.abs_diff(seed)).sum()
    }

    /// The same in these factors, and as the baseline in all others.
    pub(super) fn only(&self, factors: &[Factor], baseline: &Self) -> Self {
        let keeps = |factor| factors.contains(&factor);
        let from = |factor| if keeps(factor) { self } else { baseline };
        Self {
            seeds: from(Factor::Seeds).seeds.clone(),
            order: from(Factor::Order).order,
            concurrency: from(Factor::Width).concurrency,
            delays: from(Factor::Delays).delays,
        }
    }

    /// With the right seed at each of these places; what stood there goes where that one was.
    pub(super) fn restored(&self, places: &[usize]) -> Self {
        let mut restored = self.clone();
        for &place in places {
            if let Some(at) = restored.seeds.iter().position(|&seed| seed == place) {
                restored.seeds.swap(place, at);
            }
        }
        restored
    }
}

/// The input, and the settings of all runs.
pub(super) struct Plan<S> {
    settings: S,
    case: Case,
    how: Stress,
}

impl<S: Reorder> Plan<S> {
    pub(super) fn new(settings: S, case: Case, how: &Stress) -> Self {
        Self { settings, case, how: how.clone() }
    }

    pub(super) fn baseline(&self) -> Setting {
        Setting {
            seeds: (0..self.case.seeds.len()).collect(),
            order: self.settings.order(),
            concurrency: self.settings.concurrency(),
            delays: None,
        }
    }

    /// The setting of a run; number 0 is the baseline.
    pub(super) fn setting(&self, number: u32) -> Setting {
        let baseline = self.baseline();
        if number == 0 {
            return baseline;
        }
        let draw = |purpose| Draw::new(self.how.seed, purpose, &number.to_string());
        let mut orders = draw("order");
        let permuted = Order::Permuted { seed: orders.next() };
        let width = draw("width").one_of(&self.how.widths);
        Setting {
            seeds: draw("seeds").permutation(baseline.seeds.len()),
            order: orders
                .one_of(&[Order::Fifo, Order::Priority, permuted])
                .unwrap_or(baseline.order),
            concurrency: width.map_or(baseline.concurrency, Concurrency::Window),
            delays: self.delays("delays", number),
        }
    }

    /// The setting of a run with other delays, if it is one of those that are made once more.
    /// These are spread evenly over all runs, the baseline included.
    pub(super) fn other_delays(&self, number: u32) -> Option<Setting> {
        let (all, wanted) = (u64::from(self.how.runs) + 1, u64::from(self.how.delay_runs));
        let before = |number: u64| (number * wanted).div_ceil(all);
        let is_chosen = before(u64::from(number) + 1) > before(u64::from(number));
        let delays = self.delays("other delays", number).filter(|_| is_chosen)?;
        Some(Setting { delays: Some(delays), ..self.setting(number) })
    }

    fn delays(&self, purpose: &str, number: u32) -> Option<u64> {
        let seed = Draw::new(self.how.seed, purpose, &number.to_string()).next();
        (!self.how.max_delay.is_zero()).then_some(seed)
    }

    pub(super) fn max_delay(&self) -> Duration {
        self.how.max_delay
    }

    /// The same setting with a narrower window or a plainer order, plainest first.
    pub(super) fn plainer(&self, setting: &Setting) -> Vec<Setting> {
        let baseline = self.baseline();
        let mut plainer = Vec::new();
        if matches!(setting.order, Order::Permuted { .. }) {
            let orders = [Order::Fifo, Order::Priority];
            plainer.extend(orders.map(|order| Setting { order, ..setting.clone() }));
        }
        if let Concurrency::Window(width) = setting.concurrency {
            let mut widths = self.how.widths.clone();
            widths.retain(|&narrow| narrow < width);
            widths.sort_unstable();
            widths.dedup();
            plainer.extend(widths.into_iter().map(|narrow| Setting {
                concurrency: Concurrency::Window(narrow),
                ..setting.clone()
            }));
        }
        // With fewer factors is another question.
        plainer.retain(|less| less.factors(&baseline) == setting.factors(&baseline));
        plainer
    }

    /// The settings of the engine.
    pub(super) fn input(&self, setting: &Setting) -> (S, Case) {
        let settings = self.settings.reordered(setting.order, setting.concurrency);
        let seeds = setting.seeds.iter().filter_map(|&seed| self.case.seeds.get(seed)).cloned();
        (settings, Case { seeds: seeds.collect(), ..self.case.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(seeds: &[usize]) -> Setting {
        Setting {
            seeds: seeds.to_vec(),
            order: Order::Fifo,
            concurrency: Concurrency::sequential(),
            delays: None,
        }
    }

    #[test]
    fn restoring_a_place_swaps_two_seeds() {
        let turned = setting(&[1, 2, 0, 3]);
        assert_eq!(turned.displaced(), [0, 1, 2]);
        assert_eq!(turned.restored(&[0]).seeds, [0, 2, 1, 3]);
        assert_eq!(turned.restored(&[0, 1]).displaced(), [] as [usize; 0]);
    }

    #[test]
    fn runs_with_other_delays_are_as_many_as_wanted_and_begin_with_the_baseline() {
        for (runs, wanted) in [(40, 8), (3, 8), (1, 1), (0, 1), (40, 0), (40, 7)] {
            let how = Stress { runs, delay_runs: wanted, ..Stress::default() };
            let case = empty_case();
            let plan = Plan::new(Config::default(), case, &how);
            let chosen: Vec<u32> =
                (0..=runs).filter(|&number| plan.other_delays(number).is_some()).collect();
            assert_eq!(chosen.len() as u32, wanted.min(runs + 1), "{runs} {wanted}: {chosen:?}");
            assert!(wanted == 0 || chosen[0] == 0);
        }
    }

    #[test]
    fn narrower_windows_and_plainer_orders_keep_what_is_varied() {
        let width = |width| Concurrency::Window(std::num::NonZeroU32::new(width).unwrap());
        let widths = [8, 1, 4, 4, 2].into_iter().filter_map(std::num::NonZeroU32::new).collect();
        let how = Stress { widths, ..Stress::default() };
        let plan = Plan::new(Config::default(), empty_case(), &how);
        let wide = Setting { concurrency: width(8), ..setting(&[]) };
        let narrower: Vec<_> = plan.plainer(&wide).iter().map(|less| less.concurrency).collect();
        assert_eq!(narrower, [width(2), width(4)]);
        let permuted = Setting { order: Order::Permuted { seed: 1 }, ..setting(&[]) };
        let plainer: Vec<_> = plan.plainer(&permuted).iter().map(|less| less.order).collect();
        assert_eq!(plainer, [Order::Priority]);
        assert_eq!(plan.plainer(&Setting { order: Order::Priority, ..setting(&[]) }), []);
        assert_eq!(plan.plainer(&plan.baseline()), []);
    }

    fn empty_case() -> Case {
        let at = |text: &str| text.parse().unwrap();
        let window = (at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z"));
        let window = eog_core::Window::new(window.0, window.1).unwrap();
        Case::from_anomalies(eog_core::Topology::default(), window, Vec::new())
    }
}
