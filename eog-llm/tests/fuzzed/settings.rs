//! What holds of the section `[llm]` whatever it says. The fuzz target includes this file.

use eog_llm::LlmConfig;

/// Reads the section and builds its models.
///
/// # Panics
/// When an error says nothing, or repeats a key.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(config) = toml::from_str::<LlmConfig>(&text) else { return };
    let key = |_: &str| Some("sk-cAnArY4711xcAnArY4711x".to_owned());
    if let Err(error) = config.build(&key) {
        let error = error.to_string();
        assert!(!error.is_empty() && !error.contains("cAnArY"), "{error}");
    }
}
