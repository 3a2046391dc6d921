//! Amazon SNS: its handshake, in which a topic asks whether it may send and is answered at the address that it names, and the
//! [`signature`]s of its messages.

pub(crate) mod signature;

use reqwest::Url;
use reqwest::redirect::Policy;

/// How long the answer may take, in seconds.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The address at which a subscription to a topic is confirmed, if it is one of SNS itself: nothing else is ever asked.
///
/// # Errors
/// Why it is not.
pub(crate) fn address(url: &str, topic: &str) -> Result<Url, String> {
    let wrong = || {
        "the SubscribeURL is not an address of SNS (https://sns.REGION.amazonaws.com/) for its topic"
            .to_owned()
    };
    let url = Url::parse(url).map_err(|_| wrong())?;
    let has = |name: &str, value: &str| url.query_pairs().any(|(k, v)| k == name && v == value);
    let is_good = is_of_sns(&url)
        && url.path() == "/"
        && has("Action", "ConfirmSubscription")
        && has("TopicArn", topic);
    if is_good { Ok(url) } else { Err(wrong()) }
}

/// Whether an address is one of SNS in some region.
fn is_of_sns(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let region = host
        .strip_prefix("sns.")
        .and_then(|it| it.strip_suffix(".amazonaws.com.cn").or(it.strip_suffix(".amazonaws.com")));
    let is_region = |it: &str| {
        !it.is_empty()
            && it.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
    };
    let is_plain = url.port().is_none() && url.username().is_empty() && url.password().is_none();
    url.scheme() == "https" && region.is_some_and(is_region) && is_plain
}

/// Confirms a subscription.
///
/// # Errors
/// Why it could not be.
pub(crate) async fn confirm(url: Url) -> Result<(), String> {
    let answer =
        client()?.get(url).send().await.map_err(|error| error.without_url().to_string())?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("SNS answers {status}")),
    }
}

fn client() -> Result<reqwest::Client, String> {
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
    client.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_sns_is_ever_asked() {
        let topic = "arn:aws:sns:eu-west-1:1:t";
        let query = format!("?Action=ConfirmSubscription&TopicArn={topic}&Token=x");
        for (begin, good) in [
            ("https://sns.eu-west-1.amazonaws.com/", true),
            ("https://sns.cn-north-1.amazonaws.com.cn/", true),
            ("http://sns.eu-west-1.amazonaws.com/", false),
            ("https://sns.eu-west-1.amazonaws.com.evil.test/", false),
            ("https://evil.test/sns.eu-west-1.amazonaws.com/", false),
            ("https://sns.eu-west-1.amazonaws.com:8443/", false),
            ("https://sns.evil.test@10.0.0.1/", false),
            ("https://sns.x.y.amazonaws.com/", false),
            ("https://169.254.169.254/", false),
        ] {
            assert_eq!(address(&format!("{begin}{query}"), topic).is_ok(), good, "{begin}");
        }
        let url = format!("https://sns.eu-west-1.amazonaws.com/{query}");
        assert!(address(&url, "arn:aws:sns:eu-west-1:1:other").is_err());
    }
}
