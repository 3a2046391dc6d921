//! Finds secrets in text and masks them: passwords, tokens, keys, one-time codes.
//!
//! Text is masked once, where it comes in, so that nothing behind it holds a secret: not prompts,
//! reports, ledgers, logs or answers. Telemetry quotes secrets in any form, so three kinds of
//! knowledge work together:
//!
//! - **Rules as data.** The rule set of gitleaks (`data/gitleaks.toml`, unchanged, with its licence
//!   beside it) knows the tokens of some two hundred vendors; `data/eog.toml` has the rest in the same
//!   form: headers, flags, statements of SQL, webhooks, one-time codes.
//! - **Names.** What `password`, `apiKey` or `MY_APP_KEY` name is a secret, whichever way it is tied to
//!   its name: assignments, JSON with any number of backslashes, YAML, XML, flags, query strings,
//!   sentences.
//! - **Randomness.** A long word of base64 that looks drawn at random is a key, also without a name;
//!   base64 is decoded and checked.
//!
//! Evidence stays: commits, digests, UUIDs, trace ids, versions of resources, names of objects,
//! references to secrets (`${PASSWORD}`, `secretName: login`), certificates.
//!
//! # By construction
//!
//! Readers of what comes from outside do not name the fields to be masked: [`Masked`] is a layer of
//! serde below them that no text passes unmasked, keys of maps included.
//!
//! # Promises
//!
//! For any input, valid or not: it does not panic; time is linear (`regex` and an automaton, no
//! backtracking, matches of bounded length); the result depends on the text alone;
//! masking twice is masking once; the result is at most eight times as long as the text
//! ([`Masker::MAX_GROWTH`]).
//!
//! # What is not promised
//!
//! A secret that looks like a word, without a name near it, is not found; nor is one that is cut into
//! pieces, encrypted, or encoded twice. Masking is a second line: the first is not to log secrets.
//!
//! ```
//! use eog_secrets::Masker;
//!
//! let masker = Masker::new();
//! assert_eq!(masker.mask("login with password=hunter2 failed"), "login with password=[masked] failed");
//! assert_eq!(masker.mask_value("env[DB_PASSWORD]/value", "hunter2"), "[masked]");
//! assert_eq!(masker.mask("commit 4bf92f3577b34da6a3ce929d0e0e4736"), "commit 4bf92f3577b34da6a3ce929d0e0e4736");
//! ```

mod assign;
mod field;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod manifest;
mod marker;
mod masker;
mod names;
mod pem;
mod random;
mod reading;
mod rules;
mod run;
mod scan;
mod spelling;
mod stream;
mod userinfo;
mod value;

pub use marker::MASK;
pub use masker::Masker;
pub use reading::Masked;
pub use stream::StreamMasker;

/// The text of everything that decides what is masked. Keepers of masked text compare it to see
/// whether it would be masked the same today.
#[doc(hidden)]
pub const SOURCES: [&str; 18] = [
    include_str!("assign.rs"),
    include_str!("field.rs"),
    include_str!("manifest.rs"),
    include_str!("marker.rs"),
    include_str!("masker.rs"),
    include_str!("names.rs"),
    include_str!("pem.rs"),
    include_str!("random.rs"),
    include_str!("reading.rs"),
    include_str!("rules.rs"),
    include_str!("run.rs"),
    include_str!("scan.rs"),
    include_str!("spelling.rs"),
    include_str!("stream.rs"),
    include_str!("userinfo.rs"),
    include_str!("value.rs"),
    include_str!("../data/eog.toml"),
    include_str!("../data/gitleaks.toml"),
];
