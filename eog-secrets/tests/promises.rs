//! What holds for any text.

use eog_secrets::{MASK, Masker, StreamMasker};
use proptest::prelude::*;

/// Pieces that the masker checks closely, so that random texts are made of them.
const PIECES: [&str; 44] = [
    "password",
    "token",
    "key",
    "secret",
    "=",
    ":",
    " ",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[masked]",
    "[masked",
    "]",
    "@",
    "://",
    "user:",
    "tcp(",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "-----BEGIN CERTIFICATE-----",
    "kind: Secret",
    "data:",
    "\n",
    "  ",
    "|",
    "<",
    ">",
    "%3D",
    "&",
    "Authorization: ",
    "Bearer ",
    "eyJhbGciOiJIUzI1NiJ9",
    ".",
    "is ",
    "otp ",
    "123456",
    "a1B2c3D4",
    "größe",
    "日本",
    "LS0tLS1CRUdJTi",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
    "\u{0}",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[ -~]{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_is_masking_once(text in text()) {
        let masker = Masker::new();
        let once = masker.mask(&text).into_owned();
        prop_assert_eq!(&masker.mask(&once), &once);
    }

    #[test]
    fn the_result_is_bounded_and_depends_on_the_text_alone(text in text(), path in text()) {
        let masker = Masker::new();
        let masked = masker.mask(&text);
        prop_assert!(masked.len() <= Masker::MAX_GROWTH * text.len());
        prop_assert_eq!(&masked, &Masker::new().mask(&text));
        let value = masker.mask_value(&path, &text);
        prop_assert!(value.len() <= (Masker::MAX_GROWTH * text.len()).max(MASK.len()));
        prop_assert_eq!(&masker.mask_value(&path, &value), &value);
    }

    #[test]
    fn bytes_and_streams_take_anything(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        text in text(),
        cut in 1_usize..40,
    ) {
        let masker = Masker::new();
        let all = [text.as_bytes(), b"\n", &bytes].concat();
        let once = masker.mask_bytes(&all).into_owned();
        prop_assert_eq!(masker.mask_bytes(&once).into_owned(), once);
        let mut stream = StreamMasker::new();
        let mut shown: Vec<u8> = all.chunks(cut).flat_map(|piece| stream.push(piece)).collect();
        shown.extend(stream.finish());
        prop_assert!(shown.len() <= Masker::MAX_GROWTH * all.len());
    }

    #[test]
    fn a_named_canary_never_survives(before in text(), canary in "[a-z]{4}[0-9]{4}[A-Z]{4}") {
        let text = format!("{before}\npassword={canary}\n");
        prop_assert!(!Masker::new().mask(&text).contains(&canary));
    }

    /// Private blocks are masked whole; of public ones only lines of base64 are passed over.
    #[test]
    fn no_canary_survives_in_a_block(
        before in text(),
        inside in text(),
        canary in "[a-z]{4}[0-9]{4}[A-Z]{4}",
    ) {
        let public = format!(
            "{before}-----BEGIN CERTIFICATE-----\n{inside}\npassword={canary}\n-----END CERTIFICATE-----"
        );
        prop_assert!(!Masker::new().mask(&public).contains(&canary));
        let private = format!(
            "{before}\n-----BEGIN PRIVATE KEY-----\n{canary}\n-----END PRIVATE KEY-----\n{inside}"
        );
        prop_assert!(!Masker::new().mask(&private).contains(&canary));
    }
}

/// Text that was made to be slow takes time in proportion to its length: sixteen times the text, not
/// two hundred times the time. A clock is no measure on a busy machine: a search that is not linear
/// would take hours here.
#[test]
fn hostile_text_ends() {
    let masker = Masker::new();
    for unit in [
        "key=",
        "password",
        "password=",
        "sk-",
        "@",
        "a:b@",
        "://",
        "datadog=",
        "eyJaaaaaaaa ",
        "-----BEGIN ",
        "data:{",
        "kind: Secret data:{",
        "[masked",
        "'",
        "password: |\n ",
        "\\",
        "authorization: ",
        "aB3",
        "<password>",
        "MIIB\n",
        "cookie: a=b; ",
    ] {
        let text = unit.repeat(20_000 / unit.len());
        let masked = masker.mask(&text);
        assert!(masked.len() <= Masker::MAX_GROWTH * text.len(), "{unit}");
    }
}
