//! Signatures of messages of SNS: over some of their fields, by a certificate that SNS serves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use ring::signature::{RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};
use serde::Deserialize;
use webpki::EndEntityCert;

use super::{client, is_of_sns};

/// Longest certificate that is read, in bytes.
const MAX_CERTIFICATE: usize = 64 << 10;
/// Most certificates that are kept: SNS has one for each region, and renews it once a year.
const MAX_KEPT: usize = 64;

/// A message of SNS as it was sent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Signed {
    #[serde(rename = "Type")]
    kind: String,
    message_id: String,
    pub(crate) topic_arn: String,
    subject: Option<String>,
    message: String,
    timestamp: String,
    token: String,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: String,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    certificate: String,
}

impl Signed {
    /// The message, if a body is one of SNS.
    pub(crate) fn of(body: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(body).ok()?;
        (!read.kind.is_empty() && !read.topic_arn.is_empty()).then_some(read)
    }

    /// Where its certificate is, if that is an address of SNS itself: nothing else is ever asked.
    ///
    /// # Errors
    /// That it is not.
    pub(crate) fn certificate(&self) -> Result<Url, String> {
        let url = Url::parse(&self.certificate).ok().filter(|url| {
            let path = url.path();
            is_of_sns(url)
                && path.starts_with("/SimpleNotificationService-")
                && path.ends_with(".pem")
                && path.matches('/').count() == 1
                && url.query().is_none()
        });
        let reason = "the SigningCertURL is not a certificate of SNS \
                      (https://sns.REGION.amazonaws.com/SimpleNotificationService-….pem)";
        url.ok_or_else(|| reason.to_owned())
    }

    /// The text that is signed: names and values, a line each.
    fn text(&self) -> String {
        let subject = self.subject.as_ref().map(|subject| ("Subject", subject));
        let (message, id) = (("Message", &self.message), ("MessageId", &self.message_id));
        let (at, topic) = (("Timestamp", &self.timestamp), ("TopicArn", &self.topic_arn));
        let kind = ("Type", &self.kind);
        let fields: Vec<(&str, &String)> = match self.kind.as_str() {
            "Notification" => {
                [message, id].into_iter().chain(subject).chain([at, topic, kind]).collect()
            }
            _ => {
                let (url, token) = (("SubscribeURL", &self.subscribe_url), ("Token", &self.token));
                vec![message, id, url, at, token, topic, kind]
            }
        };
        fields.into_iter().map(|(name, value)| format!("{name}\n{value}\n")).collect()
    }

    /// Verifies its signature by a certificate as PEM.
    ///
    /// # Errors
    /// Why it is not valid.
    pub(crate) fn verify(&self, pem: &[u8]) -> Result<(), String> {
        let algorithm: &dyn SignatureVerificationAlgorithm = match self.signature_version.as_str() {
            "1" => &RsaSha1,
            "2" => webpki::ring::RSA_PKCS1_2048_8192_SHA256,
            other => {
                let other = eog_evidence::shorten(other, 20);
                return Err(format!("SignatureVersion {other:?}; eog verifies 1 and 2"));
            }
        };
        let signature = STANDARD.decode(&self.signature).map_err(|_| "it is no base64")?;
        let certificate = CertificateDer::from_pem_slice(pem)
            .map_err(|error| format!("the certificate of SNS cannot be read: {error:?}"))?;
        let certificate = EndEntityCert::try_from(&certificate)
            .map_err(|error| format!("the certificate of SNS cannot be read: {error}"))?;
        let verified = certificate.verify_signature(algorithm, self.text().as_bytes(), &signature);
        verified.map_err(|error| error.to_string())
    }
}

/// `sha1WithRSAEncryption`, 1.2.840.113549.1.1.5.
const SHA1_WITH_RSA: AlgorithmIdentifier = AlgorithmIdentifier::from_slice(&[
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05, 0x05, 0x00,
]);

/// RSA over SHA-1, as version 1 of the signatures has it.
#[derive(Debug)]
struct RsaSha1;

impl SignatureVerificationAlgorithm for RsaSha1 {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let algorithm = &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY;
        let key = UnparsedPublicKey::new(algorithm, public_key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        SHA1_WITH_RSA
    }
}

/// Certificates of SNS by their addresses, each fetched once.
#[derive(Debug, Default)]
pub(crate) struct Certificates(Mutex<BTreeMap<String, Arc<[u8]>>>);

impl Certificates {
    /// The certificate at an address of SNS.
    ///
    /// # Errors
    /// Why it could not be fetched.
    pub(crate) async fn get(&self, url: Url) -> Result<Arc<[u8]>, String> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(url.as_str()) {
            return Ok(found.clone());
        }
        let key = url.to_string();
        let answer = client()?.get(url).send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        let mut answer = answer.map_err(|error| error.without_url().to_string())?;
        let mut pem = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|it| it.without_url().to_string())? {
            pem.extend_from_slice(&chunk);
            if pem.len() > MAX_CERTIFICATE {
                return Err(format!("it is longer than {MAX_CERTIFICATE} bytes"));
            }
        }
        let pem: Arc<[u8]> = pem.into();
        let mut all = known();
        if all.len() >= MAX_KEPT {
            all.clear();
        }
        all.insert(key, pem.clone());
        Ok(pem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made for these tests, as are the signatures.
    const CERTIFICATE: &[u8] = include_bytes!("messages/certificate.pem");

    #[test]
    fn messages_are_verified_by_either_version() {
        for message in [
            include_str!("messages/notification-1.json"),
            include_str!("messages/notification-2.json"),
            include_str!("messages/subscription-2.json"),
        ] {
            let of = |text: &str| Signed::of(text.as_bytes()).unwrap();
            assert_eq!(of(message).verify(CERTIFICATE), Ok(()));
            assert!(of(message).certificate().is_ok());
            for (from, to) in [
                ("123456789012:alarms", "123456789012:other"),
                ("2026-01-01T", "2026-01-02T"),
                ("165545c9", "165545c8"),
            ] {
                let changed = of(&message.replace(from, to));
                assert!(changed.verify(CERTIFICATE).is_err(), "{from} is signed");
            }
            let other = if message.contains("\"SignatureVersion\": \"1\"") { "2" } else { "1" };
            for version in [other, "3", ""] {
                let mut changed = of(message);
                changed.signature_version = version.to_owned();
                assert!(changed.verify(CERTIFICATE).is_err(), "version {version}");
            }
            assert!(of(message).verify(b"no certificate").is_err());
        }
        assert!(Signed::of(br#"{"AlarmName":"a"}"#).is_none(), "an alarm without an envelope");
    }

    #[test]
    fn certificates_are_those_of_sns_alone() {
        for (url, good) in [
            ("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem", true),
            ("https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0a.pem", true),
            ("http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem", false),
            (
                "https://sns.eu-west-1.amazonaws.com.evil.test/SimpleNotificationService-0a.pem",
                false,
            ),
            ("https://s3.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com/bucket/SimpleNotificationService-0a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com/other.pem", false),
            ("https://sns.eu-west-1.amazonaws.com:1/SimpleNotificationService-0a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem?x=1", false),
            ("", false),
        ] {
            let signed = Signed { certificate: url.to_owned(), ..Signed::default() };
            assert_eq!(signed.certificate().is_ok(), good, "{url}");
        }
    }
}
