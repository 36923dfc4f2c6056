//! Fetches a document within limits of time and size. Redirects are followed here, because each hop is a new address.

use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};

use crate::reach::{NetworkReach, is_internal};

/// Limits of one fetch.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// For the whole fetch.
    pub time: Duration,
    pub connect: Duration,
    /// Bytes of the document that are read.
    pub bytes: usize,
    pub redirects: u32,
}

/// A document, or the beginning of one.
#[derive(Debug)]
pub struct FetchedDocument {
    /// The final URL, after redirects.
    pub url: Url,
    pub status: StatusCode,
    pub content_type: String,
    pub body: Vec<u8>,
    /// Whether the body was truncated.
    pub is_truncated: bool,
}

/// Why a fetch failed. The messages contain no URL: it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Url(&'static str),
    #[error("the address is in an internal network that is not opened")]
    Internal,
    #[error("{0}")]
    Host(String),
    #[error("{0}")]
    Redirect(String),
    #[error("the fetch timed out")]
    Timeout,
    #[error("the server cannot be reached, or closed the connection")]
    Unreachable,
    #[error("the server sent a compressed document, which is not supported")]
    Compressed,
}

/// Fetches the document at `url`. `allow` must accept the host and port of every URL on the way.
pub async fn get(
    reach: &NetworkReach,
    url: Url,
    bounds: FetchLimits,
    allow: impl Fn(&Url) -> Result<(), String>,
) -> Result<FetchedDocument, FetchError> {
    let client = reach.client(bounds.connect).build().map_err(|_| FetchError::Unreachable)?;
    let fetched = follow_redirects(&client, reach, url, bounds, allow);
    tokio::time::timeout(bounds.time, fetched).await.unwrap_or(Err(FetchError::Timeout))
}

async fn follow_redirects(
    client: &Client,
    reach: &NetworkReach,
    mut url: Url,
    bounds: FetchLimits,
    allow: impl Fn(&Url) -> Result<(), String>,
) -> Result<FetchedDocument, FetchError> {
    for _ in 0..=bounds.redirects {
        check_url(reach, &url)?;
        allow(&url).map_err(FetchError::Host)?;
        let request = client.get(url.clone()).header(ACCEPT, "text/html, text/*, application/json");
        let response = request.send().await.map_err(|error| classify_error(&error))?;
        match redirect_target(&response, &url)? {
            Some(target) => url = target,
            None => return read_body(response, url, bounds.bytes).await,
        }
    }
    Err(FetchError::Redirect(format!("more than {} redirects", bounds.redirects)))
}

fn check_url(reach: &NetworkReach, url: &Url) -> Result<(), FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Url("only http and https URLs can be fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Url("URLs with credentials are not fetched"));
    }
    reach.check(url).map_err(|_| FetchError::Internal)
}

/// The target of a redirect; `None` if the response is not one.
fn redirect_target(response: &Response, from: &Url) -> Result<Option<Url>, FetchError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(target) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
        return Ok(None);
    };
    let target = target.to_str().ok().and_then(|target| from.join(target).ok());
    let mut target =
        target.ok_or_else(|| FetchError::Redirect("a redirect has no valid target".to_owned()))?;
    if from.scheme() == "https" && target.scheme() == "http" {
        let text = "a redirect downgrades from https to http";
        return Err(FetchError::Redirect(text.to_owned()));
    }
    target.set_fragment(None);
    Ok(Some(target))
}

async fn read_body(
    mut response: Response,
    url: Url,
    limit: usize,
) -> Result<FetchedDocument, FetchError> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    if header(CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(FetchError::Compressed);
    }
    let content_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
    let (status, mut body, mut is_cut) = (response.status(), vec![], false);
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_error(&error))? {
        let room = limit - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(FetchedDocument { url, status, content_type, body, is_truncated: is_cut })
}

fn classify_error(error: &reqwest::Error) -> FetchError {
    if is_internal(error) {
        FetchError::Internal
    } else if error.is_timeout() {
        FetchError::Timeout
    } else {
        FetchError::Unreachable
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::response::{IntoResponse as _, Redirect};
    use axum::routing::get as on_get;
    use cynode_domain::policy::network::AllowedNetworks;
    use futures_util::stream;

    use super::*;

    const SHORT: FetchLimits = FetchLimits {
        time: Duration::from_millis(500),
        connect: Duration::from_millis(500),
        bytes: 100_000,
        redirects: 3,
    };
    const LONG: FetchLimits = FetchLimits { time: Duration::from_mins(1), ..SHORT };

    async fn serve() -> String {
        let chunk = || Ok::<_, std::io::Error>(vec![b'x'; 8192]);
        let router = Router::new()
            .route("/text", on_get(|| async { "hello" }))
            .route("/once", on_get(|| async { Redirect::temporary("/text#part") }))
            .route("/round", on_get(|| async { Redirect::permanent("/round") }))
            .route("/inside", on_get(|| async { Redirect::to("http://169.254.169.254/latest") }))
            .route("/mapped", on_get(|| async { Redirect::to("http://[::ffff:169.254.169.254]/") }))
            .route("/file", on_get(|| async { Redirect::to("file:///etc/passwd") }))
            .route("/other", on_get(|| async { Redirect::to("http://127.0.0.2:1/") }))
            .route("/silent", on_get(std::future::pending::<&str>))
            .route(
                "/endless",
                on_get(move || async move { Body::from_stream(stream::repeat_with(chunk)) }),
            )
            .route(
                "/slow",
                on_get(|| async {
                    Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>())
                }),
            )
            .route(
                "/packed",
                on_get(|| async {
                    ([(CONTENT_ENCODING, "gzip")], vec![0x1f, 0x8b]).into_response()
                }),
            );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        cynode_runtime::tasks::BackgroundTasks::new()
            .spawn("web", async move { axum::serve(listener, router).await.unwrap() });
        url
    }

    async fn fetch(path: &str, bounds: FetchLimits) -> Result<FetchedDocument, FetchError> {
        let url = Url::parse(&format!("{}{path}", serve().await)).unwrap();
        let reach = NetworkReach::Public(AllowedNetworks::parse(["127.0.0.0/30"]).unwrap());
        let allow = |url: &Url| match url.host_str() {
            Some("127.0.0.2") => Err("not that one".to_owned()),
            _ => Ok(()),
        };
        get(&reach, url, bounds, allow).await
    }

    #[tokio::test]
    async fn a_document_is_got_by_way_of_redirects() {
        let fetched = fetch("/once", LONG).await.unwrap();

        assert_eq!((fetched.url.path(), fetched.url.fragment()), ("/text", None));
        assert_eq!((fetched.body.as_slice(), fetched.is_truncated), (&b"hello"[..], false));
    }

    #[tokio::test]
    async fn every_hop_of_a_redirect_is_judged() {
        for path in ["/inside", "/mapped"] {
            assert_eq!(fetch(path, LONG).await.unwrap_err(), FetchError::Internal, "{path}");
        }
        assert_eq!(
            fetch("/other", LONG).await.unwrap_err(),
            FetchError::Host("not that one".to_owned())
        );
        assert!(matches!(fetch("/file", LONG).await, Err(FetchError::Url(_))));
        assert!(matches!(fetch("/round", LONG).await, Err(FetchError::Redirect(_))));
    }

    #[tokio::test]
    async fn a_document_without_end_is_cut_and_one_that_does_not_come_is_not_waited_for() {
        let endless = fetch("/endless", LONG).await.unwrap();

        assert_eq!((endless.body.len(), endless.is_truncated), (LONG.bytes, true));
        for path in ["/slow", "/silent"] {
            assert_eq!(fetch(path, SHORT).await.unwrap_err(), FetchError::Timeout, "{path}");
        }
    }

    #[tokio::test]
    async fn a_compressed_document_is_not_unpacked() {
        assert_eq!(fetch("/packed", LONG).await.unwrap_err(), FetchError::Compressed);
    }

    #[tokio::test]
    async fn without_an_opening_nothing_of_this_machine_is_fetched() {
        let url = Url::parse(&format!("{}/text", serve().await)).unwrap();
        let reach = NetworkReach::Public(AllowedNetworks::default());

        let refused = get(&reach, url, LONG, |_| Ok(())).await;

        assert_eq!(refused.unwrap_err(), FetchError::Internal);
    }
}
