//! Language models for eog: [`ChatModel`](eog_prompts::ChatModel) for providers and local servers,
//! and what makes them safe to use: rate limits, retries, hard budgets, records and cassettes.
//!
//! [`LlmConfig`] builds all of it from the section `[llm]` of `eog.toml`. The parts can also be
//! combined by hand: each of them wraps a model and is itself a model.
//!
//! A policy over these models needs no further settings. Each request has its time-out and its
//! retries here, so the engine adds none ([`AbductivePolicy::timeout`](eog_core::AbductivePolicy::timeout)):
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use eog::{Case, Config, ContextContract, Engine, Finished};
//! use eog_llm::LlmConfig;
//! use eog_prompts::{LlmPolicy, Pack, Prompter};
//!
//! # async fn run(contract: impl ContextContract, case: Case) -> Result<Finished, Box<dyn std::error::Error>> {
//! let config: LlmConfig = toml::from_str(r#"
//!     model = "openai/gpt-5-mini"
//!     retries = 4
//!     budget = { calls = 200 }
//! "#)?;
//! let models = config.build(&|name: &str| std::env::var(name).ok())?;
//! let policy = LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), models.explore));
//! let finished = Engine::new(contract, policy).investigate(Config::default(), case).await;
//! # Ok(finished)
//! # }
//! ```

mod capabilities;
mod cassette;
mod config;
mod meter;
mod prices;
mod provider;
mod rate;
mod recorded;
mod retry;
mod secret;
mod tokens;

pub use capabilities::{Capabilities, CapabilityChanges, ReasoningEffort, StructuredOutput};
pub use cassette::{Cassette, CassetteError, CassetteMode, CassetteModel};
pub use config::{
    BudgetConfig, CassetteConfig, Check, CheckStatus, ConfigError, Env, IdleModel, LimitConfig,
    LlmConfig, LlmRole, ModelConfig, Models, ProviderConfig, RULES, RoleConfig, RolesConfig,
};
pub use meter::{Meter, Metered};
pub use prices::{PriceError, Prices};
pub use provider::{GenaiModel, GenaiSettings};
pub use rate::{RateLimited, RateLimiter, RateLimits};
pub use recorded::Recorded;
pub use retry::{Notice, Reach, RetryPolicy, Retrying};
pub use secret::{Masker, Secret};
