//! Signatures of messages, after the specification Standard Webhooks: HMAC-SHA256 over id, time and body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Fewest bytes of a secret.
const MIN_SECRET: usize = 16;

/// A secret that receivers know, too.
#[derive(Clone)]
pub(crate) struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads a secret: `whsec_` and base64, or any text.
    ///
    /// # Errors
    /// What is wrong with it, without it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let bytes = match text.strip_prefix("whsec_") {
            Some(coded) => STANDARD
                .decode(coded)
                .map_err(|_| "what follows `whsec_` is not base64".to_owned())?,
            None => text.as_bytes().to_vec(),
        };
        match bytes.len() {
            short if short < MIN_SECRET => {
                Err(format!("a secret of {short} bytes, fewer than {MIN_SECRET}"))
            }
            _ => Ok(Self(bytes)),
        }
    }

    /// The header `webhook-signature`.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            // HMAC takes keys of every length.
            return String::new();
        };
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference implementations.
    #[test]
    fn signatures_are_those_of_the_specification() {
        let secret = Secret::read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn short_secrets_are_refused_without_being_printed() {
        let error = Secret::read("hunter2").unwrap_err();
        assert!(error.contains("7 bytes") && !error.contains("hunter2"), "{error}");
        assert!(Secret::read("whsec_***").is_err());
    }
}
