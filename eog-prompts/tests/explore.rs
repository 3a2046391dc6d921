//! The rules of an explore answer, and what becomes of one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use eog_core::contract::{Coverage, FormerBelief, Hint, Route};
use eog_core::controller::Briefing;
use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Direction;
use eog_core::{Budget, Config, ContextPacket, EntityId, EvidenceId, EvidenceKind, Finding, Label};
use eog_prompts::phases::{
    Explore, ExploreAlternative, ExploreAnswer, ExploreClaim, ExploreInput, ExploreProposal,
    ExploreSearch, Frame, SearchedKind,
};
use eog_prompts::{
    ChatErrorKind, ChatModel, LlmPolicy, MockModel, ModelInfo, Pack, PacketCut, Phase, Prompter,
    Reply, TokenCounter, answer_form, not_strict,
};
use eog_testkit::{
    MemoryContext, alert, ask, belief, case, claim, entity, finding, packet, run, seeded, topology,
};
use serde_json::{Value, json};
use support::{number, policy};

/// db, with: [1] a change at 10:04, [2] errors since 10:05, [3] errors since 09:50, [4] a restart,
/// [5] an exhausted resource, [6] an experiment that is defined, [7] more load from web; and by a
/// message of web: [8] a metric of its own.
fn situation() -> ContextPacket {
    let latency = finding("web").signal(Signal::Latency).measured(9.0, 1.0, "s").build();
    packet("db")
        .finding(finding("db").change("pool.size", "50", "5").at("10:04"))
        .finding(
            finding("db")
                .signal(Signal::Errors)
                .measured(0.3, 0.0, "ratio")
                .during("10:05", "10:30"),
        )
        .finding(
            finding("db")
                .signal(Signal::Errors)
                .measured(0.2, 0.0, "ratio")
                .during("09:50", "10:30"),
        )
        .finding(finding("db").change("started", "1", "2").signal(Signal::Restart).at("10:04"))
        .finding(
            finding("db")
                .signal(Signal::Exhaustion)
                .trend(eog_core::evidence::Trend::Rising)
                .at("10:06"),
        )
        .finding(finding("db").change("fault", "", "on").signal(Signal::Experiment).at("10:03"))
        .finding(
            finding("db")
                .measured(130.0, 100.0, "1/s")
                .signal(Signal::Traffic)
                .during("10:02", "10:30")
                .peer("web", PeerRole::Caller),
        )
        .caller("web")
        .callee("disk")
        .message_of(
            "web",
            eog_core::Belief {
                evidence: vec![latency.id().clone()],
                ..belief(Label::Symptom, "calls to db are slow")
            },
        )
        .build()
}

fn input(packet: &ContextPacket) -> ExploreInput {
    ExploreInput::new(&Frame::unknown(), packet, &PacketCut::whole(packet))
}

fn answer(label: Label, evidence: &[u32]) -> ExploreAnswer {
    ExploreAnswer {
        because: "It is so.".to_owned(),
        claims: Vec::new(),
        other_causes: Vec::new(),
        evidence: evidence.to_vec(),
        label,
        next_page: false,
        proposals: Vec::new(),
        search: Vec::new(),
    }
}

fn explaining(cause: &str, effect: &str, evidence: &[u32]) -> ExploreClaim {
    ExploreClaim {
        cause: cause.to_owned(),
        effect: effect.to_owned(),
        condition: "it is slow".to_owned(),
        observed: "errors".to_owned(),
        evidence: evidence.to_vec(),
    }
}

fn looking(names: &[&str]) -> ExploreAnswer {
    let propose =
        |name: &&str| ExploreProposal { entity: (*name).to_owned(), reason: "why".to_owned() };
    ExploreAnswer {
        proposals: names.iter().map(propose).collect(),
        other_causes: Vec::new(),
        ..answer(Label::Symptom, &[2])
    }
}

fn symptom_of(claims: &[ExploreClaim]) -> ExploreAnswer {
    ExploreAnswer { claims: claims.to_vec(), ..answer(Label::Symptom, &[2]) }
}

#[test]
fn grounded_answers_are_accepted() {
    let input = input(&situation());
    let good = [
        answer(Label::Origin, &[1, 2]),
        answer(Label::Origin, &[1]),
        answer(Label::Origin, &[5]),
        answer(Label::Origin, &[2]),
        answer(Label::Origin, &[6, 2]),
        answer(Label::Symptom, &[2]),
        answer(Label::Healthy, &[7]),
        answer(Label::Defer, &[]),
        ExploreAnswer {
            claims: vec![explaining("db", "web", &[1, 8])],
            ..answer(Label::Origin, &[1])
        },
        symptom_of(&[explaining("web", "db", &[7])]),
        symptom_of(&[explaining("disk", "db", &[2, 8]), explaining("db", "web", &[2])]),
        looking(&["disk", "web"]),
    ];
    for answer in good {
        assert_eq!(Explore::problems(&input, &answer), Vec::<String>::new(), "{answer:?}");
    }
}

#[test]
fn each_broken_rule_is_reported() {
    let input = input(&situation());
    let origin = |evidence: &[u32]| answer(Label::Origin, evidence);
    let with = |claim: ExploreClaim| symptom_of(&[explaining("web", "db", &[7]), claim]);
    let cases: Vec<(ExploreAnswer, &str)> = vec![
        (ExploreAnswer { because: " ".into(), ..origin(&[1]) }, "because is empty"),
        (ExploreAnswer { because: " ".to_owned(), ..origin(&[1]) }, "because is empty"),
        (
            origin(&[1, 9, 0]),
            "evidence: no evidence has the number [9] [0]; evidence is listed as 1 to 8",
        ),
        (origin(&[]), "origin cites nothing"),
        (origin(&[4]), "origin must cite evidence of db itself"),
        (origin(&[6]), "an experiment that is only defined is not enough; listed are [1] [2] [3]"),
        (origin(&[8]), "origin must cite evidence of db itself"),
        (
            ExploreAnswer { claims: vec![explaining("db", "web", &[1, 3])], ..origin(&[1]) },
            "claim 1: the change [1] at 2026-01-01T10:04:00Z came after [3] began",
        ),
        (
            ExploreAnswer {
                claims: vec![explaining("db", "web", &[2])],
                ..answer(Label::Healthy, &[7])
            },
            "claim 1: what works as usual neither harms nor is harmed",
        ),
        (with(explaining("disk", "web", &[2])), "one of the two must be db"),
        (with(explaining("db", "db", &[2])), "cannot explain itself"),
        (with(explaining("disk", "db", &[])), "claim 2 cites nothing"),
        (with(explaining("disk", "db", &[77])), "claim 2: no evidence has the number [77]"),
        (
            with(explaining("dsik", "db", &[2])),
            "claim 2, cause: unknown entity \"dsik\"; nearest: disk; known: db, disk, web",
        ),
        (
            with(ExploreClaim { condition: String::new(), ..explaining("disk", "db", &[2]) }),
            "claim 2, condition is empty",
        ),
        (symptom_of(&vec![explaining("web", "db", &[7]); 7]), "7 claims; at most 6"),
        (looking(&["disk", "web", "db"]), "3 proposals; at most 2"),
        (looking(&["db"]), "db is the entity in question"),
        (looking(&["disk", "disk"]), "proposal 2 repeats disk"),
        (looking(&["zebra"]), "unknown entity \"zebra\"; known"),
    ];
    for (answer, expected) in cases {
        let problems = Explore::problems(&input, &answer);
        assert!(
            problems.iter().any(|problem| problem.contains(expected)),
            "{expected:?} is not in {problems:?}"
        );
    }
}

/// What weakens an answer is stated beside it, and costs no request.
#[test]
fn a_weak_answer_is_accepted_with_its_doubts() {
    let packet = situation();
    let input = input(&packet);
    let origin = |evidence: &[u32]| answer(Label::Origin, evidence);
    let unknown = "it cites neither a change nor a hard failure: no record shows its cause";
    let cases = [
        (origin(&[1, 2]), ""),
        (origin(&[5]), ""),
        (origin(&[2]), unknown),
        (origin(&[4, 2]), "the restart at 2026-01-01T10:04:00Z is an effect and does not count"),
        (origin(&[4, 2]), unknown),
        (origin(&[6, 2]), "the experiment defined at 2026-01-01T10:03:00Z does not count"),
        (origin(&[1, 2, 3]), "harm that it cites began before its change at 2026-01-01T10:04:00Z"),
        (
            ExploreAnswer { claims: vec![explaining("disk", "db", &[2])], ..origin(&[1]) },
            "it also claims a cause of its own harm",
        ),
        (answer(Label::Symptom, &[2]), "it names no cause, and nowhere to look for one"),
        (looking(&["disk"]), ""),
        (answer(Label::Defer, &[]), ""),
    ];
    for (answer, doubt) in cases {
        assert_eq!(Explore::problems(&input, &answer), Vec::<String>::new(), "{answer:?}");
        let decision = input.decision(&answer);
        assert_eq!(decision.label, answer.label);
        match doubt {
            "" => assert_eq!(decision.summary, "It is so.", "{answer:?}"),
            _ => {
                let said = &decision.summary;
                assert!(said.starts_with("It is so. [doubts: ") && said.contains(doubt), "{said}");
            }
        }
    }
}

/// The controller confirms an origin by the changes that it cites, so one in doubt is not among them.
#[test]
fn a_change_in_doubt_confirms_nothing() {
    let packet = situation();
    let input = input(&packet);
    let of = |number: usize| packet.context.findings[number - 1].id().clone();
    let claims = vec![explaining("db", "web", &[4, 2]), explaining("db", "disk", &[4])];
    let decision = input.decision(&ExploreAnswer { claims, ..answer(Label::Origin, &[4, 6, 5]) });
    assert_eq!(decision.evidence, [of(5)]);
    assert_eq!(decision.claims[0].evidence, [of(2)]);
    assert_eq!(decision.claims[1].evidence, [of(5)], "a claim rests on something");
    // A symptom restarted as a matter of fact.
    let symptom = input.decision(&answer(Label::Symptom, &[4, 2]));
    assert_eq!(symptom.evidence, [of(4), of(2)]);
}

#[test]
fn all_broken_rules_are_reported_at_once() {
    let claims = vec![explaining("unknown", "nothing", &[])];
    let bad = ExploreAnswer { because: String::new(), claims, ..answer(Label::Origin, &[99]) };
    let problems = Explore::problems(&input(&situation()), &bad);
    assert!(problems.len() >= 6, "{problems:?}");
}

#[test]
fn without_evidence_nothing_but_defer_can_be_said() {
    let input = input(&packet("db").caller("web").build());
    for label in [Label::Healthy, Label::Symptom, Label::Origin] {
        let problems = Explore::problems(&input, &answer(label, &[]));
        assert!(problems.iter().any(|problem| problem.contains("say defer")), "{problems:?}");
    }
    assert!(Explore::problems(&input, &answer(Label::Defer, &[])).is_empty());
}

#[test]
fn a_change_after_every_alert_explains_none() {
    let packet = packet("db").finding(finding("db").change("a", "1", "2").at("10:20")).build();
    let problems = |onset: &str| {
        let case = case(topology("web calls db"), [alert("web", "HttpErrors", onset)]);
        let input = ExploreInput::new(&Frame::of(&case), &packet, &PacketCut::whole(&packet));
        Explore::problems(&input, &answer(Label::Origin, &[1]))
    };
    assert!(problems("10:10")[0].contains("came after every alert"));
    assert!(problems("10:19:30").is_empty(), "what is measured late may still follow");
    assert!(problems("10:25").is_empty());
}

#[test]
fn an_experiment_that_ran_is_a_cause() {
    let defined = finding("db").change("fault", "", "on").signal(Signal::Experiment).at("10:03");
    let ran = finding("db").signal(Signal::Experiment).at("10:04");
    let input = input(&packet("db").finding(defined).finding(ran).build());
    assert!(Explore::problems(&input, &answer(Label::Origin, &[1, 2])).is_empty());
    assert!(!Explore::problems(&input, &answer(Label::Origin, &[1])).is_empty());
}

#[test]
fn an_experiment_ran_where_what_its_schedule_owns_did() {
    let defined = finding("db").change("fault", "", "on").signal(Signal::Experiment).at("10:03");
    let ran = finding("disk").signal(Signal::Experiment).at("10:04");
    let input = input(&packet("db").finding(defined).finding(ran).build());
    assert!(Explore::problems(&input, &answer(Label::Origin, &[1, 2])).is_empty());
    assert!(!Explore::problems(&input, &answer(Label::Origin, &[1])).is_empty());
}

#[test]
fn other_causes_are_kept_with_what_speaks_against_them() {
    let input = input(&situation());
    let other = |cause: &str| ExploreAlternative {
        cause: cause.into(),
        mechanism: "It answers late [2].".into(),
        objection: "Its latency is as usual [7].".into(),
    };
    let other_causes = ["web", "db", "the payment provider", "disk"].map(other).to_vec();
    let answer = ExploreAnswer { other_causes, ..answer(Label::Origin, &[2]) };
    assert!(Explore::problems(&input, &answer).is_empty());
    let kept = input.decision(&answer).alternatives;
    let kept: Vec<_> = kept
        .iter()
        .map(|it| (it.label, it.cause.as_ref().map(EntityId::as_str), it.summary.as_str()))
        .collect();
    assert_eq!(
        kept,
        [
            (Label::Symptom, Some("web"), "It answers late."),
            (Label::Origin, None, "It answers late."),
            // An outside system is no entity.
            (Label::Symptom, None, "the payment provider: It answers late."),
        ]
    );
}

#[test]
fn an_outside_system_is_a_cause_where_a_cited_line_names_it() {
    let refused = finding("web").signal(Signal::Errors).excerpt("api.example.com: 503").build();
    let says = eog_core::Belief {
        evidence: vec![refused.id().clone()],
        claims: vec![claim("api.example.com", "web", [&refused]).from_outside()],
        ..belief(Label::Symptom, "the provider fails")
    };
    let packet = packet("db")
        .finding(finding("db").signal(Signal::Errors).excerpt("calls to SMTP.example.com fail"))
        .finding(finding("db").signal(Signal::Latency).excerpt("slow"))
        .caller("web")
        .message_of("web", says)
        .quoting(refused)
        .build();
    let input = input(&packet);
    let blaming = |cause: &str, effect: &str, evidence: &[u32]| ExploreAnswer {
        claims: vec![explaining(cause, effect, evidence)],
        ..answer(Label::Symptom, &[1])
    };
    for (cause, evidence) in [("smtp.example.com", 1), ("api.example.com", 3)] {
        let good = blaming(cause, "db", &[evidence]);
        assert_eq!(Explore::problems(&input, &good), Vec::<String>::new());
        let claims = input.decision(&good).claims;
        assert!(claims[0].outside && claims[0].cause.as_str() == cause, "{claims:?}");
    }
    for (cause, effect, evidence, told) in [
        ("smtp.example.com", "db", 2, "must be named in a line that is cited"),
        ("ftp.example.com", "db", 1, "must be named in a line that is cited"),
        ("smtp.example.com", "web", 1, "one of the two must be db"),
        ("db", "smtp.example.com", 1, "effect: unknown entity"),
    ] {
        let problems = Explore::problems(&input, &blaming(cause, effect, &[evidence]));
        assert!(problems.iter().any(|it| it.contains(told)), "{cause} {effect}: {problems:?}");
    }
    assert!(!input.decision(&blaming("web", "db", &[1])).claims[0].outside, "web is an entity");
}

#[test]
fn what_a_bound_does_not_cover_stands_against_it() {
    let metric = |metric: &str| {
        let text = format!("{metric} from 20 to 900 ms");
        finding("db").signal(Signal::Latency).measured(900.0, 20.0, "ms").excerpt(&text)
    };
    let bound =
        "contribution bound by latency_p50: at most 0 % of the time lost by web can come from db";
    let note = |signal, excerpt: &str| {
        finding("db").kind(EvidenceKind::Note).signal(signal).excerpt(excerpt)
    };
    let timeout = finding("db").kind(EvidenceKind::Log).signal(Signal::Errors);
    let packet = packet("db")
        .finding(note(Signal::Latency, bound))
        .finding(metric("latency_p50"))
        .finding(metric("latency_p95"))
        .finding(timeout.trend(Trend::Rising).excerpt("timeout waiting for upstream"))
        .finding(finding("web").signal(Signal::Latency).measured(9.0, 1.0, "s"))
        .caller("web")
        .build();
    let shown = serde_json::to_value(input(&packet)).unwrap();
    let against = |at: usize| shown["findings"][at]["against"].clone();
    assert_eq!(against(0), json!([3, 4]), "the same metric and other entities are covered");
    assert_eq!(against(2), json!([]));
}

#[test]
fn numbers_and_names_are_mapped_back() {
    let packet = situation();
    let input = input(&packet);
    let of = |number: usize| packet.context.findings[number - 1].id().clone();
    let cited = packet.inbox[0].belief.evidence[0].clone();
    let decision = input.decision(&ExploreAnswer {
        claims: vec![explaining("web", "db", &[7, 8])],
        ..answer(Label::Symptom, &[2, 7, 2])
    });
    assert_eq!(decision.evidence, [of(2), of(7)]);
    assert_eq!(decision.claims[0].evidence, [of(7), cited]);
    assert_eq!(decision.claims[0].cause, entity("web"));
    assert_eq!(decision.summary, "It is so.");

    // Where a neighbour stands is declared.
    let decision = input.decision(&looking(&["disk", "web"]));
    let directions: Vec<Direction> =
        decision.proposals.iter().map(|proposal| proposal.direction).collect();
    assert_eq!(directions, [Direction::Upstream, Direction::Downstream]);

    // Numbers count what this question shows: readers of the text have others.
    let because = "It rose [2], then fell [7] [2].".to_owned();
    let numbered = ExploreAnswer { because, ..answer(Label::Defer, &[2]) };
    assert_eq!(input.decision(&numbered).summary, "It rose, then fell.");
}

/// A message may cite what is listed here already: that is one piece of evidence, with one number.
#[test]
fn evidence_has_one_number_wherever_it_is_cited() {
    let shared = finding("db").excerpt("shared").build();
    let (other, elsewhere) = (finding("web").excerpt("other").build(), finding("job").build());
    let ids =
        |found: &[&Finding]| -> Vec<EvidenceId> { found.iter().map(|f| f.id().clone()).collect() };
    let says = |found: &[&Finding]| eog_core::Belief {
        evidence: ids(found),
        ..belief(Label::Symptom, "so")
    };
    let packet = packet("db")
        .finding(shared.clone())
        .message_of("job", says(&[&other]))
        .message_of("web", says(&[&shared, &other, &elsewhere]))
        .build();
    // Of a message that cites what is shown, the rest has no number; of one that does not, all has.
    let decision = input(&packet).decision(&answer(Label::Defer, &[3, 2, 1, 4]));
    assert_eq!(decision.evidence, ids(&[&other, &shared]));
}

#[test]
fn what_was_before_the_window_is_said_to_be() {
    let of = |earliest: &str, latest: &str| {
        let found = finding("db").during("10:02", "10:30").began(earliest, latest);
        let packet = packet("db").finding(found).build();
        serde_json::to_value(input(&packet)).unwrap()["findings"][0]["began"].clone()
    };
    assert_eq!(of("10:01", "10:02"), "10:01-10:02");
    assert_eq!(of("09:00", "10:02"), "by 10:02");
    assert_eq!(of("09:00", "10:03"), "", "it was there before that");
    assert_eq!(of("08:00", "09:00"), "before the window, by 09:00");
}

#[test]
fn the_form_is_one_that_strict_modes_take() {
    assert_eq!(not_strict(&answer_form::<ExploreAnswer>("explore").schema), Vec::<String>::new());
}

#[test]
fn a_model_that_names_an_unknown_entity_gets_the_known_names() {
    let good = json!({
        "because": "Web sends more.", "label": "symptom", "evidence": [5, 7], "next_page": false, "search": [],
        "claims": [{ "cause": "web", "effect": "db", "condition": "more load",
                     "observed": "it ran out", "evidence": [7] }],
        "other_causes": [], "proposals": [],
    });
    let bad = good.to_string().replace("\"web\"", "\"wbe\"");
    let model = Arc::new(MockModel::new("mock/a").then(bad).then(good));
    let answer = ask(&policy(Pack::sre(), &model), &situation()).unwrap();
    assert_eq!(answer.decision.claims[0].cause, entity("web"));
    assert_eq!(answer.usage.model_calls, 2);
    assert!(!answer.remembered);
    let correction = &model.requests()[1].messages[3].text;
    assert!(correction.contains(r#"unknown entity \"wbe\"; nearest: web"#), "{correction}");
}

/// That nothing stands out where metrics, logs or spans were recorded has no number to cite.
#[test]
fn silence_speaks_for_health_where_harm_would_have_been_recorded() {
    let problems = |own: &[EvidenceKind]| {
        let coverage = Coverage { own: own.to_vec(), others: Vec::new() };
        let mut packet = packet("db").caller("web").build();
        packet.context.coverage = Some(coverage);
        Explore::problems(&input(&packet), &answer(Label::Healthy, &[]))
    };
    assert_eq!(problems(&[EvidenceKind::Change, EvidenceKind::Span]), [] as [String; 0]);
    let said = problems(&[EvidenceKind::Change, EvidenceKind::Event]);
    assert!(said[0].contains("say defer"), "{said:?}");
}

/// A text that is too long is cut where a sentence ends, and costs no second request.
#[test]
fn a_long_text_is_cut_and_not_sent_back() {
    let input = input(&situation());
    let long = format!("{}It is not kept any more.", "It sends more load. ".repeat(30));
    let answer = ExploreAnswer { because: long, ..answer(Label::Origin, &[1]) };
    assert_eq!(Explore::problems(&input, &answer), [] as [String; 0]);
    let summary = input.decision(&answer).summary;
    assert_eq!(summary.chars().count(), 581);
    assert!(summary.ends_with("It sends more load. …"), "{summary}");
}

/// What to evaluate next is a suggestion: an unknown name is not worth another request, unless
/// the judgement rests on it.
#[test]
fn a_wrong_proposal_is_left_out_at_once() {
    let reply = |claims: Value| {
        json!({
            "because": "Web sends more.", "label": "symptom", "evidence": [5, 7],
            "next_page": false, "search": [], "claims": claims, "other_causes": [],
            "proposals": [{ "entity": "zebra", "reason": "it may help" },
                          { "entity": "web", "reason": "what it sends" }],
        })
    };
    let claim = json!([{ "cause": "web", "effect": "db", "condition": "more load",
                         "observed": "it ran out", "evidence": [7] }]);
    let asked = |claims: Value| {
        let model =
            Arc::new(MockModel::new("mock/a").then(reply(claims.clone())).then(reply(claims)));
        let answer = ask(&policy(Pack::sre(), &model), &situation()).unwrap();
        (answer, model.requests().len())
    };
    let (answer, requests) = asked(claim);
    assert_eq!((requests, answer.usage.model_calls), (1, 1));
    assert_eq!(answer.decision.claims.len(), 1);
    let proposed: Vec<&str> =
        answer.decision.proposals.iter().map(|proposal| proposal.entity.as_str()).collect();
    assert_eq!(proposed, ["web"]);
    let said = &answer.decision.summary;
    assert!(said.starts_with("Web sends more. [refused: proposal 1: unknown entity"), "{said}");
    assert_eq!(asked(json!([])).1, 1, "another proposal is enough for a symptom");
}

/// A claim that stays wrong is refused alone, with its reason; the judgement stands, in doubt if it
/// rested on that claim.
#[test]
fn a_claim_that_stays_wrong_does_not_cost_the_judgement() {
    let reply = |causes: &[&str]| {
        let claims = causes.iter().map(|cause| {
            json!({ "cause": cause, "effect": "db", "condition": "more load",
                    "observed": "it ran out", "evidence": [7] })
        });
        json!({
            "because": "Web sends more.", "label": "symptom", "evidence": [5, 7],
            "next_page": false, "search": [], "claims": claims.collect::<Vec<_>>(), "other_causes": [],
            "proposals": [{ "entity": "zebra", "reason": "it may help" }],
        })
    };
    let asked = |causes: &[&str]| {
        let model = Arc::new(MockModel::new("mock/a").then(reply(causes)).then(reply(causes)));
        ask(&policy(Pack::sre(), &model), &situation())
    };
    let decision = asked(&["flagd", "web"]).unwrap().decision;
    assert_eq!(decision.label, Label::Symptom);
    assert_eq!(decision.claims.len(), 1);
    assert_eq!(decision.claims[0].cause, entity("web"));
    assert!(decision.proposals.is_empty());
    let said = &decision.summary;
    assert!(said.starts_with("Web sends more. [refused: claim 1, cause: unknown"), "{said}");
    assert!(said.contains("proposal 1: unknown entity"), "{said}");

    let decision = asked(&["flagd"]).unwrap().decision;
    assert_eq!((decision.label, decision.claims.len()), (Label::Symptom, 0));
    let said = &decision.summary;
    assert!(said.ends_with(" [doubts: it names no cause, and nowhere to look for one]"), "{said}");
}

/// Whatever a packet holds, its prompt fits, and says what it leaves out.
#[test]
fn a_packet_fits_any_model_that_has_room_for_the_instructions() {
    let mut built = packet("db");
    for index in 0..400 {
        let text = format!("line {index}: {}", "telemetry ".repeat(20));
        let name = format!("shop/Pod/worker-{index}");
        built = built.finding(finding("db").excerpt(&text)).caller(&name).message(
            &name,
            Label::Symptom,
            &text,
        );
    }
    let packet = built.build();
    for context_tokens in [4_000, 16_000, 128_000] {
        let info = ModelInfo {
            name: "mock/a".to_owned(),
            context_tokens,
            max_output_tokens: 1_000,
            tokenizer: "o200k_base".to_owned(),
            timeout: None,
        };
        let model = Arc::new(MockModel::with_info(info.clone()));
        let policy =
            LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), vec![model as Arc<dyn ChatModel>]));
        let request = policy.prompt(&packet).unwrap();
        let tokens = TokenCounter::of(&info).request(&request);
        assert!(tokens + 1_000 <= u64::from(context_tokens), "{tokens} of {context_tokens}");
        assert!(number(&request, "line 0:").is_some());
        let whole = number(&request, "line 399:").is_some();
        assert_eq!(request.messages[1].text.contains("<data left-out>"), !whole);
    }
    let tiny = ModelInfo {
        name: "mock/tiny".to_owned(),
        context_tokens: 900,
        max_output_tokens: 300,
        tokenizer: "o200k_base".to_owned(),
        timeout: None,
    };
    let tiny: Arc<dyn ChatModel> = Arc::new(MockModel::with_info(tiny));
    let policy = LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), vec![tiny]));
    let error = policy.prompt(&packet).unwrap_err().to_string();
    assert!(error.contains("mock/tiny accepts only 600"), "{error}");
}

/// Claims of a neighbour about others are counted, not listed.
#[test]
fn claims_of_a_neighbour_about_this_entity_come_first() {
    let mut says = belief(Label::Symptom, "so");
    let others = (0..7).map(|at| claim(&format!("disk-{at}"), "web", []));
    says.claims = others.chain([claim("db", "web", [])]).collect();
    let packet = packet("db").message_of("web", says).build();
    let model = Arc::new(MockModel::new("mock/a"));
    let request = policy(Pack::sre(), &model).prompt(&packet).unwrap();
    let text = &request.messages[1].text;
    assert!(text.contains("claims db explains web"), "{text}");
    assert!(text.contains("claims disk-4 explains web"), "{text}");
    assert!(text.contains("and 2 more claims") && !text.contains("disk-5"), "{text}");
}

/// web, whose evidence describes a route: flags > api > web.
fn at_the_end_of_a_route() -> ContextPacket {
    let route = finding("web").signal(Signal::Route).peer("api", PeerRole::NextUpstream).build();
    let mut packet = packet("web")
        .finding(route.clone())
        .finding(finding("web").signal(Signal::Errors).measured(0.3, 0.0, "ratio"))
        .callee("api")
        .build();
    let hops = ["flags", "api", "web"].map(entity).to_vec();
    packet.context.routes = vec![Route { finding: route.id().clone(), hops }];
    packet
}

#[test]
fn a_claim_to_the_far_end_of_a_route_is_made_hop_by_hop() {
    let packet = at_the_end_of_a_route();
    let input = input(&packet);
    let [route, errors] = [0, 1].map(|at| packet.context.findings[at].id().clone());
    let edges = |answer: &ExploreAnswer| {
        assert_eq!(Explore::problems(&input, answer), Vec::<String>::new());
        let claims = input.decision(answer).claims;
        let edge = |claim: &eog_core::Claim| {
            (claim.cause.to_string(), claim.effect.to_string(), claim.evidence.clone())
        };
        claims.iter().map(edge).collect::<Vec<_>>()
    };
    let hop = |cause: &str, effect: &str, ids: &[&EvidenceId]| {
        (cause.to_owned(), effect.to_owned(), ids.iter().copied().cloned().collect::<Vec<_>>())
    };
    let far = symptom_of(&[explaining("flags", "web", &[1, 2])]);
    let expected = [hop("flags", "api", &[&route]), hop("api", "web", &[&route, &errors])];
    assert_eq!(edges(&far), expected);
    // What it says of one hop itself stands.
    let both = symptom_of(&[explaining("flags", "web", &[2]), explaining("api", "web", &[2])]);
    let expected = [hop("api", "web", &[&errors]), hop("flags", "api", &[&route])];
    assert_eq!(edges(&both), expected);
    // Each hop may be claimed by itself, along the route alone.
    let single = symptom_of(&[explaining("flags", "api", &[1]), explaining("api", "web", &[1])]);
    assert_eq!(edges(&single).len(), 2);
    for wrong in [explaining("api", "flags", &[1]), explaining("flags", "api", &[2])] {
        let problems = Explore::problems(&input, &symptom_of(&[wrong]));
        assert!(problems.iter().any(|it| it.contains("on a route that it cites")), "{problems:?}");
    }
}

#[test]
fn a_page_more_can_be_asked_for_where_there_is_one() {
    let mut packet = at_the_end_of_a_route();
    let more = ExploreAnswer { next_page: true, ..answer(Label::Defer, &[77]) };
    let problems = Explore::problems(&input(&packet), &more);
    assert_eq!(problems, ["there is no further page; judge by what is shown"]);
    packet.context.pages_left = 2;
    let input = input(&packet);
    assert_eq!(Explore::problems(&input, &more), Vec::<String>::new());
    assert!(input.decision(&more).next_page);
    assert!(!input.decision(&answer(Label::Symptom, &[2])).next_page);
}

#[test]
fn a_search_can_be_asked_for_as_long_as_some_are_left() {
    let mut packet = at_the_end_of_a_route();
    let search = |entity: &str| ExploreSearch {
        entity: entity.into(),
        kind: SearchedKind::Log,
        text: "lock".into(),
    };
    let asking = |searches| ExploreAnswer { search: searches, ..answer(Label::Defer, &[77]) };
    let (one, two) = (asking(vec![search("api")]), asking(vec![search("api"), search("api")]));
    let problems = Explore::problems(&input(&packet), &one);
    assert_eq!(problems, ["no search is left; leave \"search\" empty and judge by what is shown"]);
    packet.queries_left = 2;
    let input = input(&packet);
    assert_eq!(Explore::problems(&input, &one), Vec::<String>::new());
    assert_eq!(Explore::problems(&input, &two), ["2 searches; one at a time is allowed"]);
    assert_eq!(Explore::problems(&input, &asking(vec![search("nowhere")])).len(), 1);
    let query = input.decision(&one).query.unwrap();
    assert_eq!(
        (query.entity, query.kind, &*query.text),
        (entity("api"), EvidenceKind::Log, "lock")
    );
    let model = Arc::new(MockModel::new("mock/a"));
    let request = policy(Pack::sre(), &model).prompt(&packet).unwrap();
    assert!(request.messages[1].text.contains("Searches left: 2."));
}

/// Model, policy, controller and contract: what a search finds stands in the next question, and can be cited.
#[test]
fn what_a_search_finds_is_shown_and_cited() {
    let hidden = finding("db").kind(EvidenceKind::Log).excerpt("lock held by migration 7").build();
    let id = hidden.id().clone();
    let context = MemoryContext::default()
        .with(finding("web").signal(Signal::Latency).measured(9.0, 1.0, "s"))
        .from_visit(9, hidden);
    let asks = json!({ "because": "Something may hold a lock.", "label": "defer", "evidence": [],
        "next_page": false, "claims": [], "proposals": [], "other_causes": [],
        "search": [{ "entity": "db", "kind": "log", "text": "LOCK" }] })
    .to_string();
    let judges = json!({ "because": "It waits for a lock.", "label": "symptom", "evidence": [1, 2],
        "next_page": false, "proposals": [], "other_causes": [], "search": [],
        "claims": [{ "cause": "db", "effect": "web", "condition": "a lock", "observed": "it waits",
                     "evidence": [2] }] })
    .to_string();
    let model =
        Arc::new(MockModel::new("mock/a").then(Reply::text(asks)).then(Reply::text(judges)));
    let briefing = Some(Briefing { queries: 1, ..Briefing::default() });
    let budget = Budget::hops(2);
    let config = Config { briefing, budget, ..Config::default() };
    let case = seeded(topology("web calls db"), ["web"]);
    let finished = run(config, case, &context, &policy(Pack::sre(), &model));
    let belief = finished.ledger().evaluations().nth(1).unwrap().outcome.belief.clone();
    assert!(belief.evidence.contains(&id), "{belief:?}");
    assert_eq!(context.requests()[1].query.as_ref().unwrap().text, "LOCK");
    let asked: Vec<String> =
        model.requests().iter().map(|it| it.messages[1].text.clone()).collect();
    assert!(asked[0].contains("Searches left: 1.") && !asked[0].contains("migration"), "{asked:?}");
    assert!(asked[1].contains("migration 7") && !asked[1].contains("Searches left"), "{asked:?}");
}

#[test]
fn a_prompt_shows_what_is_known_around_the_evidence() {
    let mut packet = situation();
    let latency = finding("web").signal(Signal::Latency).measured(9.0, 1.0, "s").build();
    packet.context.findings.clear();
    packet.context.coverage = Some(Coverage {
        own: vec![EvidenceKind::Metric],
        others: vec![EvidenceKind::Log, EvidenceKind::Span],
    });
    packet.context.pages_left = 1;
    packet.hints = vec![Hint { entity: entity("disk"), anomalies: 0, changes: 1 }];
    packet.quoted = vec![latency];
    let held = belief(Label::Defer, "nothing is known");
    packet.former = Some(FormerBelief { belief: held, new_from: vec![entity("web")] });
    let model = Arc::new(MockModel::new("mock/a"));
    let request = policy(Pack::sre(), &model).prompt(&packet).unwrap();
    let text = &request.messages[1].text;
    for said in [
        "Recorded of it: metrics. Only of other entities: logs, spans. Of no entity: changes, events.",
        "In what was recorded of it, nothing stands out.",
        "(pages: 1). next_page asks for the next one",
        "disk (1 change)",
        "\nweb [1] ",
        "It was judged defer: \"nothing is known\"",
        "New since then: messages of web.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// What is too long is read in chunks first, and all calls are counted.
#[test]
fn a_long_context_is_read_in_chunks() {
    let mut built = packet("db");
    for index in 0..300 {
        let text = format!("line {index}: {}", "telemetry ".repeat(20));
        built = built.finding(finding("db").excerpt(&text));
    }
    let packet = built.build();
    let info = ModelInfo {
        name: "mock/a".to_owned(),
        context_tokens: 8_000,
        max_output_tokens: 1_000,
        tokenizer: "o200k_base".to_owned(),
        timeout: None,
    };
    let keep = json!({
        "relevant": [{ "number": 1, "part": "cause" }], "total_relevant": 1, "reasoning": "first",
    });
    let model = Arc::new(
        MockModel::with_info(info)
            .when_phase("classify_evidence", keep)
            .when_phase("explore", json!(answer(Label::Defer, &[]))),
    );
    let answered = ask(&policy(Pack::sre(), &model), &packet).unwrap();
    let requests = model.requests();
    let (explore, chunks) = requests.split_last().unwrap();
    assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.phase == "classify_evidence"));
    assert_eq!(answered.usage.model_calls, requests.len() as u64);
    assert!(number(explore, "line 0:").is_some());
    assert!(explore.messages[1].text.contains("<data left-out>"));

    // A failure reports what the chunks took, too.
    let failure = Reply::error(ChatErrorKind::Unavailable, "down");
    let keep = json!({ "relevant": [], "total_relevant": 0, "reasoning": "none" });
    let info = model.info().clone();
    let model = Arc::new(
        MockModel::with_info(info)
            .when_phase("classify_evidence", keep)
            .when_phase("explore", failure),
    );
    let failure = ask(&policy(Pack::sre(), &model), &packet).unwrap_err();
    assert!(failure.transient);
    assert_eq!(failure.usage.model_calls, model.requests().len() as u64 - 1);
}

/// What was refused of a judgement is for readers of the result; a model would repeat it.
#[test]
fn prompts_show_former_judgements_without_what_was_refused_of_them() {
    let mut packet = situation();
    let account = "[refused: claim 1: no entity \"x\"] [doubts: no record shows its cause]";
    let held = belief(Label::Defer, &format!("nothing is known {account}"));
    packet.former = Some(FormerBelief { belief: held, new_from: vec![entity("web")] });
    let model = Arc::new(MockModel::new("mock/a"));
    let request = policy(Pack::sre(), &model).prompt(&packet).unwrap();
    let text = &request.messages[1].text;
    assert!(text.contains("It was judged defer: \"nothing is known\"\n"), "{text}");
    assert!(!text.contains("[refused") && !text.contains("[doubts"), "{text}");
}

#[test]
fn what_stands_out_elsewhere_may_be_cited_named_and_rested_on() {
    let change = finding("flags").change("cart", "off", "on").at("10:04").build();
    let own = finding("cart").measured(900.0, 20.0, "ms").during("10:05", "10:30").build();
    let packet = packet("shop").in_case_file(change.clone()).in_case_file(own).build();
    let shown = ExploreInput::new(&Frame::unknown(), &packet, &PacketCut::whole(&packet));
    let answer = |evidence: Vec<u32>| {
        json!({ "because": "What both share was changed.", "label": "origin", "evidence": evidence,
            "next_page": false, "search": [], "claims": [{ "cause": "shop", "effect": "cart", "evidence": [2],
            "condition": "its flag", "observed": "slower" }], "proposals": [], "other_causes": [] })
    };
    let parse = |value| serde_json::from_value(value).unwrap();
    assert_eq!(Explore::problems(&shown, &parse(answer(vec![1]))), Vec::<String>::new());
    let decision = shown.decision(&parse(answer(vec![1])));
    assert_eq!(decision.evidence, [change.id().clone()]);
    assert!(decision.summary.contains("it cites evidence of other entities alone"), "{decision:?}");
    assert!(!Explore::problems(&shown, &parse(answer(vec![9]))).is_empty(), "an unknown number");
}
