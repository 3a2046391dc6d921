//! Asks an HTTP interface: bounded in time and bytes, read-only, with few retries.

use std::path::Path;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};

use crate::config::Endpoint;
use crate::error::{AskError, ConfigError};

/// How often a call is tried that failed before it was handled.
const ATTEMPTS: usize = 3;

/// Longest part of an error body that is shown.
const SHOWN: usize = 300;

/// One HTTP interface.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client,
    base: Url,
    timeout: Duration,
    max_bytes: usize,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
    /// Whether it was longer than the bound, and the rest was not read.
    pub(crate) is_cut: bool,
}

impl Answer {
    /// # Errors
    /// When it is not whole.
    pub(crate) fn whole(&self, otherwise: &str) -> Result<&Self, AskError> {
        if self.is_cut { Err(AskError::Answer(otherwise.to_owned())) } else { Ok(self) }
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, AskError> {
        serde_json::from_slice(&self.body).map_err(|error| AskError::Answer(error.to_string()))
    }
}

impl Http {
    /// # Errors
    /// [`ConfigError`] when the address, a header or a certificate cannot be used.
    pub(crate) fn new(part: &str, endpoint: &Endpoint<'_>) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError::new(format!("[{part}]"), reason);
        let text = endpoint.url.trim_end_matches('/');
        let base = Url::parse(&format!("{text}/"))
            .map_err(|error| wrong(format!("url is no address: {error}")))?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(wrong("url must begin with http:// or https://".to_owned()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in endpoint.headers {
            let place = |reason: &str| wrong(format!("header {name:?}: {reason}"));
            let key = HeaderName::try_from(name).map_err(|_| place("this is no header name"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| place("its value holds a control character"))?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        // Fails if the program has chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .connect_timeout(endpoint.timeout.min(Duration::from_secs(10)))
            .user_agent(concat!("eog/", env!("CARGO_PKG_VERSION")))
            // Where a redirection leads, the credentials must not go.
            .redirect(redirect::Policy::none())
            .default_headers(headers);
        if let Some(file) = endpoint.ca_file {
            builder = builder.add_root_certificate(certificate(file).map_err(wrong)?);
        }
        let client = builder
            .build()
            .map_err(|error| wrong(format!("the HTTP client cannot be made: {error}")))?;
        let (timeout, max_bytes) = (endpoint.timeout, endpoint.max_bytes);
        Ok(Self { client, base, timeout, max_bytes })
    }

    /// The address without credentials, for people.
    pub(crate) fn place(&self) -> String {
        let mut shown = self.base.clone();
        // A base that has no host has no credentials either.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.set_query(None);
        shown.as_str().trim_end_matches('/').to_owned()
    }

    /// How long one call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Asks with GET.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, AskError> {
        let mut url = self.url(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.tried(|| self.client.get(url.clone())).await
    }

    /// Asks with a form, where a question may be longer than an address.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Answer, AskError> {
        let url = self.url(path)?;
        let mut encoded = url.clone();
        encoded.set_query(None);
        encoded.query_pairs_mut().extend_pairs(form);
        let body = encoded.query().unwrap_or_default().to_owned();
        let form = "application/x-www-form-urlencoded";
        self.tried(|| {
            let request = self.client.post(url.clone()).body(body.clone());
            request.header(reqwest::header::CONTENT_TYPE, form)
        })
        .await
    }

    fn url(&self, path: &str) -> Result<Url, AskError> {
        self.base.join(path).map_err(|error| AskError::Answer(format!("{path}: {error}")))
    }

    async fn tried(
        &self,
        request: impl Fn() -> reqwest::RequestBuilder,
    ) -> Result<Answer, AskError> {
        let once = || async { self.once(request()).await };
        let pause = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(200))
            .with_max_times(ATTEMPTS - 1);
        once.retry(pause).when(AskError::may_pass).await
    }

    async fn once(&self, request: reqwest::RequestBuilder) -> Result<Answer, AskError> {
        match tokio::time::timeout(self.timeout, self.read(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(AskError::Slow(self.timeout)),
        }
    }

    async fn read(&self, request: reqwest::RequestBuilder) -> Result<Answer, AskError> {
        let mut response = request.send().await.map_err(|error| AskError::of_request(&error))?;
        let status = response.status().as_u16();
        let (mut body, mut is_cut) = (Vec::new(), false);
        while let Some(chunk) = response.chunk().await.map_err(|e| AskError::of_request(&e))? {
            let room = self.max_bytes - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() > room {
                is_cut = true;
                break;
            }
        }
        let is_page = is_html(&response, &body);
        if (200..300).contains(&status) && !is_page {
            return Ok(Answer { body, is_cut });
        }
        if (300..400).contains(&status) {
            let to = response.headers().get(reqwest::header::LOCATION);
            let to = to.map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
            return Err(AskError::Elsewhere { status, to: to.map(|to| without_secrets(&to)) });
        }
        if is_page {
            return Err(AskError::Page { status });
        }
        let text = String::from_utf8_lossy(&body);
        let said = message(&text).unwrap_or_else(|| text.trim().to_owned());
        let said = eog_evidence::shorten(&eog_evidence::mask_text(&said), SHOWN);
        Err(AskError::Status { status, said })
    }
}

/// Whether a page for people was answered, such as one to sign in.
fn is_html(response: &reqwest::Response, body: &[u8]) -> bool {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
    let says = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    says || body.trim_ascii_start().starts_with(b"<")
}

/// An address as it may be shown: without credentials and without a query, which may hold tokens.
fn without_secrets(address: &str) -> String {
    let shown = match Url::parse(address) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.to_string()
        }
        Err(_) => address.split(['?', '#']).next().unwrap_or_default().to_owned(),
    };
    eog_evidence::shorten(&eog_evidence::mask_text(&shown), SHOWN)
}

/// The message within an error of Prometheus or of Alertmanager.
fn message(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let named = ["error", "message"].into_iter().find_map(|name| value.get(name)?.as_str());
    named.or_else(|| value.as_str()).map(str::to_owned)
}

fn certificate(file: &Path) -> Result<reqwest::Certificate, String> {
    let place = |reason: String| format!("ca_file {}: {reason}", file.display());
    let bytes = std::fs::read(file).map_err(|error| place(error.to_string()))?;
    reqwest::Certificate::from_pem(&bytes).map_err(|error| place(error.to_string()))
}
