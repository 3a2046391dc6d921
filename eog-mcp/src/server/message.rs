//! What a client sends, read before it is believed.

use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use serde_json::Value;

/// An error as an answer.
pub(super) type Refused = Box<ServerJsonRpcMessage>;

/// The message in some bytes: nothing if it is to be passed over, or the answer that says what is
/// wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refused> {
    let bytes = bytes.trim_ascii();
    let error = match serde_json::from_slice(bytes) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("not valid JSON: {error}; send one JSON-RPC object");
        refused(ErrorData::parse_error(message, None), None)
    })?;
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    // A notification of another protocol, or of a later one.
    if value.get("id").is_none() && value.get("method").is_some_and(Value::is_string) {
        return Ok(None);
    }
    let message = format!("not a valid MCP message: {error}; send one JSON-RPC object");
    Err(refused(ErrorData::invalid_request(message, None), id))
}

/// An error as an answer.
pub(super) fn refused(error: ErrorData, id: Option<RequestId>) -> Refused {
    Box::new(JsonRpcMessage::error(error, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_refused() {
        let answer = |text: &str| match read(text.as_bytes()) {
            Err(answer) => {
                let answer = serde_json::to_value(answer).expect("JSON");
                (answer["error"]["code"].as_i64().expect("a code"), answer["id"].clone())
            }
            Ok(read) => panic!("{text} was read as {read:?}"),
        };
        assert_eq!(answer("no JSON"), (-32700, Value::Null));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","#), (-32700, Value::Null));
        assert_eq!(answer("[]"), (-32600, Value::Null));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":"x","method":5}"#), (-32600, "x".into()));
        assert!(read(br#"{"jsonrpc":"2.0","method":"of/later"}"#).is_ok());
        let call = read(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert!(matches!(call, Ok(Some(JsonRpcMessage::Request(_)))), "{call:?}");
    }
}
