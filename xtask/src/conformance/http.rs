//! The little HTTP that is needed to set a gateway up.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// A place on this machine.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) path: String,
}

impl Endpoint {
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }
}

/// Posts JSON and returns the JSON answer; anything but success is an error.
pub(super) fn post(to: &Endpoint, token: &str, body: &Value) -> Result<Value> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to.address).context("nobody listens")?;
    write!(
        stream,
        "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        to.path,
        to.address,
        body.len(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the answer is not text")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer has no end of head")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        bail!("POST {} answered {status}: {body}", to.path);
    }
    serde_json::from_str(body).context("the answer is not JSON")
}
