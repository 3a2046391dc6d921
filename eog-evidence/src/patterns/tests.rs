use super::*;
use proptest::prelude::*;

fn mined(lines: &[&str]) -> Vec<String> {
    let mut miner = Miner::new();
    let numbers: Vec<u32> = lines.iter().map(|line| miner.add(line)).collect();
    let patterns = miner.mine();
    numbers.iter().map(|number| patterns.text(*number).to_owned()).collect()
}

fn distinct(lines: &[&str]) -> Vec<String> {
    let mut patterns = mined(lines);
    patterns.sort();
    patterns.dedup();
    patterns
}

#[test]
fn values_without_digits_are_found_by_comparing() {
    let cases = [
        (&["failed request=mxrtsm", "failed request=kwpzao"][..], "failed request=<*>"),
        (
            &["for user ann by (uid=0)", "for user lee by (uid=1)", "for user kim by (uid=1)"],
            "for user <*> by (uid=<*>)",
        ),
        (
            &["lost a.shop:80 again", "lost b.c.shop:80 again", "lost 10.0.0.1:80 again"],
            "lost <*> again",
        ),
        (&["sent 10 bytes (1 KB) ok", "sent 10 bytes ok"], "sent <*> bytes ok"),
        (&["cannot read /etc/hosts", "cannot read /etc/passwd"], "cannot read <*>"),
        (
            &["call to db.shop.internal failed", "call to mq.shop.internal failed"],
            "call to <*> failed",
        ),
        (&["from <ann> (10.0.0.1)", "from <ann> ()"], "from <ann> (<*>)"),
        (&["stop: host= port=1", "stop: host=a.b port=2"], "stop: host=<*> port=<*>"),
        (&["job source=Timer{7} ok", "job source=null ok"], "job source=<*> ok"),
        (&["nodes: 1, 2, 3", "nodes: 1, 2"], "nodes: <*>, <*>"),
    ];
    for (lines, expected) in cases {
        assert_eq!(distinct(lines), [expected], "{lines:?}");
    }
}

#[test]
fn a_value_that_never_varies_is_shown() {
    let lines = ["mount /data failed mode=rw", "mount /data failed mode=rw"];
    assert_eq!(distinct(&lines), ["mount /data failed mode=rw"]);
}

#[test]
fn what_happened_is_never_a_value() {
    let apart = [
        &["instance 7 was started today", "instance 7 was stopped today"][..],
        &["java.io.IOException: reset by peer", "java.net.UnknownHostException: reset by peer"],
        &["call on host primary failed", "call on host secondary failed"],
        &["is now mode=slow", "is now mode=fast", "is now mode=idle"],
        &["link up", "link down", "link lost", "link slow", "link idle"],
        &["cache enabled=true", "cache enabled=false"],
        &["state changed to state=READY", "state changed to state=LOST"],
        &["session of user expired", "session of user renewed"],
        &[
            "vm was begun at 1",
            "vm was paused at 1",
            "vm was moved at 1",
            "vm was ended at 1",
            "vm was failing at 1",
        ],
    ];
    for lines in apart {
        assert_eq!(distinct(lines).len(), lines.len(), "{lines:?}");
    }
}

#[test]
fn many_different_words_in_one_place_are_values() {
    let lines = ["red", "blue", "green", "grey", "pink"]
        .map(|word| format!("offer for {word} shoes requested"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(distinct(&lines), ["offer for <*> shoes requested"]);
    assert_eq!(distinct(&lines[..4]).len(), 4);
}

/// `a`, `b`, …, `z`, `ba`, …
fn letters(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        text.insert(0, char::from(b'a' + u8::try_from(number % 26).unwrap_or_default()));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}

#[test]
fn any_number_of_ids_is_one_pattern() {
    let mut miner = Miner::new();
    let first = miner.add("call failed request=zzzz");
    let numbers: Vec<u32> = (0..3 * MAX_TEMPLATES)
        .map(|index| miner.add(&format!("call failed request={}", letters(index))))
        .collect();
    assert!(miner.numbers.len() <= MAX_TEMPLATES);
    let patterns = miner.mine();
    assert_eq!(patterns.text(first), "call failed request=<*>");
    assert!(numbers.iter().all(|number| patterns.text(*number) == "call failed request=<*>"));
    assert_eq!(patterns.texts(), ["call failed request=<*>"]);
}

#[test]
fn what_is_beyond_the_bound_is_not_distinguished() {
    let mut miner = Miner::new();
    let known = miner.add("known");
    for index in 0..MAX_TEMPLATES + 100 {
        miner.add(&format!("x{} {}", "(".repeat(index % 100), "y".repeat(1 + index / 100)));
    }
    let unknown = miner.add("unknown");
    assert_eq!(miner.numbers.len(), MAX_TEMPLATES);
    let patterns = miner.mine();
    assert_eq!(patterns.text(known), "known");
    assert_eq!(patterns.text(unknown), HOLE);
    assert_eq!(patterns.text(12_345_678), HOLE);
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let words = [
        "up", "down", "user", "for", "ann", "lee", "7", "x=a", "x=b", "x=", "/a/b", "(", ")",
        "a.b.c", "<*>", "ended",
    ];
    let line = prop::collection::vec(prop::sample::select(words.to_vec()), 0..8)
        .prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..40)
}

proptest! {
    #[test]
    fn the_order_of_lines_does_not_matter((lines, shuffled) in lines().prop_flat_map(|lines| {
        (Just(lines.clone()), Just(lines).prop_shuffle())
    })) {
        let of = |lines: &[String]| -> BTreeMap<String, String> {
            let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
            lines.iter().cloned().zip(mined(&texts)).collect()
        };
        prop_assert_eq!(of(&lines), of(&shuffled));
    }

    #[test]
    fn lines_that_come_again_do_not_matter(lines in lines()) {
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        let twice: Vec<&str> = texts.iter().chain(&texts).copied().collect();
        prop_assert_eq!(distinct(&texts), distinct(&twice));
    }

    #[test]
    fn lines_of_one_template_have_one_pattern(lines in lines(), number in 0_u32..1000) {
        let line = |number: u32| format!("order {number} was paid");
        let (one, other) = (line(number), line(number + 1));
        let mut texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        texts.extend([one.as_str(), other.as_str()]);
        let patterns = mined(&texts);
        prop_assert_eq!(&patterns[texts.len() - 1], &patterns[texts.len() - 2]);
    }

    #[test]
    fn any_texts_have_patterns_of_bounded_length(lines in prop::collection::vec(any::<String>(), 0..20)) {
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        for pattern in mined(&texts) {
            prop_assert!(pattern.chars().count() <= MAX_TEMPLATE + 1);
        }
    }
}
