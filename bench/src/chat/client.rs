//! One chat client on a persistent raw HTTP/1.1 connection.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The model's answer; no request contains its first or last words.
pub(super) const ANSWER: &str = "alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima \
     mike november oscar papa quebec romeo sierra tango uniform victor whiskey zulu";
const FIRST: &[u8] = b"alfa";
const LAST: &[u8] = b"zulu";

/// How the answer is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseMode {
    /// As a stream.
    Stream,
    /// In one response.
    Whole,
}

impl fmt::Display for ResponseMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Whole => "whole",
        })
    }
}

/// The endpoint under test.
#[derive(Debug, Clone)]
pub(super) struct ChatTarget {
    /// `host:port`.
    pub(super) address: String,
    /// Sent as a bearer token.
    pub(super) token: String,
    /// Name of the model at this endpoint.
    pub(super) model: String,
}

/// Timings of one request.
pub(super) struct ChatTiming {
    /// Time to the first token.
    pub(super) first: Duration,
    /// Time to the end of the answer.
    pub(super) took: Duration,
    pub(super) is_right: bool,
}

/// A client with an idle connection.
pub(super) struct Client<'a> {
    stream: TcpStream,
    target: &'a ChatTarget,
    mode: ResponseMode,
    number: usize,
    buffer: Vec<u8>,
}

impl<'a> Client<'a> {
    pub(super) async fn open(
        target: &'a ChatTarget,
        mode: ResponseMode,
        number: usize,
    ) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&target.address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, target, mode, number, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Sends a question that was not sent before.
    pub(super) async fn send_question(&mut self, count: usize) -> anyhow::Result<ChatTiming> {
        let request = self.render_request(count);
        self.buffer.clear();
        let (begun, mut first) = (Instant::now(), None);
        self.stream.write_all(request.as_bytes()).await?;
        loop {
            let seen = self.buffer.len().saturating_sub(FIRST.len());
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the connection was closed: {}", self.answer());
            }
            if first.is_none() && contains(&self.buffer[seen..], FIRST) {
                first = Some(begun.elapsed());
            }
            if is_complete(&self.buffer)? {
                break;
            }
        }
        let took = begun.elapsed();
        let is_whole = contains(&self.buffer, LAST)
            && (self.mode == ResponseMode::Whole || contains(&self.buffer, b"[DONE]"));
        Ok(ChatTiming { first: first.unwrap_or(took), took, is_right: first.is_some() && is_whole })
    }

    /// The last response.
    pub(super) fn answer(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    fn render_request(&self, count: usize) -> String {
        let ChatTarget { address, token, model } = self.target;
        let stream = self.mode == ResponseMode::Stream;
        let body = format!(
            r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"system","content":"You are a helpful assistant."}},{{"role":"user","content":"Question {count} of client {}: what are the words?"}}]}}"#,
            self.number
        );
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether the buffer contains a complete response.
fn is_complete(bytes: &[u8]) -> anyhow::Result<bool> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(false);
    };
    let (head, body) = (&bytes[..end], &bytes[end + 4..]);
    let head = std::str::from_utf8(head).context("the head is not text")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    Ok(match length {
        Some(length) => body.len() >= length.parse()?,
        None => body == b"0\r\n\r\n" || body.ends_with(b"\r\n0\r\n\r\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streamed_answer_is_complete_with_its_last_chunk() {
        let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nalfa\r\n";

        assert!(!is_complete(b"HTTP/1.1 200 OK\r\n").unwrap());
        assert!(!is_complete(begun.as_bytes()).unwrap());
        assert!(is_complete(format!("{begun}0\r\n\r\n").as_bytes()).unwrap());
        assert!(is_complete(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap());
    }
}
