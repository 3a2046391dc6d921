//! The tables.

use eog_core::Config;

use crate::cost::{
    Around, Cost, Failed, Incident, MAX_PROMPT_TOKENS, Origin, Prompts, around, measure,
};

/// A name, a controller and what it shows to the model.
type Profile = (&'static str, fn() -> Config, Prompts);

/// Controllers and prompts that are compared: the paper's behaviour first, ours second.
const PROFILES: [Profile; 6] = [
    ("paper", Config::paper, Prompts::Literal),
    ("eog", Config::default, Prompts::Ours),
    ("our prompts alone", Config::paper, Prompts::Ours),
    ("our controller alone", Config::default, Prompts::Literal),
    ("paper, with specs", Config::paper, Prompts::WithSpecs),
    ("paper, spare", Config::paper, Prompts::Spare),
];

/// What an incident, or several, took with each profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    name: String,
    costs: [Cost; PROFILES.len()],
    around: Around,
}

impl Row {
    /// Measures an incident. Fails where a prompt is too long.
    pub(crate) fn of(incident: &Incident) -> Result<Self, Failed> {
        let kind = match incident.origin {
            Origin::Recorded => "recorded",
            Origin::Simulated => "simulated",
        };
        let mut row = Self::named(format!("{}, {kind}", incident.name));
        for ((profile, config, prompts), cost) in PROFILES.into_iter().zip(&mut row.costs) {
            *cost = measure(incident, config(), prompts)?;
            if cost.longest > MAX_PROMPT_TOKENS {
                let longest = cost.longest;
                return Err(format!("{}, {profile}: {longest} tokens", incident.name).into());
            }
        }
        row.around = around(incident)?;
        Ok(row)
    }

    /// Fails where not all profiles end with the same frontier: their costs say nothing then.
    pub(crate) fn agree(&self) -> Result<(), String> {
        let expected = &self.costs[0].frontier;
        for ((profile, ..), cost) in PROFILES.iter().zip(&self.costs) {
            if cost.frontier != *expected {
                let (name, found) = (&self.name, &cost.frontier);
                return Err(format!("{name}: {profile} finds {found:?}, the paper {expected:?}"));
            }
        }
        Ok(())
    }

    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, cost) in self.costs.iter_mut().zip(&other.costs) {
            sum.add(cost);
        }
        let Around { opening, report } = &other.around;
        for (sum, cost) in self.around.report.iter_mut().zip(report) {
            sum.add(cost);
        }
        if let Some(opening) = opening {
            let sums = self.around.opening.get_or_insert_default();
            sums.iter_mut().zip(opening).for_each(|(sum, cost)| sum.add(cost));
        }
    }

    /// All tokens, those around the exploration included: the paper's and ours.
    fn everything(&self) -> [u64; 2] {
        [0, 1].map(|side| {
            let opening = self.around.opening.as_ref().map_or(0, |sides| sides[side].tokens());
            self.costs[side].tokens() + opening + self.around.report[side].tokens()
        })
    }

    /// Our tokens in per cent of the paper's.
    pub(crate) fn percent(&self) -> f64 {
        percent(self.costs[1].tokens(), self.costs[0].tokens())
    }
}

/// What each incident takes.
pub(crate) fn print_costs(rows: &[Row]) {
    println!(
        "| incident | behaviour | evaluations | calls | tokens in | out | cacheable | longest prompt \
         | tokens of the paper's | without cacheable ones |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for row in rows {
        let [paper, ..] = &row.costs;
        for (at, cost) in row.costs.iter().take(2).enumerate() {
            let name = if at == 0 { row.name.as_str() } else { "" };
            let ratios = match at {
                0 => "| |".to_owned(),
                _ => format!(
                    "| **{:.1} %** | {:.1} % |",
                    percent(cost.tokens(), paper.tokens()),
                    percent(cost.uncached(), paper.uncached())
                ),
            };
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} | {} {ratios}",
                PROFILES[at].0,
                grouped(cost.evaluations),
                grouped(cost.calls),
                grouped(cost.tokens_in),
                grouped(cost.tokens_out),
                grouped(cost.cached),
                grouped(cost.longest)
            );
        }
    }
}

/// What controller and prompts save by themselves.
pub(crate) fn print_parts(rows: &[Row]) {
    println!(
        "| incident | both | our controller alone | our prompts alone | both, of the paper's with objects | both, of the paper's with spare JSON |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for row in rows {
        let [paper, ours, prompts, controller, specs, spare] =
            row.costs.each_ref().map(Cost::tokens);
        println!(
            "| {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            row.name,
            percent(ours, paper),
            percent(controller, paper),
            percent(prompts, paper),
            percent(ours, specs),
            percent(ours, spare)
        );
    }
}

/// What the questions before and after the exploration take.
pub(crate) fn print_around(rows: &[Row]) {
    println!(
        "| incident | opening, paper: calls, tokens in | eog: calls, tokens in | report, paper: tokens in | eog: tokens in | everything, of the paper's |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for row in rows {
        let opening = match &row.around.opening {
            None => "– | –".to_owned(),
            Some(sides) => sides
                .each_ref()
                .map(|cost| format!("{}, {}", grouped(cost.calls), grouped(cost.tokens_in)))
                .join(" | "),
        };
        let report = row.around.report.each_ref().map(|cost| grouped(cost.tokens_in)).join(" | ");
        let [paper, ours] = row.everything();
        println!("| {} | {opening} | {report} | {:.1} % |", row.name, percent(ours, paper));
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}
