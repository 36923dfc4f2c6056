//! The HTTP server of a scripted forge, on its own thread with its own runtime: a test may pause its own time.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::exchange::{ForgeAnswer, ForgeExchange};
use crate::fault::FaultKind;
use crate::world::{ForgeWorld, ScriptedForgeApi};
use crate::{gitea, github, gitlab};

const MAX_BODY_BYTES: usize = 4 << 20;

pub(crate) type SharedWorld = Arc<Mutex<ForgeWorld>>;
type AnswerBody = BoxBody<Bytes, Infallible>;

/// A running server. Dropping it closes its port and every connection.
#[derive(Debug)]
pub(crate) struct ForgeListener {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ForgeListener {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was printed already.
            let _ = thread.join();
        }
    }
}

impl ForgeListener {
    /// Starts a server at a free port of loopback.
    #[expect(clippy::expect_used, reason = "for tests only: what cannot be set up is a panic")]
    pub(crate) fn start(world: SharedWorld) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime for the scripted forge");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                let _ = tell.send(listener.local_addr().expect("an address"));
                tokio::select! {
                    () = accept(listener, world) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        let address = told.recv().expect("the scripted forge starts");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }
}

async fn accept(listener: TcpListener, world: SharedWorld) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let world = Arc::clone(&world);
        connections.spawn(async move {
            let service = service_fn(move |request| respond(Arc::clone(&world), request));
            let connection = hyper::server::conn::http1::Builder::new();
            // An error is a connection that a fault or the client closed.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// An error closes the connection without an answer.
async fn respond(
    world: SharedWorld,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
    let body = body.map_err(std::io::Error::other)?.to_bytes().to_vec();
    let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let exchange = ForgeExchange::new(parts.method, &target, parts.headers, body);
    let (fault, answer) = {
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        world.requests.push(exchange.record());
        let method = exchange.method.to_string();
        let fault = world.faults.iter_mut().find(|fault| fault.matches(&method, &target));
        let fault = fault.map(|fault| {
            fault.times -= 1;
            fault.kind.clone()
        });
        let is_applied =
            matches!(fault, None | Some(FaultKind::CutAfterApply | FaultKind::HangAfterApply));
        let answer = is_applied.then(|| handle(&mut world, exchange));
        (fault, answer.unwrap_or_else(|| limit_rate(world.api, 0)))
    };
    match fault {
        None => Ok(render(answer)),
        Some(FaultKind::Cut | FaultKind::CutAfterApply) => {
            Err(std::io::Error::other("scripted fault"))
        }
        Some(FaultKind::Hang | FaultKind::HangAfterApply) => std::future::pending().await,
        Some(FaultKind::Status(status)) => {
            Ok(render(ForgeAnswer::message(status, "scripted failure")))
        }
        Some(FaultKind::Forbidden { message }) => Ok(render(ForgeAnswer::message(403, &message))),
        Some(FaultKind::RateLimit { retry_after_s }) => {
            let api = world.lock().unwrap_or_else(PoisonError::into_inner).api;
            Ok(render(limit_rate(api, retry_after_s)))
        }
        Some(FaultKind::Redirect { status, target }) => {
            let answer = ForgeAnswer::message(status, "Moved Permanently");
            Ok(render(answer.with_header("location", target)))
        }
        Some(FaultKind::Body(body)) => Ok(Response::new(Full::new(Bytes::from(body)).boxed())),
        Some(FaultKind::Huge { bytes }) => Ok(Response::new(repeat_byte(bytes))),
    }
}

fn handle(world: &mut ForgeWorld, exchange: ForgeExchange) -> ForgeAnswer {
    match world.api {
        ScriptedForgeApi::Github => github::handle(world, exchange),
        ScriptedForgeApi::Gitlab => gitlab::handle(world, exchange),
        ScriptedForgeApi::Gitea => gitea::handle(world, exchange),
    }
}

fn limit_rate(api: ScriptedForgeApi, retry_after_s: u64) -> ForgeAnswer {
    let after = retry_after_s.to_string();
    match api {
        ScriptedForgeApi::Github => {
            ForgeAnswer::message(403, "You have exceeded a secondary rate limit.")
                .with_header("x-ratelimit-remaining", "0")
                .with_header("retry-after", after)
        }
        ScriptedForgeApi::Gitlab => {
            ForgeAnswer::message(429, "Retry later").with_header("retry-after", after)
        }
        ScriptedForgeApi::Gitea => {
            ForgeAnswer::message(429, "Too Many Requests").with_header("retry-after", after)
        }
    }
}

fn render(answer: ForgeAnswer) -> Response<AnswerBody> {
    let is_empty = answer.status == 204;
    let text = if is_empty { String::new() } else { answer.body.to_string() };
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = http::StatusCode::from_u16(answer.status).unwrap_or_default();
    for (name, value) in answer.headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().append(name, value);
        }
    }
    response
        .headers_mut()
        .append("content-type", http::HeaderValue::from_static("application/json; charset=utf-8"));
    response
}

fn repeat_byte(bytes: usize) -> AnswerBody {
    const CHUNK: usize = 8192;
    let chunk = |_| Ok(Frame::data(Bytes::from_static(&[b' '; CHUNK])));
    let chunks: Vec<_> = (0..bytes.div_ceil(CHUNK)).map(chunk).collect();
    let body = StreamBody::new(futures_util::stream::iter(chunks));
    http_body_util::BodyExt::boxed(body)
}
