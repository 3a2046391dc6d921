//! How a cluster is reached.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::ConnectOptions;

use crate::NatsError;

/// How to reach a cluster, and with which credentials.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// `nats://` or `tls://` addresses of one or several servers of the cluster, separated by commas.
    pub url: String,
    /// What the names of streams, buckets and subjects begin with.
    pub prefix: String,
    /// The user of the connection.
    pub access: Access,
    /// Certificates to trust, in place of those of the system: a PEM file.
    pub ca: Option<PathBuf>,
    /// The certificate and the key of this client: PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Refuse connections without TLS.
    pub require_tls: bool,
    /// How long one request may take. A server that is silent for three times as long counts as cut off, and
    /// another one is asked.
    pub timeout: Duration,
    /// How often something is tried again until the cluster counts as having no leader. Pauses grow from
    /// 0.1 to 2 s.
    pub retries: u32,
}

/// The user of the connection.
#[derive(Clone, Default)]
pub enum Access {
    /// The user in the address, or none.
    #[default]
    Address,
    /// The user of a credentials file (JWT and seed).
    Credentials(PathBuf),
    /// The user of a seed (NKey).
    NKey(String),
    /// A token.
    Token(String),
    /// A user with a password.
    Password(String, String),
}

/// Without secrets.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Address => "Address",
            Self::Credentials(_) => "Credentials",
            Self::NKey(_) => "NKey",
            Self::Token(_) => "Token",
            Self::Password(..) => "Password",
        })
    }
}

impl Options {
    /// Options for these addresses, with everything else as usual: the prefix `eog`, 5 s for a request, 15
    /// retries.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefix: "eog".to_owned(),
            access: Access::Address,
            ca: None,
            certificate: None,
            require_tls: false,
            timeout: Duration::from_secs(5),
            retries: 15,
        }
    }

    /// The addresses one by one.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.url.split(',').map(|address| address.trim().to_owned()).collect()
    }

    /// The addresses without user and password, for errors.
    pub(crate) fn shown(&self) -> String {
        let plain = |address: &String| match address.rsplit_once('@') {
            Some((before, host)) => {
                let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
                format!("{}{host}", scheme.unwrap_or_default())
            }
            None => address.clone(),
        };
        self.addresses().iter().map(plain).collect::<Vec<_>>().join(",")
    }

    pub(crate) async fn client(&self) -> Result<ConnectOptions, NatsError> {
        let mut options = ConnectOptions::new()
            .name("eog")
            .request_timeout(Some(self.timeout))
            .connection_timeout(self.timeout)
            // A server that is cut off says nothing: after three of these another one is asked.
            .ping_interval(self.timeout)
            .require_tls(self.require_tls);
        options = match &self.access {
            Access::Address => options,
            Access::Credentials(path) => {
                let unusable = |error: std::io::Error| NatsError::Access {
                    what: format!("the credentials {}", path.display()),
                    reason: error.to_string(),
                };
                options.credentials_file(path).await.map_err(unusable)?
            }
            Access::NKey(seed) => options.nkey(seed.clone()),
            Access::Token(token) => options.token(token.clone()),
            Access::Password(user, password) => {
                options.user_and_password(user.clone(), password.clone())
            }
        };
        if let Some(ca) = &self.ca {
            readable("the certificates", ca)?;
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            readable("the certificate", certificate)?;
            readable("the key", key)?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}

/// The client says only that some file is missing.
fn readable(what: &str, path: &PathBuf) -> Result<(), NatsError> {
    std::fs::File::open(path).map(drop).map_err(|error| NatsError::Access {
        what: format!("{what} {}", path.display()),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_no_secrets() {
        let options = Options::new("nats://me:secret@a:4222, tls://token@b:4222,c:4222,u:p@ss@d");
        assert_eq!(options.shown(), "nats://a:4222,tls://b:4222,c:4222,d");
        let access = Access::Password("me".into(), "secret".into());
        assert_eq!(format!("{:?}", Options { access, ..options.clone() }.access), "Password");
    }
}
