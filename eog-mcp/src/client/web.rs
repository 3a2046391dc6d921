//! A server over streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};

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
        let bad = |part: &str| format!("the header {name:?} has a {part} that HTTP does not allow");
        let name: http::HeaderName = name.parse().map_err(|_| bad("name"))?;
        let mut value = http::HeaderValue::from_str(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let inner = StreamableHttpClientTransport::from_config(config.custom_headers(custom));
    Ok(Attentive { inner, notes: Arc::clone(notes) })
}

/// A transport that ends when the server refuses a request without saying which one: that request
/// would wait in vain. Some servers tell so that they do not know a session.
struct Attentive<T> {
    inner: T,
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
            self.notes.ended(format!("it refused a request with {}: {said}", refused.error.code.0));
            return None;
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
