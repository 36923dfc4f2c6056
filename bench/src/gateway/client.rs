//! One caller: a session over a raw HTTP/1.1 connection that stays open.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

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

/// A client whose connection stands before the next request.
pub(super) struct Client<'a> {
    stream: TcpStream,
    target: &'a Target,
    number: usize,
    /// The headers that every request after the first carries.
    session: String,
    has_session: bool,
    buffer: Vec<u8>,
}

/// How a call went.
pub(super) struct Answered {
    pub(super) took: Duration,
    pub(super) is_right: bool,
    pub(super) body: String,
}

impl<'a> Client<'a> {
    /// Connects and opens a session, if the server keeps any.
    pub(super) async fn open(target: &'a Target, number: usize) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&target.address).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let mut client = Self {
            stream,
            target,
            number,
            session: String::new(),
            has_session: false,
            buffer: Vec::with_capacity(4096),
        };
        let (head, body) = client.exchange("POST", HELLO).await?;
        let agreed = message(&body)
            .and_then(|answer| Some(answer["result"]["protocolVersion"].as_str()?.to_owned()))
            .with_context(|| {
                let status = head.lines().next().unwrap_or_default();
                format!("no session was opened: {status}: {body}")
            })?;
        client.session = format!("MCP-Protocol-Version: {agreed}\r\n");
        if let Some(session) = header(&head, "mcp-session-id") {
            client.has_session = true;
            // Writing to a string cannot fail.
            let _ = write!(client.session, "Mcp-Session-Id: {session}\r\n");
        }
        client.exchange("POST", READY).await?;
        Ok(client)
    }

    /// Calls `echo` with a text that no other call has.
    pub(super) async fn call(&mut self, id: usize) -> anyhow::Result<Answered> {
        let text = format!("{}-{id}", self.number);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{text}"}}}}}}"#,
            self.target.tool
        );
        let begun = Instant::now();
        let (_, body) = self.exchange("POST", &call).await?;
        let took = begun.elapsed();
        Ok(Answered { took, is_right: says(&body, &text), body })
    }

    /// Ends the session: a token may have only so many.
    pub(super) async fn close(mut self) -> anyhow::Result<()> {
        if self.has_session {
            self.exchange("DELETE", "").await?;
        }
        Ok(())
    }

    async fn exchange(&mut self, method: &str, body: &str) -> anyhow::Result<(String, String)> {
        let Target { address, path, token, .. } = self.target;
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
    let is_whole = match header(head, "content-length") {
        Some(length) => body.len() >= length.parse()?,
        None if header(head, "transfer-encoding").is_some() => body.ends_with("0\r\n\r\n"),
        // Accepted, without a body.
        None => true,
    };
    Ok(is_whole.then(|| (head.to_owned(), body.to_owned())))
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

/// The message in a body, plain or as an event.
fn message(body: &str) -> Option<Value> {
    let (from, to) = body.find('{').zip(body.rfind('}'))?;
    serde_json::from_str(body.get(from..=to)?).ok()
}

/// Whether an answer is the echo of `text`.
fn says(body: &str, text: &str) -> bool {
    message(body).is_some_and(|answer| {
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
