//! One MCP client: a session over a persistent raw HTTP/1.1 connection.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The endpoint under test.
#[derive(Debug, Clone)]
pub(super) struct McpTarget {
    /// `host:port`.
    pub(super) address: String,
    /// The MCP endpoint.
    pub(super) path: String,
    /// Sent as a bearer token.
    pub(super) token: Option<String>,
    /// Name of `echo` at this endpoint.
    pub(super) tool: String,
}

/// A client with an idle connection.
pub(super) struct McpBenchClient<'a> {
    stream: TcpStream,
    target: &'a McpTarget,
    number: usize,
    /// Headers of every request after the first.
    session: String,
    has_session: bool,
    buffer: Vec<u8>,
}

/// Result of one call.
pub(super) struct McpCallResult {
    pub(super) took: Duration,
    pub(super) is_right: bool,
    pub(super) body: String,
}

impl<'a> McpBenchClient<'a> {
    /// Connects, and opens a session if the server supports sessions.
    pub(super) async fn open(target: &'a McpTarget, number: usize) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&target.address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let mut client = Self {
            stream,
            target,
            number,
            session: String::new(),
            has_session: false,
            buffer: Vec::with_capacity(4096),
        };
        let (head, body) = client.send_request("POST", HELLO).await?;
        let agreed = parse_message(&body)
            .and_then(|answer| Some(answer["result"]["protocolVersion"].as_str()?.to_owned()))
            .with_context(|| {
                let status = head.lines().next().unwrap_or_default();
                format!("no session was opened: {status}: {body}")
            })?;
        client.session = format!("MCP-Protocol-Version: {agreed}\r\n");
        if let Some(session) = find_header(&head, "mcp-session-id") {
            client.has_session = true;
            // Writing to a string cannot fail.
            let _ = write!(client.session, "Mcp-Session-Id: {session}\r\n");
        }
        client.send_request("POST", READY).await?;
        Ok(client)
    }

    /// Calls `echo` with a unique text.
    pub(super) async fn call(&mut self, id: usize) -> anyhow::Result<McpCallResult> {
        let text = format!("{}-{id}", self.number);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{text}"}}}}}}"#,
            self.target.tool
        );
        let begun = Instant::now();
        let (_, body) = self.send_request("POST", &call).await?;
        let took = begun.elapsed();
        Ok(McpCallResult { took, is_right: is_echo_of(&body, &text), body })
    }

    /// Ends the session: the number of sessions per token is limited.
    pub(super) async fn close(mut self) -> anyhow::Result<()> {
        if self.has_session {
            self.send_request("DELETE", "").await?;
        }
        Ok(())
    }

    async fn send_request(&mut self, method: &str, body: &str) -> anyhow::Result<(String, String)> {
        let McpTarget { address, path, token, .. } = self.target;
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        if let Some(token) = token {
            // Writing to a string cannot fail.
            let _ = write!(request, "Authorization: Bearer {token}\r\n");
        }
        request.push_str(&self.session);
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await?;
        self.read_response().await
    }

    /// Reads one response; afterwards the connection is idle.
    async fn read_response(&mut self) -> anyhow::Result<(String, String)> {
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the connection was closed");
            }
            if let Some(answer) = parse_response(&self.buffer)? {
                return Ok(answer);
            }
        }
    }
}

/// The head and body of a response, once it is complete.
fn parse_response(bytes: &[u8]) -> anyhow::Result<Option<(String, String)>> {
    let text = std::str::from_utf8(bytes).context("the answer is not text")?;
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    let is_whole = match find_header(head, "content-length") {
        Some(length) => body.len() >= length.parse()?,
        None if find_header(head, "transfer-encoding").is_some() => body.ends_with("0\r\n\r\n"),
        // Accepted, without a body.
        None => true,
    };
    Ok(is_whole.then(|| (head.to_owned(), body.to_owned())))
}

fn find_header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

/// The message in a body, plain or as an event.
fn parse_message(body: &str) -> Option<Value> {
    let (from, to) = body.find('{').zip(body.rfind('}'))?;
    serde_json::from_str(body.get(from..=to)?).ok()
}

/// Whether a response is the echo of `text`.
fn is_echo_of(body: &str, text: &str) -> bool {
    parse_message(body).is_some_and(|answer| {
        answer["result"]["content"][0]["text"] == text && answer["result"]["isError"] != true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_its_body_is() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert!(parse_response(whole.as_bytes()).unwrap().is_some());
        assert!(parse_response(&whole.as_bytes()[..whole.len() - 1]).unwrap().is_none());
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n";
        assert!(parse_response(chunked.as_bytes()).unwrap().is_none());
        assert!(parse_response(format!("{chunked}0\r\n\r\n").as_bytes()).unwrap().is_some());
    }

    #[test]
    fn only_the_echo_of_the_call_counts_as_its_answer() {
        let answer = r#"{"result":{"content":[{"type":"text","text":"1-2"}]}}"#;

        assert!(is_echo_of(answer, "1-2"));
        assert!(is_echo_of(&format!("event: message\ndata: {answer}\n\n"), "1-2"));
        assert!(!is_echo_of(answer, "1-3"));
        assert!(!is_echo_of(r#"{"error":{"code":1}}"#, "1-2"));
    }
}
