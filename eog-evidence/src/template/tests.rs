use super::*;
use proptest::prelude::*;

#[test]
fn values_are_masked_and_words_stay() {
    let cases = [
        ("order 4711 placed in 3ms", "order <*> placed in <*>"),
        ("user \"ann lee\" logged in", "user <*> logged in"),
        ("id=6f9a retry", "id=<*> retry"),
        ("a 1 2 3 b", "a <*> b"),
        ("plain words", "plain words"),
        ("", ""),
        ("took 1.5 KB, free 900 B", "took <*>, free <*>"),
        ("at Fri Jul 01 08:16:53 PDT 2005 it ended.", "at <*> it ended."),
        ("may the Sun shine", "may the Sun shine"),
        ("from 10.0.0.7:5432 to [fe80::1]:80", "from <*> to [<*>]:<*>"),
        ("mac FF:F2:9F:16:E2:23 mask ffffffff", "mac <*> mask <*>"),
        ("request 123e4567-e89b-12d3-a456-426614174000 done", "request <*> done"),
        ("GET https://shop.example/cart?id=7 failed", "GET <*> failed"),
        ("fetch /cart?user=ann&page=two failed", "fetch <*> failed"),
        ("10.0.0.7 \"POST /cart/7 HTTP/1.1\" 200", "<*> \"POST <*>\" <*>"),
        (
            "level=info msg=\"cart 7 is empty\" user=\"ann lee\"",
            "level=info msg=\"cart <*> is empty\" user=<*>",
        ),
        (
            "{\"message\": \"cart 7\", \"user\": \"ann\"}",
            "{\"message\": \"cart <*>\", \"user\": <*>}",
        ),
        ("it's the user's cart", "it's the user's cart"),
        ("says 'no", "says 'no"),
        ("lifetime <1 sec or >2 of 3 -> 4", "lifetime <*> or <*> of <*> -> <*>"),
        ("from <10.0.0.7> to <a>", "from <<*>> to <a>"),
        ("threshold......0", "threshold......<*>"),
        ("p99=12ms r2=ok node123=up", "p99=<*> r2=ok <*>=up"),
        ("a <*> b <*>:<*>", "a <*> b <*>"),
        ("step 1, 2 of (3)", "step <*>, <*> of (<*>)"),
        ("5 Kühe 7µs", "<*> Kühe <*>"),
    ];
    for (line, expected) in cases {
        assert_eq!(template(line), expected);
    }
}

#[test]
fn long_lines_are_cut() {
    let long = "word ".repeat(10_000);
    assert_eq!(template(&long).chars().count(), MAX_TEMPLATE + 1);
    assert_eq!(template(&"µ".repeat(10_000)).chars().count(), MAX_TEMPLATE + 1);
}

/// Lines of the parts that are distinguished.
fn lines() -> impl Strategy<Value = String> {
    let parts = [
        "a", "word", "7", "-3.5", "0x1f", "deadbeef", "=", ":", "::", ",", "#", "'", "\"", "(",
        ")", "[", "]", "{", "}", "<", ">", "<*>", " ", "  ", "\t", "\n", "/", "?", ".", "...",
        "\\", "://", "GET ", "msg=", "KB", "Jul", "Fri", "PDT", "é", "…", "null", "true", "user ",
        "for ", "ms",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..24)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_has_a_template_of_bounded_length(text in any::<String>()) {
        prop_assert!(template(&text).chars().count() <= MAX_TEMPLATE + 1);
    }

    #[test]
    fn any_bytes_have_a_template(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = template(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_template_has_no_digits_but_in_short_names(line in "[a-z =:,.()/-]{0,20}[0-9]{3}[a-z =:,.()/-]{0,20}") {
        prop_assert!(!template(&line).contains(|c: char| c.is_ascii_digit()), "{:?}", template(&line));
    }

    #[test]
    fn a_template_of_words_and_values_is_its_own_template(
        words in prop::collection::vec("[a-z]{1,8}|[0-9a-f]{1,9}|[a-z]{1,5}=[a-z0-9]{1,6}|\\([a-z0-9]{1,4}\\)|[0-9]{1,3}:[0-9]{2}", 0..12)
    ) {
        let once = template(&words.join(" "));
        prop_assert_eq!(template(&once), once);
    }

    #[test]
    fn masking_ends_on_every_mixture(line in lines()) {
        let once = template(&line);
        prop_assert!(once.chars().count() <= MAX_TEMPLATE + 1);
        prop_assert!(!once.contains("<*> <*>"));
    }
}
