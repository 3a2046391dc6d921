//! Language models for eog: [`ChatModel`](eog_prompts::ChatModel) over providers and local servers,
//! and what makes them safe to use: limits, further attempts, hard budgets, records and cassettes.
//!
//! [`LlmConfig`] builds all of it from the section `[llm]` of `eog.toml`. The parts can also be put
//! together by hand: each wraps a model and is a model.

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
    LlmConfig, ModelConfig, Models, ProviderConfig,
};
pub use meter::{Meter, Metered};
pub use prices::{PriceError, Prices};
pub use provider::{GenaiModel, GenaiSettings};
pub use rate::{RateLimited, RateLimiter, RateLimits};
pub use recorded::Recorded;
pub use retry::{Notice, Reach, RetryPolicy, Retrying};
pub use secret::{Masker, Secret};
