//! One model of one provider.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eog_core::BoxFuture;
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo};
use genai::ModelIden;
use genai::chat::ReasoningEffort as Effort;
use genai::resolver::{AuthData, Endpoint, ProviderConfig};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::redirect;

use super::answer::Collector;
use super::error::Errors;
use super::relay;
use super::request::Settings;
use super::{Kind, Place, Shape, nearest_provider, provider_names};
use crate::{Capabilities, ConfigError, Masker, ReasoningEffort, Secret, StructuredOutput};

/// How to reach a model, and the settings that are sent with each conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GenaiSettings {
    /// The address of the provider, up to but not including `chat/completions`; its usual address if
    /// `None`.
    pub base_url: Option<String>,
    /// Its key, if it needs one.
    pub key: Option<Secret>,
    /// What the model accepts; according to the table if `None`.
    pub capabilities: Option<Capabilities>,
    /// The seed, for models that accept one.
    pub seed: u64,
    /// How much to reason; the provider's default if `None`.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Time-out of a connection attempt.
    pub connect_timeout: Duration,
    /// Time-out of a whole call.
    pub timeout: Duration,
    /// Maximum length of an answer, in bytes of its events. A single event, and the text of an
    /// error, may have twice as much and one MiB more before the connection is cut. Where a proxy of the
    /// system is used, only the time-out bounds these two.
    pub max_response_bytes: usize,
}

impl Default for GenaiSettings {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            capabilities: None,
            seed: 0,
            reasoning_effort: None,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            max_response_bytes: 8 << 20,
        }
    }
}

/// A model of a provider or of a local server. It makes one attempt per call; dropping the future
/// of a call cancels the request.
///
/// Answers are read as a stream of events, so that a response which is too long can be abandoned.
///
/// ```
/// use eog_llm::{GenaiModel, GenaiSettings};
/// use eog_prompts::ChatModel;
/// let mut settings = GenaiSettings::default();
/// settings.base_url = Some("http://127.0.0.1:8000/v1".to_owned());
/// let model = GenaiModel::new("vllm/qwen3", settings)?;
/// assert_eq!(model.info().name, "vllm/qwen3");
/// # Ok::<(), eog_llm::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct GenaiModel {
    info: ModelInfo,
    client: genai::Client,
    model: ModelIden,
    settings: Settings,
    /// The form of structured output that is asked for: a weaker one from the first rejection on.
    output: Mutex<StructuredOutput>,
    errors: Errors,
    timeout: Duration,
    max_response_bytes: usize,
}

impl GenaiModel {
    /// The model of this name, `provider/model`.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown provider, a missing address or key, and settings that cannot
    /// be sent to the provider.
    pub fn new(name: &str, given: GenaiSettings) -> Result<Self, ConfigError> {
        let (kind, model) = parse(name)?;
        let capabilities = given.capabilities.unwrap_or_else(|| Capabilities::of(name));
        let settings = Settings {
            shape: kind.shape,
            effort_in_name: effort_in_name(name, model, &kind)?,
            capabilities,
            seed: given.seed,
            effort: given.reasoning_effort,
        };
        check_sendable(name, &settings)?;
        let key = key(name, &kind, given.key.as_ref())?;
        let endpoint = endpoint(name, &kind, given.base_url.as_deref())?;
        let web = web_client(given.connect_timeout, given.max_response_bytes, endpoint.as_ref())?;
        let provider = ProviderConfig { endpoint, auth: Some(AuthData::from_single(key)) };
        let client = genai::Client::builder()
            .with_reqwest(web)
            .append_provider_config(kind.adapter, provider)
            .build()
            .map_err(|error| no_client(&error))?;
        let info = ModelInfo {
            name: name.to_owned(),
            context_tokens: settings.capabilities.context_tokens,
            max_output_tokens: settings.capabilities.max_output_tokens,
            tokenizer: settings.capabilities.tokenizer.clone(),
            timeout: Some(given.timeout),
        };
        Ok(Self {
            info,
            client,
            model: ModelIden::new(kind.adapter, model),
            output: Mutex::new(settings.capabilities.structured_output),
            settings,
            errors: Errors {
                model: name.to_owned(),
                masker: Masker::of(given.key),
                max_bytes: given.max_response_bytes,
            },
            timeout: given.timeout,
            max_response_bytes: given.max_response_bytes,
        })
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        match tokio::time::timeout(self.timeout, self.ask_in_time(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.errors.of(
                ChatErrorKind::TimedOut,
                &format!(
                    "no answer within {} s: raise llm.timeout_s, or lower max_output_tokens in \
                     the capabilities of the model",
                    self.timeout.as_secs_f64()
                ),
            )),
        }
    }

    async fn ask_in_time(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        loop {
            let output = *self.output.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = self.ask_once(request, output).await;
            let weaker = output.weaker().filter(|_| request.answer.is_some());
            match (answer, weaker) {
                // It is not asked for again for as long as the model is used.
                (Err(error), Some(weaker)) if rejects_form(&error.message) => {
                    *self.output.lock().unwrap_or_else(PoisonError::into_inner) = weaker;
                }
                (answer, _) => return answer,
            }
        }
    }

    async fn ask_once(
        &self,
        request: &ChatRequest,
        output: StructuredOutput,
    ) -> Result<ChatResponse, ChatError> {
        let collector = Collector::new(&self.errors, self.max_response_bytes);
        let options = self.settings.options(&self.info, request, output, collector.frames());
        let conversation = Settings::conversation(request);
        let stream =
            self.client.exec_chat_stream(self.model.clone(), conversation, Some(&options)).await;
        let stream = stream.map_err(|error| self.errors.from(&error))?.stream;
        let mut response = collector.read(stream).await?;
        // A key that the provider or the model repeats must not reach any file.
        response.text = self.errors.masker.mask_known(&response.text);
        if let Some(prices) = self.settings.capabilities.prices {
            response.usage.cost_micro_usd = prices.cost_micro_usd(&response.usage);
        }
        Ok(response)
    }
}

impl ChatModel for GenaiModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(self.ask(request))
    }
}

/// Whether an error speaks of the form of structured output: servers name the parameter, or what they made of it.
fn rejects_form(error: &str) -> bool {
    let error = error.to_lowercase();
    ["400", "415", "422", "500", "501"]
        .iter()
        .any(|status| error.starts_with(&format!("http status {status}:")))
        && ["response_format", "json_schema", "json_object", "structured output", "grammar"]
            .iter()
            .any(|word| error.contains(word))
}

/// Splits `provider/model`.
pub(crate) fn parse(name: &str) -> Result<(Kind, &str), ConfigError> {
    let (provider, model) = name.split_once('/').unwrap_or((name, ""));
    let kind = Kind::of(provider).ok_or_else(|| unknown_provider(name, provider, model))?;
    if model.is_empty() || model.contains("::") || model.contains(char::is_whitespace) {
        let reason = "the name of the model is missing or invalid";
        return Err(ConfigError::new(name, reason, "write provider/model, without spaces or ::"));
    }
    Ok((kind, model))
}

fn unknown_provider(name: &str, provider: &str, model: &str) -> ConfigError {
    if model.is_empty() {
        let advice = "write PROVIDER/NAME, such as openai/gpt-5-mini, anthropic/claude-sonnet-4-5 or \
                      ollama/qwen3";
        return ConfigError::new(name, "the provider is missing before the model", advice);
    }
    let advice = match nearest_provider(provider) {
        Some(meant) => format!("did you mean \"{meant}/{model}\"?"),
        None => format!("write PROVIDER/NAME with one of {}", provider_names().join(", ")),
    };
    ConfigError::new(name, format!("{provider:?} is not a known provider"), advice)
}

/// Whether the name ends in what `genai` takes for an effort, which it would then not send.
fn effort_in_name(name: &str, model: &str, kind: &Kind) -> Result<bool, ConfigError> {
    let found = Effort::from_model_name(model).0.is_some();
    if found && kind.shape != Shape::OpenAi {
        let reason = "the end of the name would be interpreted as a reasoning effort";
        let advice = "omit it, and set reasoning_effort instead";
        return Err(ConfigError::new(name, reason, advice));
    }
    Ok(found)
}

fn check_sendable(name: &str, settings: &Settings) -> Result<(), ConfigError> {
    let (has, carries) = (&settings.capabilities, settings.shape.carries());
    let strict = has.structured_output == StructuredOutput::Strict;
    let beside = has.structured_output == StructuredOutput::JsonObjectWithSchema;
    let wrong = [
        ("temperature", has.temperature && !carries.temperature),
        ("seed", has.seed && !carries.seed),
        ("structured_output = \"strict\"", strict && !carries.strict),
        ("structured_output = \"json_object_with_schema\"", beside && !carries.json_object),
        ("reasoning_effort", has.reasoning_effort && !carries.reasoning_effort),
    ];
    if let Some((what, _)) = wrong.into_iter().find(|(_, wrong)| *wrong) {
        let reason = format!("{what} cannot be sent to this provider");
        let advice = format!("remove {what} from the capabilities of this model");
        return Err(ConfigError::new(name, reason, advice));
    }
    if settings.effort.is_some() && !has.reasoning_effort {
        return Err(ConfigError::new(
            name,
            "a reasoning_effort is set, but the model is not known to accept one",
            "remove it, or set capabilities = { reasoning_effort = true } for the model",
        ));
    }
    Ok(())
}

fn key(name: &str, kind: &Kind, key: Option<&Secret>) -> Result<String, ConfigError> {
    match key {
        Some(key) if key.expose().chars().all(|c| c.is_ascii_graphic()) => {
            Ok(key.expose().to_owned())
        }
        Some(_) => Err(ConfigError::new(
            name,
            "the key contains invalid characters, such as spaces or line breaks",
            "check its variable or file",
        )),
        // Servers without keys accept any.
        None if kind.keyless => Ok("none".to_owned()),
        None => Err(ConfigError::new(
            name,
            "there is no key for this provider",
            format!("set {}, or choose another place", kind.key_env.unwrap_or("key_env")),
        )),
    }
}

fn endpoint(
    name: &str,
    kind: &Kind,
    base_url: Option<&str>,
) -> Result<Option<Endpoint>, ConfigError> {
    let text = match (base_url, kind.place) {
        (Some(text), _) | (None, Place::At(text)) => text,
        (None, Place::Known) => return Ok(None),
        (None, Place::Unknown) => {
            let advice = "set base_url, such as \"http://127.0.0.1:8000/v1\"";
            return Err(ConfigError::new(name, "the address of the server is missing", advice));
        }
    };
    let advice = "write it like \"https://host/v1\", up to but not including chat/completions";
    let url = reqwest::Url::parse(text).map_err(|error| {
        ConfigError::new(name, format!("base_url is not a valid URL: {error}"), advice)
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ConfigError::new(name, "base_url is not an HTTP or HTTPS URL", advice));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        let reason = "base_url contains a user name, a password or a query";
        return Err(ConfigError::new(name, reason, "use key_env or key_file for keys"));
    }
    let text = url.as_str().trim_end_matches('/');
    if text.ends_with("/chat/completions") || text.ends_with("/messages") {
        return Err(ConfigError::new(name, "base_url must not include the endpoint", advice));
    }
    // Relative addresses are joined to it, which would replace its last part otherwise.
    Ok(Some(Endpoint::from_owned(format!("{text}/"))))
}

fn web_client(
    connect_timeout: Duration,
    max_response_bytes: usize,
    endpoint: Option<&Endpoint>,
) -> Result<reqwest::Client, ConfigError> {
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .user_agent(concat!("eog/", env!("CARGO_PKG_VERSION")))
        // Where a redirection leads, the key must not go.
        .redirect(redirect::Policy::none())
        // So that the bytes that are counted are the bytes that are kept.
        .no_gzip();
    let address = endpoint.map_or("https://provider.invalid", Endpoint::base_url);
    let is_proxied = address
        .parse()
        .is_ok_and(|uri: http::Uri| Matcher::from_system().intercept(&uri).is_some());
    if !is_proxied {
        let most = (max_response_bytes as u64).saturating_mul(2).saturating_add(1 << 20);
        let relay = relay::address(most).map_err(|error| no_client(&error))?;
        let relay = reqwest::Proxy::all(relay).map_err(|error| no_client(&error))?;
        // With HTTP/2, clients speak while they are answered, and nothing could be counted.
        client = client.proxy(relay).http1_only();
    }
    client.build().map_err(|error| no_client(&error))
}

fn no_client(error: &dyn std::error::Error) -> ConfigError {
    let reason = format!("the HTTP client cannot be created: {error}");
    ConfigError::new("llm", reason, "check the proxy variables and the system's certificates")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(name: &str, base_url: Option<&str>) -> Result<Option<String>, String> {
        let (kind, _) = parse(name).expect("a provider");
        let endpoint = endpoint(name, &kind, base_url).map_err(|error| error.to_string())?;
        Ok(endpoint.map(|it| it.base_url().to_owned()))
    }

    #[test]
    fn addresses_end_where_paths_can_be_joined() {
        assert_eq!(url("openai/gpt-4o", None), Ok(None));
        assert_eq!(url("ollama/qwen3", None), Ok(Some("http://localhost:11434/v1/".to_owned())));
        for given in ["https://host/v1", "https://host/v1/", "https://host/v1//"] {
            assert_eq!(url("vllm/m", Some(given)), Ok(Some("https://host/v1/".to_owned())));
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for given in ["host:80/v1", "file:///v1", "https://me:key@host", "https://host/?key=1", "x"]
        {
            assert!(url("vllm/m", Some(given)).is_err(), "{given}");
        }
        let error = url("vllm/m", Some("https://host/v1/chat/completions")).expect_err("too far");
        assert!(error.contains("the endpoint"), "{error}");
        assert!(url("vllm/m", None).expect_err("no address").contains("base_url"));
    }
}
