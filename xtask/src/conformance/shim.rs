//! A loopback proxy that adds the token, which the suites cannot send. It changes the request line
//! and adds one header; the rest, including `Host` and `Origin`, passes unchanged, and responses
//! pass byte for byte. Each connection has two threads: the suites open few.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};

use super::http::LocalEndpoint;

/// Maximum length of a request head.
const MAX_HEAD: usize = 64 * 1024;

/// The proxy; it listens until the program ends.
#[derive(Debug)]
pub(super) struct TokenProxy {
    address: SocketAddr,
}

impl TokenProxy {
    /// Listens on a free port for requests to `target`.
    pub(super) fn start(target: &LocalEndpoint, token: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
        let address = listener.local_addr()?;
        let (target, token) = (target.clone(), token.to_owned());
        thread::spawn(move || {
            let route = Arc::new((target, token));
            for client in listener.incoming().flatten() {
                let route = Arc::clone(&route);
                // The suite detects a broken connection.
                thread::spawn(move || forward(&client, &route.0, &route.1));
            }
        });
        Ok(Self { address })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

fn forward(client: &TcpStream, target: &LocalEndpoint, token: &str) -> io::Result<()> {
    let server = TcpStream::connect(target.address)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let answers = thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        // Both directions end together: when the client disconnects, the server must see it too.
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut requests = BufReader::new(client);
    let mut to_server = &server;
    while let Some(head) = read_head(&mut requests)? {
        to_server.write_all(with_token(&head, &target.path, token).as_bytes())?;
        let length = content_length(&head);
        io::copy(&mut (&mut requests).take(length), &mut to_server)?;
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = answers.join();
    Ok(())
}

/// The head of the next request; `None` at the end.
fn read_head(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head)? == 0 || head.len() > MAX_HEAD {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

fn content_length(head: &str) -> u64 {
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    value.unwrap_or(0)
}

fn with_token(head: &str, path: &str, token: &str) -> String {
    let (request, headers) = head.split_once("\r\n").unwrap_or((head, "\r\n"));
    let method = request.split(' ').next().unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{headers}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_adds_the_token_and_keeps_the_other_headers() {
        let head = "POST /mcp HTTP/1.1\r\nHost: evil.example.com\r\nContent-Length: 12\r\n\r\n";

        assert_eq!(
            with_token(head, "/mcp/fixture", "secret"),
            "POST /mcp/fixture HTTP/1.1\r\nAuthorization: Bearer secret\r\n\
             Host: evil.example.com\r\nContent-Length: 12\r\n\r\n"
        );
        assert_eq!(content_length(head), 12);
    }

    #[test]
    fn the_shim_forwards_requests_of_one_connection_one_after_the_other() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = LocalEndpoint { address: server.local_addr().unwrap(), path: "/x".to_owned() };
        let shim = TokenProxy::start(&target, "t").unwrap();
        let answering = thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut requests = BufReader::new(stream.try_clone().unwrap());
            let mut bodies = Vec::new();
            for _ in 0..2 {
                let head = read_head(&mut requests).unwrap().unwrap();
                assert!(head.contains("Authorization: Bearer t"), "{head}");
                let mut body = vec![0; usize::try_from(content_length(&head)).unwrap()];
                requests.read_exact(&mut body).unwrap();
                stream.write_all(b"HTTP/1.1 202 Accepted\r\n\r\n").unwrap();
                bodies.push(String::from_utf8(body).unwrap());
            }
            bodies
        });
        let mut client = TcpStream::connect(shim.address).unwrap();
        for body in ["one", "three"] {
            write!(client, "POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                .unwrap();
            let mut answer = [0; 25];
            client.read_exact(&mut answer).unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 202"));
        }

        assert_eq!(answering.join().unwrap(), ["one", "three"]);
    }
}
