//! What is known about each provider.

use genai::adapter::AdapterKind;

/// A provider, by the name that users write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) adapter: AdapterKind,
    pub(crate) shape: Shape,
    /// Where its key usually is.
    pub(crate) key_env: Option<&'static str>,
    /// Whether it works without a key.
    pub(crate) keyless: bool,
    /// Its address.
    pub(crate) place: Place,
}

/// The address of a provider, if the user sets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where `genai` knows it to be.
    Known,
    /// At this address.
    At(&'static str),
    /// Only the user can know.
    Unknown,
}

/// The protocol that a provider speaks: it decides which settings can be sent at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    OpenAi,
    Anthropic,
    Gemini,
    /// Whatever else `genai` knows. Nothing but the conversation is known to be sent.
    Other,
}

/// What a protocol can carry.
pub(crate) struct Carries {
    pub(crate) temperature: bool,
    pub(crate) seed: bool,
    pub(crate) strict: bool,
    pub(crate) json_object: bool,
    pub(crate) reasoning_effort: bool,
}

impl Shape {
    /// `genai` says nothing about settings that it does not send, so this says it. Tests compare it
    /// with the bytes on the wire.
    pub(crate) fn carries(self) -> Carries {
        let (temperature, seed, strict, json_object, reasoning_effort) = match self {
            Self::OpenAi => (true, true, true, true, true),
            Self::Anthropic => (true, false, true, false, true),
            Self::Gemini => (true, true, true, false, true),
            Self::Other => (false, false, false, false, false),
        };
        Carries { temperature, seed, strict, json_object, reasoning_effort }
    }
}

/// Servers on one's own machine or network that speak the protocol of OpenAI.
///
/// Ollama is one of them: its own protocol, as `genai` speaks it, carries no schema.
const COMPATIBLE: [(&str, Place); 5] = [
    ("llama-cpp", Place::Unknown),
    ("lm-studio", Place::Unknown),
    ("ollama", Place::At("http://localhost:11434/v1")),
    ("openai-compatible", Place::Unknown),
    ("vllm", Place::Unknown),
];

impl Kind {
    /// The provider of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        if let Some((_, place)) = COMPATIBLE.iter().find(|(known, _)| *known == name) {
            let (adapter, shape) = (AdapterKind::OpenAI, Shape::OpenAi);
            return Some(Self { adapter, shape, key_env: None, keyless: true, place: *place });
        }
        let adapter =
            AdapterKind::all().iter().copied().find(|kind| kind.as_lower_str() == name)?;
        let (shape, key_env) = (shape(adapter), adapter.default_key_env_name());
        Some(Self { adapter, shape, key_env, keyless: false, place: Place::Known })
    }
}

/// The names of all providers.
pub(crate) fn provider_names() -> Vec<&'static str> {
    let known = AdapterKind::all().iter().map(AdapterKind::as_lower_str);
    let mut names: Vec<&str> = COMPATIBLE.iter().map(|(name, _)| *name).chain(known).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The provider that is probably meant by a misspelt name.
pub(crate) fn nearest_provider(name: &str) -> Option<&'static str> {
    // No provider has a name so long, and the comparison takes the product of both lengths.
    if name.len() > 40 {
        return None;
    }
    let name = name.to_lowercase();
    let slips = |known: &str| strsim::damerau_levenshtein(known, &name);
    // The shorter a name, the fewer slips: of three letters, one.
    let near = |known: &&str| slips(known) <= 2.min(known.len() / 3);
    provider_names().into_iter().filter(near).min_by_key(|known| slips(known))
}

fn shape(adapter: AdapterKind) -> Shape {
    use AdapterKind::{
        Aihubmix, Aliyun, Anthropic, AtlasCloud, BigModel, DeepSeek, Fireworks, Gemini, Groq, Kimi,
        Mimo, Mistral, Moonshot, Nebius, OpenAI, OpenRouter, QwenCloud, Requesty, Together, Xai,
        Zai,
    };
    match adapter {
        OpenAI | Aihubmix | Aliyun | AtlasCloud | BigModel | DeepSeek | Fireworks | Groq | Kimi
        | Mimo | Mistral | Moonshot | Nebius | OpenRouter | QwenCloud | Requesty | Together
        | Xai | Zai => Shape::OpenAi,
        Anthropic => Shape::Anthropic,
        Gemini => Shape::Gemini,
        _ => Shape::Other,
    }
}
