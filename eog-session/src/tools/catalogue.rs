//! The catalogue of metrics: a skill that is made of what a source has.

use eog::EntityId;
use eog_search::Specialist;
use eog_search::tools::Skill;
use eog_sre::tools::MetricFamily;

/// Most metrics that a catalogue lists; further ones are counted.
const MAX_METRICS: usize = 120;

/// Longest name that it lists, in characters.
const MAX_NAME: usize = 120;

/// The catalogue as a skill of the metrics specialist, who is given it at once; nothing where there are no metrics.
pub fn catalogue(metrics: &[MetricFamily]) -> Option<Skill> {
    let mut lines: Vec<String> = metrics.iter().take(MAX_METRICS).map(line).collect();
    match metrics.len().saturating_sub(MAX_METRICS) {
        _ if lines.is_empty() => return None,
        0 => {}
        more => lines.push(format!("{more} more metrics are left out")),
    }
    Some(Skill {
        agent: Specialist::Metrics,
        name: "catalogue".to_owned(),
        about: "the metrics that there are: names, units, on how many entities".to_owned(),
        body: lines.join("\n"),
        at_once: true,
    })
}

fn line(family: &MetricFamily) -> String {
    let MetricFamily { metric, unit, entities, series, examples } = family;
    let name = |text: &str| eog_evidence::shorten(text, MAX_NAME);
    let unit = if unit.is_empty() { String::new() } else { format!(" ({})", name(unit)) };
    let of = examples.iter().map(EntityId::as_str).map(name).collect::<Vec<_>>().join(", ");
    let all = if *entities == examples.len() { "" } else { "such as " };
    format!("{}{unit}: {entities} entities, {series} series, {all}{of}", name(metric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(number: usize) -> MetricFamily {
        MetricFamily {
            metric: format!("metric_{number:03}"),
            unit: "ms".to_owned(),
            entities: 4,
            series: 8,
            examples: ["a", "b", "c"].map(|name| EntityId::new(name).unwrap()).to_vec(),
        }
    }

    #[test]
    fn a_catalogue_is_bounded_and_says_what_it_leaves_out() {
        let all: Vec<MetricFamily> = (0..MAX_METRICS + 7).map(family).collect();
        let skill = catalogue(&all).unwrap();
        assert!(skill.at_once && skill.agent == Specialist::Metrics);
        let first = "metric_000 (ms): 4 entities, 8 series, such as a, b, c";
        assert_eq!(skill.body.lines().next(), Some(first));
        assert_eq!(skill.body.lines().last(), Some("7 more metrics are left out"));
        assert_eq!(catalogue(&[]), None);
    }
}
