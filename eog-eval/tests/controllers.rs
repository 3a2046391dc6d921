//! Controllers over a simulated judge: repeatable, right where the judge is, and of the shape that
//! their assumptions imply.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use eog_eval::controllers::{
    Condition, Contender, ControllersReport, EogRun, Exploration, LinearLoop, OracleRates, Profile,
    Settings, ToldLoop, compare, compare_under,
};

fn small(wrong: f64) -> Settings {
    Settings {
        scenarios: 4,
        runs: 3,
        entities: 16,
        rates: OracleRates::wrong(wrong),
        ..Settings::default()
    }
}

fn majority(report: &ControllersReport, contender: Contender, wrong: f64) -> f64 {
    report.summary(&Condition::usual(contender, wrong)).unwrap().majority.value
}

fn eog(messages: bool) -> Contender {
    Contender::Eog(EogRun { profile: Profile::Default, messages })
}

#[test]
fn equal_settings_give_equal_bytes() {
    let settings = Settings { scenarios: 2, runs: 2, entities: 10, ..Settings::default() };
    let (one, again) = (compare(&settings).unwrap(), compare(&settings).unwrap());
    assert_eq!(one.to_csv(), again.to_csv());
    assert_eq!(one.to_string(), again.to_string());
    assert_eq!(one.cases.len(), one.conditions.len() * 2 * 2);
    let other = compare(&Settings { seed: 2, ..settings.clone() }).unwrap();
    assert_ne!(one.to_csv(), other.to_csv());
    // Incidents do not hang on how many there are.
    let fewer = compare(&Settings { scenarios: 1, ..settings }).unwrap();
    let first = one.cases.iter().filter(|case| case.scenario == 0);
    assert!(first.eq(&fewer.cases));
}

#[test]
fn a_judge_without_errors_leads_everybody_who_forgets_nothing_to_the_truth() {
    for origins in [1, 2] {
        let mut conditions = Condition::all(0.0);
        conditions.retain(|condition| condition.wrong == 0.0);
        let settings = Settings { origins, scenarios: 3, runs: 1, ..small(0.0) };
        let report = compare_under(&settings, conditions).unwrap();
        let mut looked_at = 0;
        for case in &report.cases {
            let Condition { contender, wrong, order, .. } = report.conditions[case.condition];
            let sees_all = match contender {
                Contender::Eog(_) => true,
                Contender::Linear(LinearLoop { memory, commits, .. }) => {
                    memory == usize::MAX && (!commits || origins == 1)
                }
                // Six hypotheses do not reach every cause.
                Contender::Search(eog_eval::controllers::TreeSearch::Hypotheses) => false,
                // Thirty rounds by lot do not either.
                Contender::Search(eog_eval::controllers::TreeSearch::TreeSeekerByLot) => false,
                // A tree search ends with the first result that it accepts.
                Contender::Search(_) => origins == 1,
                // What a change of one choice costs is what is measured.
                Contender::Ablated(_) => false,
                Contender::Told(ToldLoop { slips, .. }) => slips == 0.0,
            };
            assert_eq!(wrong, 0.0);
            if sees_all {
                looked_at += 1;
                assert_eq!(case.named, case.causes, "{contender}, {order}, {}", case.scenario);
            }
        }
        assert!(looked_at >= 3 * 10, "{looked_at}");
        // Who commits to the first of two does not find the second.
        let linear = majority(&report, Contender::linear(), 0.0);
        assert_eq!(linear, if origins == 1 { 1.0 } else { 0.0 });
    }
}

#[test]
fn messages_help_and_slips_harm_as_assumed() {
    let told = |slips| Contender::Told(ToldLoop { slips, ..ToldLoop::default() });
    let usual = [eog(false), eog(true), told(0.0), told(0.05), told(0.2)];
    let mut conditions = usual.map(|contender| Condition::usual(contender, 0.3)).to_vec();
    conditions.extend(
        [Exploration::Favourable, Exploration::Adverse]
            .map(|order| Condition { order, ..Condition::usual(Contender::linear(), 0.3) }),
    );
    let settings = Settings { scenarios: 12, entities: 20, ..small(0.3) };
    let report = compare_under(&settings, conditions).unwrap();
    let (off, on) = (majority(&report, eog(false), 0.3), majority(&report, eog(true), 0.3));
    assert!(on > off + 0.2, "{off} {on}");
    let slipping = [0.0, 0.05, 0.2].map(|slips| majority(&report, told(slips), 0.3));
    assert!(slipping[0] > slipping[1] && slipping[1] > slipping[2], "{slipping:?}");
    let orders = [Exploration::Favourable, Exploration::Adverse].map(|order| {
        let condition = Condition { order, ..Condition::usual(Contender::linear(), 0.3) };
        report.summary(&condition).unwrap().majority.value
    });
    assert!(orders[0] > orders[1], "{orders:?}");
}

#[test]
fn a_judge_that_learns_nothing_makes_messages_worthless() {
    let rates = OracleRates { shrink: 1.0, stubborn: true, ..OracleRates::wrong(0.3) };
    let conditions = [eog(false), eog(true)].map(|contender| Condition::usual(contender, 0.3));
    let settings = Settings { rates, scenarios: 12, ..small(0.3) };
    let report = compare_under(&settings, conditions.to_vec()).unwrap();
    assert_eq!(majority(&report, eog(false), 0.3), majority(&report, eog(true), 0.3));
}

#[test]
fn settings_without_sense_are_refused_with_the_reason() {
    for (settings, said) in [
        (Settings { scenarios: 0, ..small(0.1) }, "at least one scenario"),
        (Settings { runs: 0, ..small(0.1) }, "at least one scenario and one run"),
        (Settings { entities: 1, ..small(0.1) }, "use more entities"),
        (Settings { origins: 99, ..small(0.1) }, "at most 16, the number of entities"),
        (small(1.5), "wrong"),
    ] {
        let error = compare(&settings).unwrap_err().to_string();
        assert!(error.contains(said), "{error} should say {said}");
    }
}
