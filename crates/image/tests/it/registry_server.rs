//! A registry on the loopback interface.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use cynode_image::ImageSource;

use crate::fixture::{INDEX, ImageBuilder, MANIFEST, digest};

#[derive(Default)]
pub(crate) struct RegistryContent {
    /// Type and content by path below the repository, such as `manifests/1`.
    files: HashMap<String, (String, Vec<u8>)>,
    /// Demands a token, as public registries do.
    pub(crate) needs_token: bool,
    /// Blobs are on another host, which the response redirects to.
    pub(crate) redirects: bool,
}

pub(crate) struct RegistryServer {
    pub(crate) content: Arc<Mutex<RegistryContent>>,
    pub(crate) requests: Arc<AtomicU32>,
    address: String,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Shared = (Arc<Mutex<RegistryContent>>, Arc<AtomicU32>, String);

impl RegistryServer {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let content = Arc::new(Mutex::new(RegistryContent::default()));
        let requests = Arc::new(AtomicU32::new(0));
        let shared: Shared = (Arc::clone(&content), Arc::clone(&requests), address.clone());
        let routes = Router::new().fallback(answer).with_state(shared);
        #[expect(clippy::disallowed_methods, reason = "a server of this test only")]
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { content, requests, address, server }
    }

    pub(crate) fn put(&self, path: &str, media_type: &str, content: Vec<u8>) {
        let mut files = self.content.lock().unwrap();
        files.files.insert(path.to_owned(), (media_type.to_owned(), content));
    }

    /// Serves an image under a tag, behind an index of several architectures.
    pub(crate) fn put_image(&self, tag: &str, image: &ImageBuilder) {
        let index = image.index().to_string().into_bytes();
        self.put(&format!("manifests/{tag}"), INDEX, index);
        self.put(&format!("manifests/{}", image.digest()), MANIFEST, image.manifest());
        for blob in image.blobs() {
            self.put(&format!("blobs/{}", digest(&blob)), "application/octet-stream", blob);
        }
    }

    pub(crate) fn source(&self, version: &str) -> ImageSource {
        format!("{}/team/tool{version}", self.address).parse().unwrap()
    }

    pub(crate) fn request_count(&self) -> u32 {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn answer(State((content, requests, address)): State<Shared>, request: Request) -> Response {
    requests.fetch_add(1, Ordering::SeqCst);
    let content = content.lock().unwrap();
    let path = request.uri().path();
    if path == "/token" {
        let query = request.uri().query().unwrap_or_default();
        let is_right =
            query.contains("service=test") && query.contains("repository%3Ateam%2Ftool%3Apull");
        return if is_right {
            r#"{"token":"anonymous"}"#.into_response()
        } else {
            StatusCode::BAD_REQUEST.into_response()
        };
    }
    if let Some(name) = path.strip_prefix("/storage/") {
        // A signed address: a token is an error there.
        return content.files.get(name).map_or_else(
            || StatusCode::NOT_FOUND.into_response(),
            |(_, bytes)| bytes.clone().into_response(),
        );
    }
    let bearer = request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap());
    if content.needs_token && bearer != Some("Bearer anonymous") {
        let challenge = format!(
            "Bearer realm=\"http://{address}/token\",service=\"test\",scope=\"repository:team/tool:pull\""
        );
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let Some(name) = path.strip_prefix("/v2/team/tool/") else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if content.redirects && name.starts_with("blobs/") {
        let location = format!("http://{address}/storage/{name}");
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response();
    }
    match content.files.get(name) {
        Some((media_type, bytes)) => {
            ([(header::CONTENT_TYPE, media_type.clone())], bytes.clone()).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
