//! Asks the Kubernetes API: lists alone, in pages, bounded in time, bytes and number.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::api::ListParams;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use serde::Deserialize;
use serde_json::Value;

use crate::config::Kubernetes as Settings;
use crate::error::{AskError, ConfigError};

/// How often a call is tried that failed before it was handled.
const ATTEMPTS: usize = 3;

/// Longest part of an error body that is shown, in characters.
const SHOWN: usize = 300;

/// The API of one cluster.
#[derive(Clone)]
pub(crate) struct Client {
    client: kube::Client,
    place: String,
    timeout: Duration,
    max_bytes: usize,
    page: u32,
}

/// One page of a list.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    more: Option<String>,
}

/// What a list gave.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Why it is not all, if it is not.
    pub(super) cut: Option<String>,
}

impl Client {
    /// By a kubeconfig or, within a cluster, by the service account.
    ///
    /// # Errors
    /// [`ConfigError`] when there is no usable one.
    pub(super) async fn open(settings: &Settings) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError::new("[kubernetes]", reason);
        // Fails if the program has chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = KubeConfigOptions { context: settings.context.clone(), ..Default::default() };
        let mut config = match &settings.kubeconfig {
            Some(file) => {
                let place = |error: &dyn std::error::Error| {
                    wrong(format!("kubeconfig {}: {}", file.display(), innermost(error)))
                };
                let read = Kubeconfig::read_from(file).map_err(|error| place(&error))?;
                let config = kube::Config::from_custom_kubeconfig(read, &options);
                config.await.map_err(|error| place(&error))?
            }
            None if settings.context.is_some() => kube::Config::from_kubeconfig(&options)
                .await
                .map_err(|error| wrong(format!("kubeconfig: {}", innermost(&error))))?,
            None => kube::Config::infer().await.map_err(|error| {
                let reason = eog_evidence::shorten(&error.to_string(), SHOWN);
                wrong(format!("neither a kubeconfig nor a service account can be used: {reason}"))
            })?,
        };
        let timeout = settings.timeout.unsigned_abs();
        config.connect_timeout = Some(timeout.min(Duration::from_secs(10)));
        config.read_timeout = Some(timeout);
        // Nothing is sent.
        config.write_timeout = Some(timeout);
        let place = place_of(&config.cluster_url);
        let client = kube::Client::try_from(config)
            .map_err(|error| wrong(format!("the client cannot be made: {}", innermost(&error))))?;
        Ok(Self::of(client, place, settings))
    }

    /// Over a client that is there already.
    pub(super) fn of(client: kube::Client, place: String, settings: &Settings) -> Self {
        let timeout = settings.timeout.unsigned_abs();
        Self { client, place, timeout, max_bytes: settings.max_bytes, page: settings.page }
    }

    /// Where it is, without credentials.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The version of the server, if it says so.
    pub(super) async fn version(&self) -> Option<String> {
        let request = http::Request::get("/version").body(Vec::new()).ok()?;
        let body = self.once(request).await.ok()?;
        let value: Value = serde_json::from_slice(&body).ok()?;
        value.get("gitVersion")?.as_str().map(|text| eog_evidence::shorten(text, 60))
    }

    /// Whether a list may be asked for.
    pub(super) async fn may_list(&self, path: &str, metadata_only: bool) -> Result<(), AskError> {
        let request = list(path, metadata_only, 1, None)?;
        self.once(request).await.map(drop)
    }

    /// Lists what is under a path, up to so many; each is given away as it comes, so that no more than a page is
    /// held.
    pub(super) async fn list(
        &self,
        path: &str,
        metadata_only: bool,
        most: usize,
        mut take: impl FnMut(Value),
    ) -> Result<Listed, AskError> {
        let (mut more, mut count) = (None, 0);
        loop {
            let ask = || async {
                let page = u32::try_from(most - count).unwrap_or(u32::MAX).min(self.page);
                self.once(list(path, metadata_only, page, more.as_deref())?).await
            };
            let pause = ExponentialBuilder::default()
                .with_min_delay(Duration::from_millis(200))
                .with_max_times(ATTEMPTS - 1);
            let body = match ask.retry(pause).when(AskError::may_pass).await {
                Ok(body) => body,
                Err(error) if count == 0 => return Err(error),
                // What was listed before stands; a list that changes too fast ends with 410.
                Err(error) => {
                    return Ok(Listed { cut: Some(format!("after {count} of them: {error}")) });
                }
            };
            let page: Page = serde_json::from_slice(&body)
                .map_err(|error| AskError::Answer(error.to_string()))?;
            count += page.items.len();
            // A server may give more than it was asked for.
            let surplus = count.saturating_sub(most);
            let kept = page.items.len() - surplus.min(page.items.len());
            page.items.into_iter().take(kept).for_each(&mut take);
            more = page.metadata.more.filter(|text| !text.is_empty());
            if more.is_none() && surplus == 0 {
                return Ok(Listed::default());
            }
            if count >= most {
                let cut = format!("more than {most}, the others are left out (max_objects)");
                return Ok(Listed { cut: Some(cut) });
            }
        }
    }

    async fn once(&self, request: http::Request<Vec<u8>>) -> Result<Vec<u8>, AskError> {
        match tokio::time::timeout(self.timeout, self.read(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(AskError::Slow(self.timeout)),
        }
    }

    async fn read(&self, request: http::Request<Vec<u8>>) -> Result<Vec<u8>, AskError> {
        let response = self.client.send(request.map(Body::from)).await.map_err(of_client)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), self.max_bytes).collect().await;
        let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => AskError::Answer(
                "it is longer than max_bytes; ask for fewer objects in a page".to_owned(),
            ),
            None => AskError::Away(innermost(error.as_ref())),
        })?;
        let body = Vec::from(body.to_bytes());
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let answer: Option<Value> = serde_json::from_slice(&body).ok();
        let message = answer.as_ref().and_then(|it| it.get("message")?.as_str());
        let text = String::from_utf8_lossy(&body);
        let said = eog_evidence::mask_text(message.unwrap_or_else(|| text.trim()));
        Err(AskError::Status { status, said: eog_evidence::shorten(&said, SHOWN) })
    }
}

fn list(
    path: &str,
    metadata_only: bool,
    page: u32,
    more: Option<&str>,
) -> Result<http::Request<Vec<u8>>, AskError> {
    let mut parameters = ListParams::default().limit(page);
    if let Some(more) = more {
        parameters = parameters.continue_token(more);
    }
    let request = Request::new(path);
    let made = match metadata_only {
        true => request.list_metadata(&parameters),
        false => request.list(&parameters),
    };
    made.map_err(|error| AskError::Answer(format!("{path}: {error}")))
}

fn of_client(error: kube::Error) -> AskError {
    match error {
        kube::Error::Auth(error) => {
            AskError::Answer(format!("no credentials: {}", innermost(&error)))
        }
        error => AskError::Away(innermost(&error)),
    }
}

/// The innermost reason says most, and holds no address with credentials.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    eog_evidence::shorten(&eog_evidence::mask_text(&inner.to_string()), SHOWN)
}

fn place_of(url: &http::Uri) -> String {
    let host = url.authority().map(|authority| {
        let text = authority.as_str();
        text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned()
    });
    let scheme = url.scheme_str().unwrap_or("https");
    format!("{scheme}://{}{}", host.unwrap_or_default(), url.path().trim_end_matches('/'))
}
