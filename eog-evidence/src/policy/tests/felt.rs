//! Who feels what fails next door is told.

use super::*;

#[test]
fn who_rests_on_what_fails_by_itself_is_told() {
    let caller =
        |label, claims: &[&str], cites: &[EvidenceKind]| vec![says("caller", label, claims, cites)];
    let told = "origin, own failure me>caller";
    let not_told = "origin, own failure";
    check(vec![
        ("it finds no cause", vec![exhaustion(9)], caller(Symptom, &[], &[Log]), told),
        ("it holds itself for the cause", vec![exhaustion(9)], caller(Origin, &[], &[Log]), told),
        ("by a change", vec![exhaustion(9)], caller(Origin, &[], &[Change]), not_told),
        ("it is well", vec![exhaustion(9)], caller(Healthy, &[], &[Log]), not_told),
        ("it knows", vec![exhaustion(9)], caller(Symptom, &["me > caller"], &[Log]), not_told),
        (
            "nothing comes from whom it calls",
            vec![exhaustion(9)],
            vec![says("callee", Symptom, &[], &[Log])],
            not_told,
        ),
    ]);
    let since = |minute| Some(Onset::between(at(minute), at(minute + 1)));
    for (begun, told) in [(1, false), (9, true)] {
        let mut message = says("caller", Symptom, &[], &[Log]);
        message.belief.since = since(begun);
        let mut failure = exhaustion(9);
        failure.onset = since(9);
        let (_, decision) = decide(vec![failure], vec![message]);
        assert_eq!(!decision.claims.is_empty(), told, "worse since minute {begun}");
    }
}
