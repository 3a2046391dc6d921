//! What is as usual, and how far from it.

use super::*;

#[test]
fn those_that_are_as_usual_are_told_apart_by_how_far_they_are_from_it() {
    let score = |signal, observed: f64| {
        let mut content = steady(signal);
        let quantity = Quantity { observed, baseline: Some(100.0), unit: "ms".into() };
        content.quantity = Some(quantity);
        let (packet, decision) = decide(vec![content], vec![]);
        assert_eq!(in_short(&decision), "healthy, nothing unusual");
        decision.scores.iter().find(|one| one.entity == packet.entity).unwrap().score
    };
    assert_eq!(score(Signal::Latency, 130.0), 30);
    assert_eq!(score(Signal::Latency, 900.0), 99, "below what is put off");
    assert_eq!(score(Signal::Latency, 80.0), 0);
    assert_eq!(score(Signal::Traffic, 130.0), 0, "more requests are no harm");
}
