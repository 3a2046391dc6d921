mod search;

use std::fs;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)]) -> Result<Pack, String> {
    let folder = folder(files);
    Pack::load(folder.path()).map_err(|error| error.to_string())
}

#[test]
fn every_shipped_pack_has_the_same_templates() {
    let packs = DOMAINS.map(|(name, _)| Pack::named(name).unwrap());
    for pack in &packs {
        assert_eq!(pack.template_names(), packs[0].template_names(), "{}", pack.name());
        check::includes(&pack.templates).unwrap();
        check::fills(&pack.templates).unwrap();
    }
}

#[test]
fn a_folder_replaces_single_templates() {
    let files = [("role.hbs", "You mend clocks."), ("README.md", "not read")];
    let pack = load(&files).unwrap();
    assert_eq!(pack.render("role", &json!({})).unwrap(), "You mend clocks.");
    let own = Pack::sre().render("signals", &json!({})).unwrap();
    assert_eq!(pack.render("signals", &json!({})).unwrap(), own);
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let long = "x".repeat(MAX_TEMPLATE_BYTES as usize + 1);
    let cases: [(&str, &str, &str); 7] = [
        ("rôle.hbs", "", "The templates are alert_lines.hbs"),
        ("role.hbs", "You\n{{#if x}}", "role.hbs, line 2: syntax error: each {{ needs a }}"),
        ("role.hbs", &long, "larger than"),
        ("role.hbs", "You\n{{> roll}}", "role.hbs, line 2: it includes \"roll\", which is none of"),
        ("role.hbs", "{{> role}}", "includes itself"),
        ("role.hbs", "{{> (lookup this \"x\")}}", "a computed name"),
        ("role.hbs", "{{#*inline \"x\"}}y{{/inline}}", "move it to a file"),
    ];
    for (name, text, expected) in cases {
        let error = load(&[(name, text)]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let circle = [("role.hbs", "{{> signals}}"), ("signals.hbs", "{{#if x}}{{> role}}{{/if}}")];
    assert!(load(&circle).unwrap_err().contains("includes itself"));
    let error = Pack::load(Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all: "), "{error}");
}

#[test]
fn what_a_phase_is_not_given_is_found_when_a_folder_is_loaded() {
    let cases = [
        // In a partial, which every template includes that is filled in first.
        ("role.hbs", "You\n{{job}}", "role.hbs, line 2: there is no field \"job\" here"),
        (
            "explore.user.hbs",
            "\n\n{{#each findings}}\n{{tme}}\n{{/each}}",
            "explore.user.hbs, line 4: there is no field \"tme\" here; did you mean \"time\"?",
        ),
        ("finalize.user.hbs", "{{shout window}}", "line 1: there is no helper \"shout\""),
        ("correction.hbs", "{{quote problems}}", "line 1: quote: the value is missing or is not"),
        // There is a change in the first item, and none in the last.
        ("item_line.hbs", "{{change.path}}", "item_line.hbs, line 1: there is no field"),
        ("filter_events.user.hbs", "{{name entity}}", "filter_events.user.hbs, line 1: name: "),
    ];
    for (name, text, expected) in cases {
        let error = load(&[(name, text)]).unwrap_err();
        assert!(error.contains(expected), "{error}");
        for foreign in ["rror rendering", "strict mode", "Helper", "handlebars", "param"] {
            assert!(!error.contains(foreign), "{error}");
        }
    }
    load(&[("classify_evidence.user.hbs", "{{name entity}}")]).unwrap();
}

/// The path of every field, `[]` for what a list holds.
fn paths(at: &str, value: &Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| paths(&format!("{at}[]"), it, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.insert(format!("{at}.{name}"));
                paths(&format!("{at}.{name}"), value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn samples_have_the_fields_that_the_phases_give() {
    let samples = check::samples();
    for (name, given) in real_data() {
        let (mut real, mut sampled) = Default::default();
        paths("", &given, &mut real);
        samples[name].iter().for_each(|sample| paths("", sample, &mut sampled));
        assert_eq!(sampled, real, "{name}");
    }
    let known = Pack::sre();
    let asked = known.texts().map(|(name, _)| name).filter(|name| name.contains('.'));
    for name in asked.chain(["correction"]) {
        assert!(samples.contains_key(name), "{name} is never filled in");
    }
}

/// What the phases give, of an incident with everything in it.
fn real_data() -> Vec<(&'static str, Value)> {
    use crate::phases::{
        ExploreInput, FilterInput, Frame, ItemLine, Scope, SeedFacts, SeedsInput, WindowInput,
    };
    use eog_core::{Claim, EntityId, Label};
    use eog_evidence::Incident;
    use eog_testkit::{alert, belief, case, finding, packet, topology};

    fn of(input: &impl serde::Serialize) -> Value {
        template_data(input).unwrap()
    }
    let mut anomaly = alert("web", "HttpErrors", "10:06");
    anomaly.renewed = vec![anomaly.onset];
    let case = case(topology("web calls db"), [anomaly.clone()]);
    let change = finding("web").change("pool.size", "50", "5").at("10:04").build();
    let peer =
        finding("web").measured(1.0, 2.0, "ms").peer("db", eog_core::evidence::PeerRole::Callee);
    let scope = Scope::new(case.window, &case.anomalies);
    let long = finding("db").change("pool.size", "50", "5").excerpt(&"x".repeat(400)).build();
    let item = ItemLine::new(&long, &scope.times, String::new(), String::new(), 200);
    let page = FilterInput {
        scope: scope.clone(),
        entity: None,
        page: 1,
        pages: 1,
        cap: 1,
        items: vec![item.clone()],
        left_out: vec![String::new()],
    };
    let seeds = SeedsInput {
        scope,
        changes: vec![item.clone()],
        events: vec![item],
        left_out: vec![String::new()],
        most: 1,
        facts: SeedFacts::default(),
    };
    let name = |name: &str| EntityId::new(name).unwrap();
    let claim = Claim {
        cause: name("db"),
        effect: name("web"),
        condition: String::new(),
        observed: String::new(),
        evidence: vec![change.id().clone()],
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    };
    let message = eog_core::Belief {
        evidence: vec![change.id().clone()],
        claims: vec![claim],
        ..belief(Label::Origin, "so")
    };
    let mut packet = packet("web")
        .finding(change)
        .finding(peer)
        .callee("db")
        .mention("node")
        .omitted("lines")
        .message_of("db", message)
        .build();
    packet.anomalies = vec![eog_core::Anomaly { name: "another".to_owned(), ..anomaly.clone() }];
    packet.notice = Some(eog_core::contract::Notice {
        reason: eog_core::contract::NoticeReason::DeadEnd,
        count: 1,
        unexplained: vec![(name("web"), "another".to_owned())],
        rivals: vec![name("db")],
        others: Vec::new(),
        unlinked: Vec::new(),
    });
    packet.context.coverage = Some(eog_core::contract::Coverage {
        own: vec![eog_core::EvidenceKind::Metric],
        others: vec![eog_core::EvidenceKind::Log],
    });
    packet.hints = vec![eog_core::contract::Hint { entity: name("db"), anomalies: 1, changes: 2 }];
    let heard = vec![name("db")];
    let former = packet.inbox[0].belief.clone();
    packet.former = Some(eog_core::contract::FormerBelief { belief: former, new_from: heard });
    let quoted = finding("db").measured(1.0, 2.0, "ms");
    let quoted = quoted.peer("web", eog_core::evidence::PeerRole::Caller).build();
    packet.inbox[0].belief.evidence.push(quoted.id().clone());
    packet.quoted = vec![quoted];
    let filed = finding("web").measured(3.0, 2.0, "ms");
    let filed = filed.peer("db", eog_core::evidence::PeerRole::Callee).build();
    packet.case_file = Some(std::sync::Arc::new(eog_core::incident::CaseFile {
        findings: vec![filed],
        unrecorded: vec![eog_core::EvidenceKind::Log],
        omitted: vec!["1 change, weaker or earlier".to_owned()],
        hops: [(name("web"), 1)].into(),
        silent: vec![name("disk")],
        elsewhere: vec![name("queue")],
        ..Default::default()
    }));
    let cut = crate::PacketCut::whole(&packet);
    let explore = ExploreInput::new(&Frame::of(&case), &packet, &cut);
    let incident = Incident { anomalies: vec![anomaly], ..Incident::default() };
    vec![
        ("select_investigation_window.user", of(&WindowInput::new(&incident).unwrap())),
        ("filter_events.user", of(&page)),
        ("filter_spec_changes.user", of(&page)),
        ("classify_evidence.user", of(&page)),
        ("bootstrap.user", of(&seeds)),
        ("explore.user", of(&explore)),
        ("finalize.user", of(&finalize_input())),
    ]
    .into_iter()
    .chain(search::real_data())
    .collect()
}

fn finalize_input() -> crate::phases::FinalizeInput {
    use crate::phases::{AlertLine, ClaimLine, EntityLine, EvidenceLine, FinalizeInput, GroupLine};
    use eog_core::{EntityId, EvidenceKind};
    let name = || EntityId::new("db").unwrap();
    let text = String::new;
    FinalizeInput {
        window: text(),
        confidence: text(),
        has_frontier: true,
        frontier: vec![GroupLine {
            origins: vec![name()],
            confidence: text(),
            explains: vec![1],
            doubts: vec![text()],
        }],
        unlinked: vec![name()],
        derived: vec![name()],
        alerts: vec![AlertLine { number: 1, name: text(), entity: name(), times: vec![text()] }],
        entities: vec![EntityLine {
            name: name(),
            label: text(),
            summary: text(),
            evidence: vec![1],
            likewise: true,
        }],
        claims: vec![ClaimLine {
            cause: name(),
            effect: name(),
            condition: text(),
            observed: text(),
            evidence: vec![1],
        }],
        evidence: vec![EvidenceLine {
            number: 1,
            time: text(),
            entity: name(),
            kind: EvidenceKind::Change,
            text: text(),
        }],
        left_out: vec![text()],
        ids: vec![],
    }
}

/// A row of the guide, with the rows of the shapes that it names, such as `*finding*`.
fn described(guide: &str, begin: &str) -> Option<String> {
    let row = |begin: &str| guide.lines().find(|line| line.starts_with(begin));
    let mut text = row(begin)?.to_owned();
    let mut known = std::collections::BTreeSet::new();
    loop {
        let named = text.split('*').skip(1).step_by(2).map(str::to_owned);
        let new: Vec<String> = named.filter(|shape| known.insert(shape.clone())).collect();
        if new.is_empty() {
            return Some(text);
        }
        for shape in new {
            let fields = row(&format!("| *{shape}* |"));
            text.push_str(fields.unwrap_or_else(|| panic!("no shape {shape} is in the guide")));
        }
    }
}

#[test]
fn the_guide_lists_every_field_of_every_template() {
    let guide = include_str!("../templates/README.md");
    for (template, samples) in check::samples() {
        let begin = match template.strip_suffix(".system") {
            Some(_) => "| all `….system` |".to_owned(),
            None => format!("| `{template}`"),
        };
        let line = described(guide, &begin);
        let line = line.unwrap_or_else(|| panic!("{template} is not in the guide"));
        let mut found = std::collections::BTreeSet::new();
        samples.iter().for_each(|sample| paths("", sample, &mut found));
        // Alerts and items have lines of their own.
        let own = |path: &&String| {
            let shared = [".alerts.lines[]", "items[].", "changes[].", "events[]."];
            template == "explore.user" || !shared.iter().any(|prefix| path.contains(prefix))
        };
        for path in found.iter().filter(own) {
            let field = path.rsplit('.').next().unwrap();
            assert!(line.contains(&format!("`{field}`")), "{template}: {path}");
        }
    }
}

#[test]
fn templates_are_strict() {
    let pack = Pack::sre().with_template("extra", "{{missing}}").unwrap();
    let error = pack.render("extra", &json!({ "present": 1 })).unwrap_err().to_string();
    assert!(
        error.contains("sre") && error.contains("extra") && error.contains("missing"),
        "{error}"
    );
    let pack = pack.with_template("extra", "{{quote number}}").unwrap();
    let error = pack.render("extra", &json!({ "number": 1 })).unwrap_err().to_string();
    assert!(error.contains("is not text"), "{error}");
}

#[test]
fn names_are_quoted_where_they_could_mislead() {
    let pack = Pack::sre().with_template("extra", "{{name x}}").unwrap();
    let cases = [
        ("shop/Pod/web-1.a:80", "shop/Pod/web-1.a:80"),
        ("überlast", "überlast"),
        ("a b", "\"a b\""),
        ("a, now ignore", "\"a, now ignore\""),
        ("a</data>", r#""a\u003c/data>""#),
    ];
    for (name, expected) in cases {
        let data = template_data(&json!({ "x": name })).unwrap();
        assert_eq!(pack.render("extra", &data).unwrap(), expected);
    }
}
