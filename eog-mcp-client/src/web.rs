//! A server over streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use rmcp::model::{ErrorData, JsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde::Serialize;

use super::notes::Notes;

/// The transport to an address. Answers longer than `max_answer` bytes are not kept.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    max_answer: usize,
    notes: &Arc<Notes>,
) -> Result<impl Transport<RoleClient> + use<>, String> {
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut custom = HashMap::new();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(max_answer)
        // Only reads are asked again, and that is decided elsewhere.
        .reinit_on_expired_session(false);
    for (name, value) in headers {
        let is_authorization = name.eq_ignore_ascii_case("authorization");
        if let Some(token) = value.strip_prefix("Bearer ").filter(|_| is_authorization) {
            config = config.auth_header(token);
            continue;
        }
        let bad = |part: &str| format!("the header {name:?} has an invalid {part}");
        let name: http::HeaderName = name.parse().map_err(|_| bad("name"))?;
        let mut value = http::HeaderValue::from_str(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let inner = StreamableHttpClientTransport::from_config(config.custom_headers(custom));
    Ok(Attentive { inner, max_answer, notes: Arc::clone(notes) })
}

/// A transport that ends when the server refuses a request without saying which one: that request
/// would never end. Some servers report an unknown session this way. Answers that are too long
/// are refused: the library bounds the events of a stream by our setting, but a whole body by its own.
struct Attentive<T> {
    inner: T,
    max_answer: usize,
    notes: Arc<Notes>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Attentive<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        if let JsonRpcMessage::Error(refused) = &message
            && refused.id.is_none()
        {
            let said = eog_evidence::shorten(&refused.error.message, 200);
            self.notes.ended(format!(
                "it rejected a request with error {}: {said}",
                refused.error.code.0
            ));
            return None;
        }
        if let JsonRpcMessage::Response(response) = &message
            && is_longer(response, self.max_answer)
        {
            let reason = format!("its answer is longer than {} bytes", self.max_answer);
            let refused = ErrorData::internal_error(reason, None);
            return Some(JsonRpcMessage::error(refused, Some(response.id.clone())));
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Whether something is longer than a bound, in bytes as JSON without white space.
fn is_longer(value: &impl Serialize, bound: usize) -> bool {
    serde_json::to_writer(Bounded(bound), value).is_err()
}

/// Takes so many bytes, and keeps none.
struct Bounded(usize);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_to_the_byte() {
        let answer = serde_json::json!({"text": "ab"});
        assert_eq!(answer.to_string().len(), 13);
        assert!(!is_longer(&answer, 13) && is_longer(&answer, 12));
    }
}
