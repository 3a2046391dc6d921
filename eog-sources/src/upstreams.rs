//! Calls where no source gives any: whom environments and log lines name by host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use eog_core::incident::EffectDirection;
use eog_sre::relation;
use regex::Regex;

use crate::bundle::id;
use crate::piece::{Link, Piece, Who};

/// Most hosts in log lines that are kept.
const MAX_HOSTS: usize = 10_000;

/// Most edges that a note names.
const MAX_NAMED: usize = 20;

/// Words before an address that is not called: who calls, or what a browser was at.
const OTHERS: [&str; 6] = ["referer", "referrer", "origin", "from", "callback", "redirect_uri"];

/// Services by the hosts that name them.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<String, BTreeSet<Who>>);

impl Names {
    /// All services that sources know.
    pub(crate) fn of(all: &Piece) -> Self {
        let mut names = Self::default();
        let ends = all.links.iter().flat_map(|link| [&link.source, &link.target]);
        let measured = all.series.iter().map(|it| &it.who);
        let traced = all.spans.iter().map(|it| &it.who);
        let logged = all.lines.iter().map(|it| &it.who);
        let known: BTreeSet<&Who> = ends.chain(measured).chain(traced).chain(logged).collect();
        known.into_iter().for_each(|who| names.add(who));
        names
    }

    /// Adds a service by its name, with its namespace, and as the ingress of nginx writes both.
    pub(crate) fn add(&mut self, who: &Who) {
        let Who::Service { namespace, name } = who else { return };
        let mut add = |key: String| {
            self.0.entry(key).or_default().insert(who.clone());
        };
        add(name.clone());
        if !namespace.is_empty() {
            add(format!("{name}.{namespace}"));
            add(format!("{namespace}-{name}"));
        }
    }

    /// The services whose host a value names: `postgres://u@db:5432/x`, `http://cart.shop.svc:80`, `redis:6379`, `db`.
    pub(crate) fn named(&self, value: &str, by: &Who) -> BTreeSet<Who> {
        let parts = value.split([',', ' ', ';', '=']);
        parts.filter_map(|part| self.one_named(part, by)).cloned().collect()
    }

    fn one_named(&self, part: &str, by: &Who) -> Option<&Who> {
        let host = part.split_once("://").map_or(part, |(_, rest)| rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.split(['/', ':', '?']).next().unwrap_or(host);
        let mut labels = host.split('.');
        let (name, of) = (labels.next()?, labels.next());
        let space = match by {
            Who::Service { namespace, .. }
            | Who::Pod { namespace, .. }
            | Who::Object { namespace, .. } => namespace.as_str(),
            Who::Host(_) => "",
        };
        let is_in = |it: &&Who, space: &str| matches!(it, Who::Service { namespace, .. } if namespace == space);
        match of {
            Some(of) => {
                let exact = self.0.get(&format!("{name}.{of}")).and_then(BTreeSet::first);
                // Telemetry may not know the namespace.
                let bare = || self.0.get(name)?.iter().find(|it| is_in(it, ""));
                exact.or_else(bare)
            }
            None => {
                let all = self.0.get(name)?;
                match all.len() {
                    1 => all.first(),
                    _ => all.iter().find(|it| is_in(it, space)),
                }
            }
        }
    }
}

/// Hosts that log lines name, by who wrote them.
#[derive(Default)]
pub(crate) struct Mentions {
    by: BTreeMap<Who, BTreeSet<String>>,
    count: usize,
}

impl Mentions {
    /// Takes note of who wrote a line and whom it names.
    pub(crate) fn note(&mut self, who: &Who, text: &str) {
        let is_full = self.is_full();
        let known = match self.by.get_mut(who) {
            Some(known) => known,
            None => self.by.entry(who.clone()).or_default(),
        };
        if is_full {
            return;
        }
        for host in hosts(text) {
            if !known.contains(host) {
                known.insert(host.to_owned());
                self.count += 1;
            }
        }
    }

    /// Who wrote lines.
    pub(crate) fn writers(&self) -> impl Iterator<Item = &Who> {
        self.by.keys()
    }

    /// Whether further hosts are not taken note of.
    fn is_full(&self) -> bool {
        self.count >= MAX_HOSTS
    }

    /// The calls that follow: from the entity that stands for a writer, to known services.
    pub(crate) fn calls<'w>(
        &'w self,
        names: &Names,
        stands_for: impl Fn(&'w Who) -> &'w Who,
    ) -> BTreeSet<(Who, Who)> {
        let mut calls = BTreeSet::new();
        for (who, hosts) in &self.by {
            let who = stands_for(who);
            let called = hosts.iter().flat_map(|host| names.named(host, who));
            calls.extend(called.filter(|it| it != who).map(|it| (who.clone(), it)));
        }
        calls
    }

    /// Adds the calls that no source gives, and says so.
    pub(crate) fn infer<'w>(
        &'w self,
        names: &Names,
        stands_for: impl Fn(&'w Who) -> &'w Who,
        links: &mut Vec<Link>,
    ) -> Vec<String> {
        let mut calls = self.calls(names, stands_for);
        let given = links.iter().filter(|link| link.relation == "calls");
        for link in given {
            calls.remove(&(link.source.clone(), link.target.clone()));
        }
        let mut notes = Vec::new();
        if !calls.is_empty() {
            notes.push(in_words(&calls, "hosts in log lines"));
        }
        if self.is_full() {
            notes.push(format!(
                "log lines name more than {MAX_HOSTS} hosts; of the rest no edges are inferred"
            ));
        }
        links.extend(calls.into_iter().map(link));
        notes
    }
}

/// Adds the calls that log lines tell of and no source gives; says which.
pub(crate) fn infer(all: &mut Piece) -> Vec<String> {
    let mut mentions = Mentions::default();
    all.lines.iter().for_each(|line| mentions.note(&line.who, &line.text));
    let owners = owners(all);
    let mut links = all.links.clone();
    let stands_for = |who| owners.get(who).copied().unwrap_or(who);
    let notes = mentions.infer(&Names::of(all), stands_for, &mut links);
    all.links = links;
    notes
}

/// Who stands for a pod: what a pod calls, its workload calls.
pub(crate) fn owners(all: &Piece) -> BTreeMap<&Who, &Who> {
    let owned = all.links.iter().filter(|link| link.relation == relation::BACKS);
    owned.map(|link| (&link.source, &link.target)).collect()
}

/// That edges are inferred, and from what.
pub(crate) fn in_words(calls: &BTreeSet<(Who, Who)>, from: &str) -> String {
    let name = |who: &Who| id(who).map_or_else(String::new, |it| it.to_string());
    let told = |(source, target): &(Who, Who)| format!("{} calls {}", name(source), name(target));
    let named: Vec<String> = calls.iter().take(MAX_NAMED).map(told).collect();
    format!("{} edges are inferred from {from}: {}", calls.len(), named.join("; "))
}

/// A call as an edge.
pub(crate) fn link((source, target): (Who, Who)) -> Link {
    let (relation, effects) = ("calls".to_owned(), EffectDirection::TargetToSource);
    Link { source, target, relation, effects }
}

macro_rules! pattern {
    ($pattern:literal) => {{
        static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
        PATTERN.as_ref()
    }};
}

/// The hosts that a line names as called: in addresses, and where proxies name whom they passed a request to (clusters of
/// Istio, the ingress of nginx, `upstream`, `upstream_addr`, `upstream_host`, `upstream_cluster`).
fn hosts(text: &str) -> Vec<&str> {
    let has_address = text.contains("://");
    if !has_address && !["upstream", "outbound|", "] ["].iter().any(|it| text.contains(it)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut add = |pattern: Option<&Regex>, is_called: &dyn Fn(usize) -> bool| {
        let all = pattern.into_iter().flat_map(|pattern| pattern.captures_iter(text));
        let hosts = all.filter_map(|found| {
            let start = found.get(0)?.start();
            Some(found.get(1)?.as_str()).filter(|_| is_called(start))
        });
        found.extend(hosts);
    };
    // Addresses in a line of an access log are those of browsers.
    let is_access = pattern!(r#" HTTP/[\d.]+" \d{3}\b"#).is_some_and(|it| it.is_match(text));
    if has_address && !is_access {
        let is_called = |start: usize| {
            let before = text.get(..start).unwrap_or_default();
            let before = before.trim_end_matches(['"', '\'', '=', ':', ' ']).to_lowercase();
            !OTHERS.iter().any(|word| before.ends_with(word))
        };
        let address =
            pattern!(r"\b[a-z][a-z0-9+.:]{1,30}://(?:[^\s/@]*@)?([A-Za-z0-9][A-Za-z0-9_.-]*)");
        add(address, &is_called);
    }
    let any = |_: usize| true;
    add(pattern!(r"\boutbound\|\d*\|[^|\s]*\|([A-Za-z0-9_.-]+)"), &any);
    add(pattern!(r#" \d+\.\d+ \[([a-z0-9][a-z0-9-]*)-[a-z0-9]+\] \["#), &any);
    add(pattern!(r#"\bproxy_upstream_name"?\s*[=:]\s*"?([a-z0-9][a-z0-9-]*)-[a-z0-9]+"#), &any);
    let field = pattern!(
        r#"\bupstream(?:_addr|_host|_name|_cluster)?"?\s*[=:]\s*"?([A-Za-z0-9][A-Za-z0-9_.-]*)(?::\d+|[\s",;}]|$)"#
    );
    add(field, &any);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_where_a_line_names_whom_it_calls() {
        for (text, expected) in [
            ("GET http://cart.shop.svc:8080/items failed: timeout", "cart.shop.svc"),
            ("connecting to postgres://shop:[masked]@db:5432/orders", "db"),
            ("jdbc:postgresql://db/orders, then redis://cache:6379", "db cache"),
            // What is called by whom, and where a browser was.
            ("request from http://web:80 took 3 s", ""),
            (r#"{"referer":"http://web/","path":"/cart"}"#, ""),
            (
                r#"10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] "GET /cart HTTP/1.1" 503 12 "http://web/" "curl""#,
                "",
            ),
            (
                r#"[error] 12#12: *1 connect() failed, request: "GET / HTTP/1.1", upstream: "http://cart:8080/", host: "shop", referrer: "http://web/""#,
                "cart",
            ),
            (r#""GET /cart HTTP/1.1" 503 12 "-" "curl" upstream_addr=cart:8080 rt=3.0"#, "cart"),
            (
                r#""GET /cart HTTP/1.1" 503 12 "-" "curl" 120 3.001 [shop-cart-8080] [] 10.0.0.7:8080 0 3.0 503 f3"#,
                "shop-cart",
            ),
            (
                r#""GET /cart HTTP/1.1" 503 UF via_upstream - "-" 0 91 3 - "-" "curl" "f3" "cart" "10.0.0.7:8080" outbound|8080|v1|cart.shop.svc.cluster.local 10.0.0.3:1 -"#,
                "cart.shop.svc.cluster.local",
            ),
            ("GET /cart 503 upstream_cluster=cart", "cart"),
            (r#""GET /cart" 503 proxy_upstream_name=shop-cart-8080"#, "shop-cart"),
            ("inbound|8080||cart.shop.svc.cluster.local", ""),
            ("nothing is named here: the upstream is gone", ""),
        ] {
            assert_eq!(hosts(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_host_names_a_service_that_is_known() {
        let service = |namespace: &str, name: &str| Who::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let mut names = Names::default();
        let (cart, test, db) =
            (service("shop", "cart"), service("test", "cart"), Who::service("db"));
        [&cart, &test, &db].into_iter().for_each(|who| names.add(who));
        let web = service("shop", "web");
        for (value, expected) in [
            ("cart.shop.svc.cluster.local", Some(&cart)),
            ("cart.test", Some(&test)),
            ("cart", Some(&cart)),
            ("test-cart", Some(&test)),
            ("db", Some(&db)),
            ("db.shop.svc", Some(&db)),
            ("cart.example.com", None),
            ("10.0.0.7", None),
            ("stranger", None),
        ] {
            assert_eq!(names.named(value, &web).iter().next(), expected, "{value}");
        }
        assert!(names.named("cart", &Who::service("web")).is_empty(), "either may be meant");
    }
}
