//! Serves the files with strict security headers.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use crate::assets::{ASSETS, ConsoleAsset};

/// Scripts, styles, images and requests of this origin only; no frames, no native form submission, and
/// no sink that turns text into markup or code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    // Always revalidated: a new release is visible at once, unchanged files are not sent again.
    ("cache-control", "no-cache"),
];

/// The routes of the console. They are stateless and unauthenticated: the files are the same for every
/// user, and all data comes from the API.
pub fn router() -> Router {
    let router =
        Router::new().route("/console", get(|| async { Redirect::permanent("/console/") }));
    ASSETS.iter().fold(router, |router, asset| router.route(asset.path, asset_route(asset)))
}

fn asset_route(asset: &'static ConsoleAsset) -> MethodRouter<(), Infallible> {
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(asset.content.as_bytes())));
    get(move |headers: HeaderMap| async move { asset_response(asset, &tag, &headers) })
}

fn asset_response(asset: &ConsoleAsset, tag: &str, headers: &HeaderMap) -> Response {
    let is_known =
        headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let (status, body) = if is_known {
        (StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        (StatusCode::OK, Body::from(asset.content))
    };
    let own = [(CONTENT_TYPE, asset.media_type), (ETAG, tag)];
    let mut response = (status, own, body).into_response();
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn get_asset(path: &str, known: Option<&str>) -> Response {
        let mut request = Request::get(path);
        if let Some(tag) = known {
            request = request.header(IF_NONE_MATCH, tag);
        }
        router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn every_file_of_the_console_comes_with_its_type_and_the_strict_headers() {
        for asset in ASSETS {
            let answer = get_asset(asset.path, None).await;

            assert_eq!(answer.status(), StatusCode::OK, "{}", asset.path);
            assert_eq!(answer.headers()[CONTENT_TYPE], asset.media_type);
            for (name, value) in HEADERS {
                assert_eq!(answer.headers()[*name], value, "{}", asset.path);
            }
            let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body, asset.content.as_bytes());
        }
    }

    #[tokio::test]
    async fn the_policy_of_the_console_allows_no_inline_script_and_no_other_host() {
        let answer = get_asset("/console/", None).await;

        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        for hole in ["unsafe", "*", "http", "data:", "blob:"] {
            assert!(!policy.contains(hole), "{policy}");
        }
    }

    #[tokio::test]
    async fn a_file_that_the_browser_has_is_not_sent_again() {
        let first = get_asset("/console/style.css", None).await;
        let tag = first.headers()[ETAG].to_str().unwrap();

        let again = get_asset("/console/style.css", Some(tag)).await;
        let other = get_asset("/console/style.css", Some("\"else\"")).await;

        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(other.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn the_console_is_found_without_the_slash_at_its_end() {
        let answer = get_asset("/console", None).await;

        assert_eq!(answer.status(), StatusCode::PERMANENT_REDIRECT);
        assert_eq!(answer.headers()["location"], "/console/");
    }
}
