//! A closed loop of tool calls over raw HTTP/1.1 connections that stay open.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::sample::Sample;

/// Where to call.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// `host:port`.
    pub(super) address: String,
    /// The MCP endpoint.
    pub(super) path: String,
    /// Sent as a bearer token.
    pub(super) token: Option<String>,
    /// What `echo` is called there.
    pub(super) tool: String,
}

/// So many clients, each with a session and a connection of its own.
pub(super) struct Load<'a> {
    pub(super) target: &'a Target,
    pub(super) clients: usize,
}

/// What came of a load.
pub(super) struct Calls {
    pub(super) latencies: Sample,
    pub(super) errors: usize,
    pub(super) took: Duration,
}

impl Load<'_> {
    /// Calls for as long as told.
    pub(super) async fn run(&self, lasting: Duration) -> anyhow::Result<Calls> {
        let begun = Instant::now();
        self.run_while(|| begun.elapsed() < lasting).await
    }

    /// Calls that often, all clients together.
    pub(super) async fn run_calls(&self, calls: usize) -> anyhow::Result<Calls> {
        let made = AtomicUsize::new(0);
        self.run_while(|| made.fetch_add(1, Ordering::Relaxed) < calls).await
    }

    async fn run_while(&self, goes_on: impl Fn() -> bool) -> anyhow::Result<Calls> {
        let clients = (0..self.clients).map(|number| Client::open(self.target, number));
        let clients = try_join_all(clients).await?;
        let begun = Instant::now();
        let done = try_join_all(clients.into_iter().map(|client| client.calls(&goes_on))).await?;
        let took = begun.elapsed();
        let mut all = Calls { latencies: Sample::default(), errors: 0, took };
        for (latencies, errors) in done {
            for latency in latencies {
                all.latencies.push(latency);
            }
            all.errors += errors;
        }
        Ok(all)
    }
}

struct Client<'a> {
    stream: TcpStream,
    target: &'a Target,
    number: usize,
    session: String,
    buffer: Vec<u8>,
}

impl<'a> Client<'a> {
    async fn open(target: &'a Target, number: usize) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&target.address).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let mut client = Self {
            stream,
            target,
            number,
            session: String::new(),
            buffer: Vec::with_capacity(4096),
        };
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let (head, body) = client.exchange("POST", hello).await?;
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        client.session = session.with_context(|| format!("no session was opened: {head}{body}"))?;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        client.exchange("POST", ready).await?;
        Ok(client)
    }

    /// Calls while it `goes_on`: how long each call took, and how many answers were wrong.
    async fn calls(
        mut self,
        goes_on: &impl Fn() -> bool,
    ) -> anyhow::Result<(Vec<Duration>, usize)> {
        let (mut latencies, mut errors) = (Vec::new(), 0);
        while goes_on() {
            let id = latencies.len();
            let text = format!("{}-{id}", self.number);
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{text}"}}}}}}"#,
                self.target.tool
            );
            let begun = Instant::now();
            let (_, body) = self.exchange("POST", &call).await?;
            latencies.push(begun.elapsed());
            errors += usize::from(!says(&body, &text));
        }
        // A token may have only so many sessions.
        self.exchange("DELETE", "").await?;
        Ok((latencies, errors))
    }

    async fn exchange(&mut self, method: &str, body: &str) -> anyhow::Result<(String, String)> {
        let Target { address, path, token, .. } = self.target;
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        // Writing to a string cannot fail.
        if let Some(token) = token {
            let _ = write!(request, "Authorization: Bearer {token}\r\n");
        }
        if !self.session.is_empty() {
            let session = &self.session;
            let _ = write!(
                request,
                "Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
            );
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await?;
        self.answer().await
    }

    /// Reads one answer; the connection then stands before the next.
    async fn answer(&mut self) -> anyhow::Result<(String, String)> {
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the connection was closed");
            }
            if let Some(answer) = complete(&self.buffer)? {
                return Ok(answer);
            }
        }
    }
}

/// The head and body of an answer, once all of it is there.
fn complete(bytes: &[u8]) -> anyhow::Result<Option<(String, String)>> {
    let text = std::str::from_utf8(bytes).context("the answer is not text")?;
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let is_whole = match header("content-length") {
        Some(length) => body.len() >= length.parse()?,
        None if header("transfer-encoding").is_some() => body.ends_with("0\r\n\r\n"),
        // Accepted, without a body.
        None => true,
    };
    Ok(is_whole.then(|| (head.to_owned(), body.to_owned())))
}

/// Whether an answer, plain or as an event, is the echo of `text`.
fn says(body: &str, text: &str) -> bool {
    let Some((from, to)) = body.find('{').zip(body.rfind('}')) else { return false };
    let answer: Result<Value, _> = serde_json::from_str(&body[from..=to]);
    answer.is_ok_and(|answer| {
        answer["result"]["content"][0]["text"] == text && answer["result"]["isError"] != true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_its_body_is() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert!(complete(whole.as_bytes()).unwrap().is_some());
        assert!(complete(&whole.as_bytes()[..whole.len() - 1]).unwrap().is_none());
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n";
        assert!(complete(chunked.as_bytes()).unwrap().is_none());
        assert!(complete(format!("{chunked}0\r\n\r\n").as_bytes()).unwrap().is_some());
    }

    #[test]
    fn only_the_echo_of_the_call_counts_as_its_answer() {
        let answer = r#"{"result":{"content":[{"type":"text","text":"1-2"}]}}"#;

        assert!(says(answer, "1-2"));
        assert!(says(&format!("event: message\ndata: {answer}\n\n"), "1-2"));
        assert!(!says(answer, "1-3"));
        assert!(!says(r#"{"error":{"code":1}}"#, "1-2"));
    }
}
