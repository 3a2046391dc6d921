//! Builds models from a configuration.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use eog_core::BoxFuture;
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo};

use super::{ConfigError, Env, LimitConfig, LlmConfig, LlmRole, Models};
use crate::provider::{Kind, parse, provider_names};
use crate::{
    Cassette, CassetteError, CassetteMode, CassetteModel, GenaiModel, GenaiSettings, Masker, Meter,
    Metered, Notice, RateLimited, RateLimiter, RateLimits, Reach, RetryPolicy, Retrying, Secret,
};

impl LlmConfig {
    /// Builds the models. No calls are made.
    ///
    /// Models that only replay a cassette need no key. With a cassette that has recorded something
    /// already, a missing key is an error only when a request must be sent. The only variables that
    /// are read are those with the keys of configured models.
    ///
    /// # Errors
    /// [`ConfigError`] says what is missing or wrong, and what to do.
    pub fn build(&self, env: &dyn Env) -> Result<Models, ConfigError> {
        self.build_notifying(env, None)
    }

    /// Like [`Self::build`], with a callback for long delays.
    ///
    /// # Errors
    /// Those of [`Self::build`].
    pub fn build_notifying(
        &self,
        env: &dyn Env,
        notice: Option<&Notice>,
    ) -> Result<Models, ConfigError> {
        self.check_names()?;
        let (explore, finalize) = (self.explore_chain()?, self.finalize_chain()?);
        let names = self.names()?;
        let meter = Meter::new(self.budget()?);
        let (mut keys, mut missing) = (BTreeMap::new(), BTreeMap::new());
        for name in &names {
            let (kind, _) = parse(name)?;
            if self.replays() {
                continue;
            }
            match self.key(name, &kind, env) {
                Ok(found) => keys.extend(found.map(|found| (*name, found.key))),
                Err(error) if self.may_replay() => {
                    missing.insert(*name, error);
                }
                Err(error) => return Err(error),
            }
        }
        let cassette = self.open_cassette(Masker::of(keys.values().cloned()))?;
        let mut shared =
            Shared { meter: &meter, notice, hosts: BTreeMap::new(), limiters: BTreeMap::new() };
        let mut built: BTreeMap<&str, Arc<dyn ChatModel>> = BTreeMap::new();
        for name in &names {
            let model: Arc<dyn ChatModel> = match &cassette {
                Some((cassette, CassetteMode::Replay)) => {
                    Arc::new(CassetteModel::replaying(cassette.clone(), self.info(name)?))
                }
                Some((cassette, mode)) => {
                    let live = match missing.get(name) {
                        Some(error) => {
                            Arc::new(Keyless { info: self.info(name)?, error: error.clone() })
                        }
                        None => self.live(name, keys.get(name), &mut shared)?,
                    };
                    Arc::new(CassetteModel::new(cassette.clone(), *mode, live))
                }
                None => self.live(name, keys.get(name), &mut shared)?,
            };
            built.insert(name, model);
        }
        let all =
            |chain: &[&str]| chain.iter().filter_map(|name| built.get(name).cloned()).collect();
        let [planner, executor, evaluator] = LlmRole::ALL.map(|role| self.role_chain(role));
        let roles = [all(&planner?), all(&executor?), all(&evaluator?)];
        Ok(Models { explore: all(&explore), finalize: all(&finalize), roles, meter })
    }

    /// A model with budget, rate limits and retries.
    fn live(
        &self,
        name: &str,
        key: Option<&Secret>,
        shared: &mut Shared<'_>,
    ) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let settings = self.settings(name, key.cloned())?;
        let prices = self.capabilities(name).prices;
        let host = self.base_url(name).unwrap_or_else(|| provider_of(name).to_owned());
        let model = Metered::new(GenaiModel::new(name, settings)?, shared.meter.clone(), prices)?;
        let provider = provider_of(name);
        let limiter = shared.limiters.entry(provider.to_owned());
        let limiter = limiter.or_insert_with(|| RateLimiter::new(self.limits(provider)));
        let model = RateLimited::new(model, limiter.clone());
        let reach = shared.hosts.entry(host).or_default().clone();
        let model = Retrying::new(model, self.retry_policy()).at(reach);
        Ok(Arc::new(model.notifying(shared.notice.cloned())))
    }

    /// Address, key and settings of a model.
    pub(super) fn settings(
        &self,
        name: &str,
        key: Option<Secret>,
    ) -> Result<GenaiSettings, ConfigError> {
        let usual = GenaiSettings::default();
        let capabilities = self.capabilities(name);
        let of_all = self.reasoning_effort.filter(|_| capabilities.reasoning_effort);
        let of_model = self.models.get(name).and_then(|it| it.reasoning_effort);
        let connect_timeout = seconds("llm.connect_timeout_s", self.connect_timeout_s)?;
        Ok(GenaiSettings {
            base_url: self.base_url(name),
            key,
            reasoning_effort: of_model.or(of_all),
            capabilities: Some(capabilities),
            seed: self.seed.unwrap_or(usual.seed),
            connect_timeout: connect_timeout.unwrap_or(usual.connect_timeout),
            timeout: self.timeout()?,
            max_response_bytes: self.max_response_bytes.unwrap_or(usual.max_response_bytes),
        })
    }

    /// The longest time of one request.
    pub(super) fn timeout(&self) -> Result<Duration, ConfigError> {
        let given = seconds("llm.timeout_s", self.timeout_s)?;
        Ok(given.unwrap_or(GenaiSettings::default().timeout))
    }

    pub(super) fn base_url(&self, name: &str) -> Option<String> {
        let of_model = self.models.get(name).and_then(|it| it.base_url.as_ref());
        let provider = self.providers.get(provider_of(name));
        of_model.or_else(|| provider.and_then(|it| it.base_url.as_ref())).cloned()
    }

    pub(super) fn replays(&self) -> bool {
        self.cassette.as_ref().is_some_and(|it| it.mode == CassetteMode::Replay)
    }

    /// Whether there are recorded answers, so that perhaps no request has to be sent.
    pub(super) fn may_replay(&self) -> bool {
        let given = self.cassette.as_ref().filter(|it| it.mode == CassetteMode::Auto);
        let size = given.and_then(|it| it.path.metadata().ok()).map_or(0, |about| about.len());
        size > HEADER_BYTES
    }

    /// A misspelt name would be ignored silently.
    pub(super) fn check_names(&self) -> Result<(), ConfigError> {
        for name in self.models.keys() {
            parse(name)?;
        }
        match self.providers.keys().find(|name| Kind::of(name).is_none()) {
            None => Ok(()),
            Some(name) => Err(ConfigError::new(
                format!("llm.providers.{name}"),
                "there is no such provider",
                format!("write one of: {}", provider_names().join(", ")),
            )),
        }
    }

    fn open_cassette(
        &self,
        masker: Masker,
    ) -> Result<Option<(Cassette, CassetteMode)>, ConfigError> {
        let Some(given) = &self.cassette else { return Ok(None) };
        let cassette = match given.mode {
            CassetteMode::Replay => Cassette::open(&given.path, masker),
            CassetteMode::Record | CassetteMode::Auto => Cassette::create(&given.path, masker),
        };
        let cassette = cassette.map_err(|error| {
            ConfigError::new("llm.cassette", error.to_string(), advice(&error, given.mode))
        })?;
        Ok(Some((cassette, given.mode)))
    }

    fn limits(&self, provider: &str) -> RateLimits {
        let own = self.providers.get(provider).and_then(|it| it.limits);
        let LimitConfig { requests_per_minute, tokens_per_minute, concurrent } =
            own.unwrap_or(self.limits);
        RateLimits { requests_per_minute, tokens_per_minute, concurrent }
    }

    fn retry_policy(&self) -> RetryPolicy {
        let usual = RetryPolicy::default();
        let attempts = self.retries.map(|further| NonZeroU32::MIN.saturating_add(further));
        RetryPolicy { attempts: attempts.unwrap_or(usual.attempts), ..usual }
    }
}

/// A cassette of no more bytes holds a header and nothing else.
const HEADER_BYTES: u64 = 32;

/// What to do about a cassette that cannot be opened.
fn advice(error: &CassetteError, mode: CassetteMode) -> &'static str {
    match (error, mode) {
        (CassetteError::File { source, .. }, CassetteMode::Replay)
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            "name a recorded one, or record it with the mode \"auto\""
        }
        (CassetteError::File { source, .. }, _)
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            "its folder does not exist: create it, or choose another one"
        }
        (CassetteError::File { .. }, CassetteMode::Replay) => "choose a readable file",
        (CassetteError::File { .. }, _) => "choose a readable and writable file",
        (CassetteError::Invalid { .. }, _) => "or choose another file",
    }
}

/// What the models share.
struct Shared<'a> {
    meter: &'a Meter,
    notice: Option<&'a Notice>,
    /// By address.
    hosts: BTreeMap<String, Reach>,
    /// By provider.
    limiters: BTreeMap<String, RateLimiter>,
}

/// A model whose key is missing. It is not needed if all requests are recorded.
struct Keyless {
    info: ModelInfo,
    error: ConfigError,
}

impl ChatModel for Keyless {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let message = format!(
            "the cassette has no answer to a request of the phase {}, and the model cannot be \
             called: {}; {}",
            request.phase, self.error.reason, self.error.advice
        );
        let error = ChatError::new(&self.info.name, ChatErrorKind::NotAllowed, message);
        Box::pin(std::future::ready(Err(error)))
    }
}

fn provider_of(name: &str) -> &str {
    name.split_once('/').map_or(name, |(provider, _)| provider)
}

fn seconds(place: &str, given: Option<f64>) -> Result<Option<Duration>, ConfigError> {
    let Some(seconds) = given else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(Some(time)),
        _ => {
            let reason = format!("{seconds} is not a valid time");
            Err(ConfigError::new(place, reason, "write seconds, such as 60"))
        }
    }
}
