//! Getting a document: redirects by hand, within a time and a size.

use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};

use super::{Reach, is_internal};

/// How much a fetch may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// How long it may take in all.
    pub(crate) time: Duration,
    /// How long a connection may take to be made.
    pub(crate) connect: Duration,
    /// How much of the document is read.
    pub(crate) bytes: usize,
    /// How many redirects are followed.
    pub(crate) redirects: u32,
}

/// A document, or the beginning of one.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Where it was in the end.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    /// What it says it is.
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
    /// Whether there is more of it.
    pub(crate) is_cut: bool,
}

/// Why a document was not got. The words hold no address: it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// The URL is none that can be fetched.
    #[error("{0}")]
    Url(&'static str),
    /// An address on the way may not be reached.
    #[error("the address belongs to an internal network, which is not opened")]
    Internal,
    /// The host of an address on the way is not allowed.
    #[error("{0}")]
    Host(String),
    /// There are too many redirects, or one that leads nowhere.
    #[error("{0}")]
    Redirect(String),
    /// It took too long.
    #[error("the document did not arrive in time")]
    Timeout,
    /// The server cannot be reached, or broke off.
    #[error("the server cannot be reached, or broke off")]
    Unreachable,
    /// The document is packed in a way that was not asked for.
    #[error("the document is compressed, although that was not asked for")]
    Compressed,
}

/// Gets the document at `url`. Every host on the way must be allowed by `allow`.
pub(crate) async fn get(
    reach: &Reach,
    url: Url,
    bounds: Bounds,
    allow: impl Fn(&str) -> Result<(), String>,
) -> Result<Fetched, FetchError> {
    let client = reach.client(bounds.connect).build().map_err(|_| FetchError::Unreachable)?;
    let fetched = follow(&client, reach, url, bounds, allow);
    tokio::time::timeout(bounds.time, fetched).await.unwrap_or(Err(FetchError::Timeout))
}

async fn follow(
    client: &Client,
    reach: &Reach,
    mut url: Url,
    bounds: Bounds,
    allow: impl Fn(&str) -> Result<(), String>,
) -> Result<Fetched, FetchError> {
    for _ in 0..=bounds.redirects {
        check(reach, &url)?;
        allow(url.host_str().unwrap_or_default()).map_err(FetchError::Host)?;
        let request = client.get(url.clone()).header(ACCEPT, "text/html, text/*, application/json");
        let response = request.send().await.map_err(|error| failed(&error))?;
        match next(&response, &url)? {
            Some(target) => url = target,
            None => return read(response, url, bounds.bytes).await,
        }
    }
    Err(FetchError::Redirect(format!("there are more than {} redirects", bounds.redirects)))
}

fn check(reach: &Reach, url: &Url) -> Result<(), FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Url("only http and https can be fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Url("a URL with credentials is not fetched"));
    }
    reach.check(url).map_err(|_| FetchError::Internal)
}

/// Where a redirect leads; nowhere if it is none.
fn next(response: &Response, from: &Url) -> Result<Option<Url>, FetchError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(target) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
        return Ok(None);
    };
    let target = target.to_str().ok().and_then(|target| from.join(target).ok());
    let mut target =
        target.ok_or_else(|| FetchError::Redirect("a redirect leads nowhere".to_owned()))?;
    if from.scheme() == "https" && target.scheme() == "http" {
        let text = "a redirect leads from https to http";
        return Err(FetchError::Redirect(text.to_owned()));
    }
    target.set_fragment(None);
    Ok(Some(target))
}

async fn read(mut response: Response, url: Url, limit: usize) -> Result<Fetched, FetchError> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    if header(CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(FetchError::Compressed);
    }
    let content_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
    let (status, mut body, mut is_cut) = (response.status(), vec![], false);
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
        let room = limit - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(Fetched { url, status, content_type, body, is_cut })
}

fn failed(error: &reqwest::Error) -> FetchError {
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
    use cynode_domain::policy::network::Openings;
    use futures_util::stream;

    use super::*;

    const SHORT: Bounds = Bounds {
        time: Duration::from_millis(500),
        connect: Duration::from_millis(500),
        bytes: 100_000,
        redirects: 3,
    };
    const LONG: Bounds = Bounds { time: Duration::from_mins(1), ..SHORT };

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
        cynode_runtime::tasks::Tasks::new()
            .spawn("web", async move { axum::serve(listener, router).await.unwrap() });
        url
    }

    async fn fetch(path: &str, bounds: Bounds) -> Result<Fetched, FetchError> {
        let url = Url::parse(&format!("{}{path}", serve().await)).unwrap();
        let reach = Reach::Public(Openings::parse(["127.0.0.0/30"]).unwrap());
        let allow = |host: &str| match host {
            "127.0.0.2" => Err("not that one".to_owned()),
            _ => Ok(()),
        };
        get(&reach, url, bounds, allow).await
    }

    #[tokio::test]
    async fn a_document_is_got_by_way_of_redirects() {
        let fetched = fetch("/once", LONG).await.unwrap();

        assert_eq!((fetched.url.path(), fetched.url.fragment()), ("/text", None));
        assert_eq!((fetched.body.as_slice(), fetched.is_cut), (&b"hello"[..], false));
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

        assert_eq!((endless.body.len(), endless.is_cut), (LONG.bytes, true));
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
        let reach = Reach::Public(Openings::default());

        let refused = get(&reach, url, LONG, |_| Ok(())).await;

        assert_eq!(refused.unwrap_err(), FetchError::Internal);
    }
}
