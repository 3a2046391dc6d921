//! Browsers that have no header for the token: a form, and a cookie for the pages.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue,
    LOCATION, SET_COOKIE,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::settings::SignIn;
use super::token::Token;

/// Where the form is sent to.
pub(super) const SIGN_IN: &str = "/sign-in";

/// The name of the cookie.
const NAME: &str = "eog-session";

/// The most bytes of the form.
const MAX_FORM: usize = 8 << 10;

/// Whether a request is a sign-in.
pub(super) fn is_asked(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path() == SIGN_IN
}

/// Whether a request is for a page in a browser, which can show a form.
pub(super) fn is_of_a_browser(request: &Request) -> bool {
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    request.method() == Method::GET && accept.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Whether a browser has what it was given.
pub(super) fn has_cookie(token: &Token, headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
    pairs.any(|(name, value)| name == NAME && token.is_cookie(value))
}

/// The page that asks for the token.
pub(super) fn ask(page: SignIn, complaint: &str) -> Response {
    html(StatusCode::UNAUTHORIZED, page(complaint))
}

/// A page that is neither cached nor framed.
pub(super) fn html(status: StatusCode, page: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    ];
    (status, headers, page).into_response()
}

/// Gives a browser that has sent the token what it is to keep.
pub(super) async fn answer(token: &Token, page: SignIn, request: Request) -> Response {
    let form = to_bytes(request.into_body(), MAX_FORM).await.unwrap_or_default();
    let form = String::from_utf8_lossy(&form);
    let given = form.split('&').find_map(|field| field.strip_prefix("token="));
    match given.map(plain).is_some_and(|given| token.is(given.trim())) {
        false => ask(page, "This is not the token."),
        true => {
            let cookie = format!("{NAME}={}; Path=/; HttpOnly; SameSite=Strict", token.cookie());
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::SEE_OTHER;
            let headers = answer.headers_mut();
            headers.insert(LOCATION, HeaderValue::from_static("/"));
            if let Ok(cookie) = cookie.parse() {
                headers.insert(SET_COOKIE, cookie);
            }
            answer
        }
    }
}

/// The value of a field of a form, as it was before the browser escaped it.
fn plain(value: &str) -> String {
    let (mut bytes, mut left) = (Vec::new(), value.bytes());
    while let Some(byte) = left.next() {
        let digit = |byte: Option<u8>| (byte? as char).to_digit(16);
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (digit(left.next()), digit(left.next())) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => b'?',
            },
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cookie_that_was_given_counts() {
        let token = Token::new("0123456789abcdef").unwrap();
        let has = |cookie: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, cookie.parse().unwrap());
            has_cookie(&token, &headers)
        };
        let good = token.cookie();
        assert!(has(&format!("a=b; {NAME}={good}; c=d")));
        let other = Token::new("0123456789abcdeg").unwrap().cookie();
        for wrong in
            [format!("{NAME}={other}"), format!("other={good}"), format!("{NAME}=0123456789abcdef")]
        {
            assert!(!has(&wrong), "{wrong}");
        }
    }

    #[test]
    fn fields_are_as_they_were_typed() {
        assert_eq!(plain("a%2Fb+c%C3%A9"), "a/b cé");
        assert_eq!(plain("100%"), "100?");
    }
}
