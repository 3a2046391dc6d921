//! Providers and local servers, over the crate `genai`, which stays out of the public API.

mod answer;
mod error;
mod kind;
mod model;
mod relay;
mod request;

pub(crate) use kind::{Kind, Place, Shape, nearest_provider, provider_names};
pub(crate) use model::parse;
pub use model::{GenaiModel, GenaiSettings};
