//! The most that a search asks for.

use super::{Evaluation, Expansion, SearchConfig};

/// The most that a search asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostAsked {
    /// Evaluations of entities, each of which is judged once at most.
    pub looks: u64,
    /// Questions in other roles.
    pub roles: u64,
    /// Calls of tools by specialists.
    pub tools: u64,
}

impl SearchConfig {
    /// The most that a search asks for, whatever the answers; retries of failures in roles included, further
    /// attempts of responders not.
    ///
    /// With `R` rounds, `k` children, trajectories of length `L`, `r` retries: `R·(k + L − 1)` evaluations and
    /// `R·(L + 1 + (k + 1)·(1 + r))` questions in roles (propose, act, reflect; values and reward). With `R`
    /// plans, `n` nodes, retries `p` of plans: `n − 1` evaluations, `R·(1 + p)` plans and, where nodes are judged,
    /// `(n − 1)·(1 + r)` scores. With `R` rounds of hypotheses and `m` calls of a specialist: `R`
    /// questions for hypotheses, `3·R·m` for actions, `s = R + R·(R − 1)/2` evaluations, where hypotheses are scored
    /// again, else `s = R`, `s·(1 + r)` scores, and `3·R·m` calls of tools, each tried `1 + r` times. With `R`
    /// rounds of `g` goals with `p` open paths: `R·g·p` evaluations and `1 + q` questions for goals, `R·g·p` for
    /// steps, `2·R` for moves, of which half are corrections, and `R·(1 + r)` for progress. With a chain of `R`
    /// steps: `R` evaluations, `(2·R + 1)·(1 + r)` questions for actions and summaries, `R·(1 + r)` calls of tools.
    pub fn most_asked(&self) -> MostAsked {
        let rounds = u64::from(self.stop.rounds.get());
        let retries = match self.evaluation {
            Evaluation::Reward { retries }
            | Evaluation::Judge { retries }
            | Evaluation::Ratio { retries }
            | Evaluation::Evidence { retries, .. } => u64::from(retries),
            Evaluation::Planner | Evaluation::None => 0,
        };
        match self.expansion {
            Expansion::Chain { retries, .. } => {
                let tries = 1 + u64::from(retries);
                // A summary follows a step at most, and the conclusion the last one.
                let roles = (2 * rounds + 1).saturating_mul(tries);
                MostAsked { looks: rounds, roles, tools: rounds.saturating_mul(tries) }
            }
            Expansion::Actions { count, depth, apart } => {
                let (count, depth) = (u64::from(count.get()), u64::from(depth.get()));
                let scores = (count + 1).saturating_mul(1 + retries);
                let draws = if apart { count } else { 1 };
                // An action is an evaluation or a call.
                let looks = rounds.saturating_mul(count + depth - 1);
                MostAsked {
                    looks,
                    roles: rounds.saturating_mul((depth + draws).saturating_add(scores)),
                    tools: looks.saturating_mul(1 + retries),
                }
            }
            Expansion::Planned { nodes, retries: again, .. } => {
                let looks = u64::from(nodes.get()) - 1;
                let is_judged = matches!(self.evaluation, Evaluation::Judge { .. });
                let scores = if is_judged { looks.saturating_mul(1 + retries) } else { 0 };
                let plans = rounds.saturating_mul(1 + u64::from(again));
                MostAsked { looks, roles: plans.saturating_add(scores), tools: 0 }
            }
            Expansion::Goals { goals, paths, retries: again } => {
                let paths = u64::from(goals.get()).saturating_mul(u64::from(paths.get()));
                let looks = rounds.saturating_mul(paths);
                let moves = if self.is_random() == Some(true) { 0 } else { 2 };
                let others = rounds.saturating_mul(moves + 1 + retries);
                let roles = (1 + u64::from(again)).saturating_add(looks).saturating_add(others);
                MostAsked { looks, roles, tools: looks.saturating_mul(1 + retries) }
            }
            Expansion::Hypotheses { lanes, .. } => {
                let acts = rounds.saturating_mul(3 * u64::from(lanes.most.get()));
                let scores = match self.evaluation {
                    Evaluation::Evidence { rescore: true, .. } => {
                        rounds.saturating_mul(rounds + 1) / 2
                    }
                    _ => rounds,
                };
                let looks = scores;
                let scores = scores.saturating_mul(1 + retries);
                let roles = acts.saturating_add(scores).saturating_add(rounds);
                let tools = acts.saturating_mul(1 + u64::from(lanes.retries));
                MostAsked { looks, roles, tools }
            }
        }
    }
}
