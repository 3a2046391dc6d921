//! Prometheus, and what has its HTTP interface: metrics of known names, alerts and their history, and what
//! metrics say about changes.

mod alerts;
mod answer;
mod changes;
mod client;
mod conventions;
mod requests;
mod subject;

use eog_core::evidence::Signal;
use eog_core::incident::EffectDirection;

use self::answer::Raw;
use self::client::{Client, Ranged};
use self::conventions::{Found, Gauge, Recorded, Subject};
pub(crate) use self::subject::Naming;
use self::subject::{Inventory, distinct};
use crate::capture::Parts;
use crate::config::{Limits, OwnSeries, Prometheus as Config, SourceConfig};
use crate::error::{AskError, ConfigError};
use crate::http::Answer;
use crate::period::Period;
use crate::piece::{Link, Measured, Millis, Piece, Who};

/// Distance between samples where it cannot be measured.
const USUAL_INTERVAL: Millis = 15_000;

/// Points of a series at which a longer step is taken.
const MANY_POINTS: Millis = 1_500;

/// Prometheus as a source.
pub(crate) struct Prometheus<'a> {
    config: &'a Config,
    limits: &'a Limits,
    client: Client,
    naming: Naming,
}

/// What every question needs to know.
#[derive(Clone, Debug)]
struct Asking {
    period: Period,
    step: Millis,
    /// The range of a rate, such as `60s`.
    window: String,
    /// Matchers of all questions, with a comma in front; empty for none.
    matchers: String,
    inventory: Inventory,
}

impl<'a> Prometheus<'a> {
    pub(crate) fn new(config: &'a Config, of: &'a SourceConfig) -> Result<Self, ConfigError> {
        let naming = Naming { labels: config.entity_labels.clone() };
        Ok(Self { client: Client::new(config)?, limits: &of.limits, config, naming })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.client.place()
    }

    /// What it offers, for people.
    pub(crate) async fn offer(&self, period: Period) -> Result<Vec<String>, AskError> {
        let names = self.client.metrics(period).await?;
        let mut lines = Vec::new();
        if let Ok(version) = self.client.version().await {
            lines.push(format!("version {version}"));
        }
        let found = Found::among(&names);
        lines.push(format!("{} metrics in the last {} s", names.len(), period.seconds()));
        let list = |names: Vec<&str>| eog_evidence::shorten(&names.join(", "), 400);
        let requests = found.requests.iter().map(|one| one.count.as_str()).collect();
        lines.push(match found.requests.len() {
            0 => "no metric that counts requests is known by its name; name your own in \
                  [[prometheus.series]]"
                .to_owned(),
            count => format!("requests, {count}: {}", list(requests)),
        });
        if !found.gauges.is_empty() {
            let names = found.gauges.iter().map(|gauge| gauge.metric.as_str()).collect();
            lines.push(format!("levels, {}: {}", found.gauges.len(), list(names)));
        }
        if !found.recorded.is_empty() {
            let names = found.recorded.iter().map(|one| one.metric.as_str()).collect();
            lines.push(format!("recording rules, {}: {}", found.recorded.len(), list(names)));
        }
        let mut changes: Vec<&str> =
            found.builds.iter().chain(&found.reloads).map(String::as_str).collect();
        changes.extend(found.has_starts.then_some("process_start_time_seconds"));
        if !changes.is_empty() {
            lines.push(format!("changes and restarts: {}", list(changes)));
        }
        lines.push(match found.has_alerts {
            true => "the history of alerts (ALERTS)".to_owned(),
            false => "no alert was active (no series ALERTS)".to_owned(),
        });
        Ok(lines)
    }

    /// Asks all there is to ask.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let names = async || self.client.metrics(period).await;
        let Some(names) = parts.value("prometheus names", "the names of metrics", names).await
        else {
            return;
        };
        let found = Found::among(&names);
        let interval = async || self.interval(&found, period).await;
        let interval = parts.value("prometheus interval", "the scrape interval", interval).await;
        let Some(mut asking) = self.asking(period, interval.unwrap_or(USUAL_INTERVAL)) else {
            return;
        };
        let inventory = async || self.inventory(&found, &asking).await;
        let inventory = parts.value("prometheus inventory", "the targets", inventory).await;
        asking.inventory = inventory.unwrap_or_default();
        let questions = self.questions(&found);
        let asked = questions.iter().map(|it| (it.name(), self.ask(it, &asking)));
        parts.all(asked, self.limits).await;
    }

    /// How often targets are scraped: the usual distance of samples of `up`.
    async fn interval(&self, found: &Found, period: Period) -> Result<Millis, AskError> {
        if let Some(given) = self.config.scrape_interval {
            return Ok(millis(given.as_millis()));
        }
        if !found.has_up {
            return Ok(USUAL_INTERVAL);
        }
        let matrix = self.client.at("up[5m]", period.until).await?;
        let mut steps: Vec<Millis> = matrix
            .series
            .iter()
            .take(100)
            .flat_map(|raw| raw.points.windows(2))
            .filter_map(|pair| Some(pair.get(1)?.0 - pair.first()?.0))
            .filter(|step| *step > 0)
            .collect();
        steps.sort_unstable();
        // To whole seconds, so that it is the same a moment later.
        let usual = steps.get(steps.len() / 2).map(|step| (step + 500) / 1000 * 1000);
        Ok(usual.unwrap_or(USUAL_INTERVAL).clamp(1_000, 300_000))
    }

    fn asking(&self, period: Period, interval: Millis) -> Option<Asking> {
        let step = match self.config.step {
            Some(step) => millis(step.as_millis()),
            None => {
                let least = (period.until - period.from) / MANY_POINTS;
                // A whole multiple of the interval, so that each sample counts as often.
                interval * (least / interval + 1)
            }
        };
        let window = (4 * interval).max(step).div_euclid(1000).max(1);
        let matchers = self.config.matchers.iter().map(|one| format!(",{one}")).collect();
        (step > 0).then(|| Asking {
            period,
            step,
            window: format!("{window}s"),
            matchers,
            inventory: Inventory::default(),
        })
    }

    /// Which instances there are, and which of them report machines.
    async fn inventory(&self, found: &Found, asking: &Asking) -> Result<Inventory, AskError> {
        let mut inventory = Inventory::default();
        // Longer steps would pass over what has only just appeared.
        let step = asking.step;
        let range =
            |query: String| async move { self.client.range(&query, asking.period, step).await };
        let of_all = asking.matchers.trim_start_matches(',');
        if found.has_hosts {
            let query = format!("max by (instance, nodename) (node_uname_info{{{of_all}}})");
            for raw in range(query).await?.series {
                let (instance, node) = (raw.label("instance"), raw.label("nodename"));
                let name = if node.is_empty() { subject::host_part(instance) } else { node };
                if !name.is_empty() {
                    inventory.hosts.insert(instance.to_owned(), name.to_owned());
                }
            }
        }
        if found.has_up {
            let by = format!("{}, instance", self.naming.by_service());
            for raw in range(format!("max by ({by}) (up{{{of_all}}})")).await?.series {
                let instance = raw.label("instance");
                if let Some(who) = inventory.whose(&self.naming, &raw)
                    && !instance.is_empty()
                {
                    inventory.instances.insert(instance.to_owned(), who);
                }
            }
        }
        Ok(inventory)
    }

    fn questions<'q>(&'q self, found: &'q Found) -> Vec<Question<'q>> {
        let mut all: Vec<Question<'_>> = Vec::new();
        // The best first, should time or space run out.
        all.extend(found.has_alerts.then_some(Question::Alerts));
        all.extend(self.config.series.iter().map(Question::Own));
        if self.config.conventions {
            all.extend(found.requests.iter().map(Question::Requests));
            all.extend(found.has_up.then_some(Question::Up));
            all.extend(found.has_starts.then_some(Question::Starts));
            all.extend(found.builds.iter().map(|name| Question::Build(name)));
            all.extend(found.reloads.iter().map(|name| Question::Reload(name)));
            all.extend(found.has_pods.then_some(Question::Pods));
            all.extend(found.has_owners.then_some(Question::Owners));
            all.extend(found.gauges.iter().map(Question::Gauge));
            all.extend(found.recorded.iter().map(Question::Recorded));
        }
        all
    }

    async fn ask(&self, question: &Question<'_>, asking: &Asking) -> Result<Piece, AskError> {
        match question {
            Question::Alerts => alerts::ask(self, asking).await,
            Question::Requests(one) => requests::ask(self, one, asking).await,
            Question::Starts => changes::starts(self, asking).await,
            Question::Build(name) => changes::build(self, name, asking).await,
            Question::Reload(name) => changes::reloads(self, name, asking).await,
            Question::Up => self.up(asking).await,
            Question::Pods => self.pods(asking).await,
            Question::Owners => self.owners(asking).await,
            Question::Gauge(gauge) => self.gauge(gauge, asking).await,
            Question::Recorded(one) => {
                let by = format!("{}, instance", self.naming.by_service());
                let of_all = asking.matchers.trim_start_matches(',');
                let query = format!("max by ({by}) ({}{{{of_all}}})", one.metric);
                let level = (one.metric.as_str(), one.signal, one.unit);
                self.level(&query, level, Subject::Either, asking).await
            }
            Question::Own(own) => {
                let level = (own.metric.as_str(), own.signal, own.unit.as_str());
                self.level(&own.query, level, Subject::Either, asking).await
            }
        }
    }

    async fn gauge(&self, gauge: &Gauge, asking: &Asking) -> Result<Piece, AskError> {
        let by = match gauge.of {
            Subject::Service | Subject::Either => {
                distinct(&[&self.naming.by_service(), "instance"])
            }
            Subject::Host => "instance".to_owned(),
            Subject::Pod => distinct(&[&subject::PODS[..], &subject::NAMESPACES].concat()),
            Subject::Workload => {
                distinct(&[&subject::WORKLOADS[..], &subject::NAMESPACES].concat())
            }
        };
        let query = gauge.query(&by, &asking.window, &asking.matchers);
        let level = (gauge.metric.as_str(), gauge.signal, gauge.unit.as_str());
        self.level(&query, level, gauge.of, asking).await
    }

    /// Series as they are.
    async fn level(
        &self,
        query: &str,
        (metric, signal, unit): (&str, Signal, &str),
        of: Subject,
        asking: &Asking,
    ) -> Result<Piece, AskError> {
        let (mut piece, series) = self.range(query, asking).await?;
        let mut nameless = 0;
        let mut all: Vec<Measured> = Vec::new();
        for raw in series {
            let who = match of {
                Subject::Pod => subject::pod(&raw),
                Subject::Workload => subject::workload(&raw),
                Subject::Host | Subject::Service | Subject::Either => {
                    asking.inventory.whose(&self.naming, &raw)
                }
            };
            let Some(who) = who else {
                nameless += 1;
                continue;
            };
            // What a node exporter's own process needs is not what its machine needs.
            if of == Subject::Service && matches!(who, Who::Host(_)) {
                continue;
            }
            let one = Measured {
                who,
                peer: None,
                metric: metric.to_owned(),
                signal,
                unit: unit.to_owned(),
                points: raw.points,
            };
            match all.iter_mut().find(|known| known.who == one.who) {
                Some(known) => worst(known, one.points),
                None => all.push(one),
            }
        }
        if nameless > 0 {
            let labels = self.naming.labels.join(", ");
            piece.missing.push(format!(
                "{nameless} series name no entity by any of the labels {labels} (entity_labels)"
            ));
        }
        piece.series = all;
        Ok(piece)
    }

    /// A query over the range, with what is missing of its answer.
    async fn range(&self, query: &str, asking: &Asking) -> Result<(Piece, Vec<Raw>), AskError> {
        let found = self.client.range(query, asking.period, asking.step).await?;
        let Ranged { series, missing, notes } = found;
        Ok((Piece { notes, missing, ..Piece::default() }, series))
    }

    /// On which machines pods run.
    async fn pods(&self, asking: &Asking) -> Result<Piece, AskError> {
        let by = [&subject::PODS[..], &subject::NODES, &subject::NAMESPACES].concat();
        let by = distinct(&by);
        let of_all = asking.matchers.trim_start_matches(',');
        let query = format!("max by ({by}) (kube_pod_info{{{of_all}}})");
        let (mut piece, series) = self.range(&query, asking).await?;
        piece.links = series
            .iter()
            .filter(|raw| !subject::first(raw, &subject::NODES).is_empty())
            .filter_map(|raw| {
                Some(Link {
                    source: subject::pod(raw)?,
                    target: Who::Host(subject::first(raw, &subject::NODES).to_owned()),
                    relation: "runs_on".to_owned(),
                    effects: EffectDirection::TargetToSource,
                })
            })
            .collect();
        Ok(piece)
    }

    /// Which workloads pods belong to, by the ReplicaSet in between where there is one.
    async fn owners(&self, asking: &Asking) -> Result<Piece, AskError> {
        let owner = ["owner_kind", "owner_name"];
        let of_all = asking.matchers.trim_start_matches(',');
        let ask = |metric: &str, of: &[&str]| {
            let by = distinct(&[&owner[..], of, &subject::NAMESPACES].concat());
            let query = format!("max by ({by}) ({metric}{{{of_all}}})");
            async move { self.range(&query, asking).await }
        };
        let (mut piece, pods) = ask("kube_pod_owner", &subject::PODS).await?;
        let (more, sets) = ask("kube_replicaset_owner", &["replicaset"]).await?;
        piece.join(more);
        let deployments: std::collections::BTreeMap<(&str, &str), &str> = sets
            .iter()
            .filter(|raw| raw.label("owner_kind") == "Deployment")
            .map(|raw| {
                ((subject::namespace(raw), raw.label("replicaset")), raw.label("owner_name"))
            })
            .collect();
        for raw in &pods {
            let (namespace, name) = (subject::namespace(raw), raw.label("owner_name"));
            let name = match raw.label("owner_kind") {
                "ReplicaSet" => deployments.get(&(namespace, name)).copied(),
                "StatefulSet" | "DaemonSet" => Some(name),
                _ => None,
            };
            let Some((pod, name)) = subject::pod(raw).zip(name) else { continue };
            piece.links.push(Link {
                source: pod,
                target: Who::Service { namespace: namespace.to_owned(), name: name.to_owned() },
                relation: "backs".to_owned(),
                effects: EffectDirection::SourceToTarget,
            });
        }
        Ok(piece)
    }

    /// Whether instances can be reached, and on which machines they run.
    async fn up(&self, asking: &Asking) -> Result<Piece, AskError> {
        let by = format!("{}, instance", self.naming.by_service());
        let of_all = asking.matchers.trim_start_matches(',');
        let query = format!("min by ({by}) (up{{{of_all}}})");
        let (mut piece, series) = self.range(&query, asking).await?;
        let mut sums: std::collections::BTreeMap<
            Who,
            std::collections::BTreeMap<Millis, (f64, f64)>,
        > = std::collections::BTreeMap::new();
        for raw in series {
            let Some(who) = asking.inventory.whose(&self.naming, &raw) else { continue };
            let instance = raw.label("instance");
            if let (Who::Service { .. }, Some(host)) = (&who, asking.inventory.host_of(instance)) {
                piece.links.push(Link {
                    source: who.clone(),
                    target: Who::Host(host.clone()),
                    relation: "runs_on".to_owned(),
                    effects: EffectDirection::TargetToSource,
                });
            }
            if let (Who::Service { .. }, Some(pod)) = (&who, subject::pod(&raw)) {
                piece.links.push(Link {
                    source: pod,
                    target: who.clone(),
                    relation: "backs".to_owned(),
                    effects: EffectDirection::SourceToTarget,
                });
            }
            let sum = sums.entry(who).or_default();
            for (at, value) in raw.points {
                let (all, count) = sum.entry(at).or_default();
                *all += value;
                *count += 1.0;
            }
        }
        piece.links.dedup();
        piece.series.extend(sums.into_iter().map(|(who, sum)| Measured {
            who,
            peer: None,
            metric: "up".to_owned(),
            signal: Signal::Availability,
            unit: "ratio".to_owned(),
            points: sum.into_iter().map(|(at, (all, count))| (at, all / count)).collect(),
        }));
        Ok(piece)
    }
}

/// One question, and what it is called.
#[derive(Clone, Copy, Debug)]
enum Question<'a> {
    Alerts,
    Own(&'a OwnSeries),
    Requests(&'a conventions::Requests),
    Up,
    Pods,
    Owners,
    Starts,
    Build(&'a str),
    Reload(&'a str),
    Gauge(&'a Gauge),
    Recorded(&'a Recorded),
}

impl Question<'_> {
    fn name(&self) -> String {
        match self {
            Self::Alerts => "prometheus alerts".to_owned(),
            Self::Own(own) => format!("prometheus {}", own.metric),
            Self::Requests(one) => format!("prometheus requests {}", one.count),
            Self::Up => "prometheus up".to_owned(),
            Self::Pods => "prometheus kube_pod_info".to_owned(),
            Self::Owners => "prometheus kube_pod_owner".to_owned(),
            Self::Starts => "prometheus process_start_time_seconds".to_owned(),
            Self::Build(name) | Self::Reload(name) => format!("prometheus {name}"),
            Self::Gauge(gauge) => format!("prometheus {}", gauge.metric),
            Self::Recorded(one) => format!("prometheus {}", one.metric),
        }
    }
}

/// The highest value at each time over the instances of one entity.
fn worst(known: &mut Measured, points: Vec<(Millis, f64)>) {
    let mut all: std::collections::BTreeMap<Millis, f64> = known.points.drain(..).collect();
    for (at, value) in points {
        all.entry(at).and_modify(|known| *known = known.max(value)).or_insert(value);
    }
    known.points = all.into_iter().collect();
}

fn millis(all: i128) -> Millis {
    Millis::try_from(all).unwrap_or(Millis::MAX)
}

/// The points of a series, under a name that its labels make.
#[cfg(any(test, feature = "fuzzing"))]
type Named = (String, Vec<(crate::piece::Millis, f64)>);

/// The series of an answer, each with a name that its labels make.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn series(answer: &crate::http::Answer, most: usize) -> Result<Vec<Named>, AskError> {
    // The same bytes may be a list of names.
    let _ = answer::names(answer);
    let found = answer::matrix(answer, most)?;
    let named = |raw: answer::Raw| (format!("{:?}", raw.labels), raw.points);
    Ok(found.series.into_iter().map(named).collect())
}

/// What a saved answer says: series, each of what its labels name, and alerts of `ALERTS`.
pub(crate) fn saved(answer: &Answer, max_series: usize) -> Result<Piece, AskError> {
    let found = answer::matrix(answer, max_series)?;
    let mut piece = Piece::default();
    let (mut nameless, mut buckets) = (0, 0);
    for raw in found.series {
        let name = raw.label("__name__").to_owned();
        if name == "ALERTS" || !raw.label("alertname").is_empty() {
            piece.alerts.extend(saved_alert(raw));
            continue;
        }
        let mut labels = raw.labels.clone();
        labels.remove("__name__");
        let subject = eog_sre::subject::subjects(&labels, &eog_sre::subject::SERVICE_LABELS);
        let Some(who) = subject.first().map(crate::place::who_of) else {
            nameless += 1;
            continue;
        };
        if name.ends_with("_bucket") {
            buckets += 1;
            continue;
        }
        let metric = if name.is_empty() { "query".to_owned() } else { name.clone() };
        let (signal, unit) = spoken(&metric);
        let is_counter = ["_total", "_count", "_sum"].iter().any(|end| name.ends_with(end));
        let points = if is_counter { rates(&raw.points) } else { raw.points };
        piece.series.push(Measured {
            who,
            peer: None,
            metric,
            signal,
            unit: unit.to_owned(),
            points,
        });
    }
    for (count, why) in [
        (
            nameless,
            "series name nothing by their labels; keep a label such as service or pod in the query",
        ),
        (
            buckets,
            "series are buckets of histograms, which are not read; save a quantile or a mean",
        ),
        (found.left_out, "series beyond the bound"),
    ] {
        if count > 0 {
            piece.missing.push(format!("{count} {why}"));
        }
    }
    Ok(piece)
}

fn saved_alert(raw: Raw) -> Option<crate::piece::Alert> {
    let (first, last) = (raw.points.first()?.0, raw.points.last()?.0);
    let mut labels = raw.labels;
    if labels.get("alertstate").is_some_and(|state| state == "pending") {
        return None;
    }
    labels.retain(|name, _| name != "__name__" && name != "alertstate");
    Some(crate::piece::Alert {
        name: labels.get("alertname")?.clone(),
        labels,
        who: None,
        description: String::new(),
        said: Vec::new(),
        runs: vec![crate::piece::Run { active_at: first, first, last }],
        place: crate::piece::Place::default(),
    })
}

/// What counters grew by each second, from one point to the next; where they began anew, from nothing.
fn rates(points: &[(Millis, f64)]) -> Vec<(Millis, f64)> {
    let rate = |pair: &[(Millis, f64)]| match pair {
        [(before, old), (at, new)] if at > before => {
            let grown = if new >= old { new - old } else { *new };
            Some((*at, grown * 1000.0 / (at - before) as f64))
        }
        _ => None,
    };
    points.windows(2).filter_map(rate).collect()
}

/// What the name of a metric speaks of, and its unit, as far as its words say.
pub(crate) fn spoken(metric: &str) -> (Signal, &'static str) {
    let name = metric.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let unit = match () {
        () if has(&["ratio", "_share"]) => "ratio",
        () if has(&["percent", "pct"]) => "percent",
        () if has(&["_ms", "millis"]) => "ms",
        () if has(&["seconds", "duration", "latency"]) => "s",
        () if has(&["bytes"]) => "bytes",
        () => "",
    };
    let signal = match () {
        () if has(&["oom", "evict"]) => Signal::Exhaustion,
        () if has(&["error", "fail", "5xx", "exception", "timeouts"]) => Signal::Errors,
        () if has(&["latency", "duration", "response_time", "request_seconds", "wait_time"]) => {
            Signal::Latency
        }
        () if name == "up" || has(&["available", "_ready", "probe_success"]) => {
            Signal::Availability
        }
        () if has(&[
            "cpu",
            "memory",
            "_mem",
            "disk",
            "usage",
            "util",
            "saturation",
            "heap",
            "queue",
            "lag",
            "connections",
            "throttl",
            "filesystem",
        ]) =>
        {
            Signal::Saturation
        }
        () if has(&["requests", "rps", "qps", "throughput", "hits", "calls", "messages"]) => {
            Signal::Traffic
        }
        () => Signal::Other,
    };
    (signal, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_a_multiple_of_the_interval_that_bounds_the_points() {
        let step = |text: &str, hours: i64, interval: Millis| {
            let text = format!("[prometheus]\nurl = 'http://localhost:1'\n{text}");
            let of = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
            let source = Prometheus::new(of.prometheus.as_ref().unwrap(), &of).unwrap();
            let until = 1_767_261_600_000;
            let period = Period { from: until - hours * 3_600_000, until };
            let asking = source.asking(period, interval).unwrap();
            (asking.step, asking.window)
        };
        // Two hours of 15 s are 480 points.
        assert_eq!(step("", 2, 15_000), (15_000, "60s".to_owned()));
        // A day would be 5,760: every fourth is asked for, and each rate sees all samples in between.
        assert_eq!(step("", 24, 15_000), (60_000, "60s".to_owned()));
        assert_eq!(step("", 24 * 30, 15_000), (1_740_000, "1740s".to_owned()));
        assert_eq!(step("", 2, 60_000), (60_000, "240s".to_owned()));
        assert_eq!(step("step = '30s'", 24, 15_000), (30_000, "60s".to_owned()));
        for hours in [1, 7, 100, 9_000] {
            let (step, _) = step("", hours, 15_000);
            assert!(step % 15_000 == 0 && hours * 3_600_000 / step <= MANY_POINTS);
        }
    }
}
