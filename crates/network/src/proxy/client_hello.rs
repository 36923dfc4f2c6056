//! The first message of a tunnel: a TLS client hello that names the target.
//!
//! Servers behind one address choose by this name, so a tunnel to an allowed host could otherwise reach another one. A
//! tunnel that begins with anything else carries no TLS, and is closed: nothing in it could be checked.

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::target::Target;

/// The longest hello; one with post-quantum keys takes about 2 KiB.
const MAX_BYTES: usize = 64 * 1024;

/// Reads the hello from `client`, and returns its bytes, if it names `target`.
pub(super) async fn read_client_hello(
    client: &mut (impl AsyncRead + Unpin),
    target: &Target,
) -> Result<Vec<u8>, &'static str> {
    let mut acceptor = Acceptor::default();
    let mut bytes = vec![];
    let mut chunk = [0; 4096];
    while bytes.len() < MAX_BYTES {
        let length = client.read(&mut chunk).await.map_err(|_| "the client closed the tunnel")?;
        if length == 0 {
            return Err("the client closed the tunnel");
        }
        bytes.extend_from_slice(&chunk[..length]);
        let mut unread = &chunk[..length];
        while !unread.is_empty() {
            acceptor.read_tls(&mut unread).map_err(|_| NOT_TLS)?;
            if let Some(accepted) = acceptor.accept().map_err(|_| NOT_TLS)? {
                check_name(accepted.client_hello().server_name(), target)?;
                return Ok(bytes);
            }
        }
    }
    Err(NOT_TLS)
}

const NOT_TLS: &str = "a tunnel carries only TLS";

fn check_name(name: Option<&str>, target: &Target) -> Result<(), &'static str> {
    match name {
        Some(name) if name.trim_end_matches('.').eq_ignore_ascii_case(&target.host) => Ok(()),
        None if target.is_address() => Ok(()),
        Some(_) => Err("the TLS connection names another host"),
        None => Err("the TLS connection names no host"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn hello(name: &str, has_name: bool) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.enable_sni = has_name;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = vec![];
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    async fn read(bytes: &[u8], host: &str) -> Result<Vec<u8>, &'static str> {
        let target = Target { host: host.to_owned(), port: 443 };
        // In two pieces, as a network may deliver it.
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        read_client_hello(&mut first.chain(rest), &target).await
    }

    #[tokio::test]
    async fn a_hello_for_the_target_is_returned_unchanged() {
        let bytes = hello("api.example.com", true);

        assert_eq!(read(&bytes, "api.example.com").await.unwrap(), bytes);
        let bytes = hello("93.184.216.34", true);
        assert_eq!(read(&bytes, "93.184.216.34").await.unwrap(), bytes);
    }

    #[tokio::test]
    async fn a_hello_for_another_host_or_for_none_is_rejected() {
        let other = read(&hello("evil.example.com", true), "api.example.com").await;
        assert_eq!(other, Err("the TLS connection names another host"));
        let none = read(&hello("api.example.com", false), "api.example.com").await;
        assert_eq!(none, Err("the TLS connection names no host"));
        let named = read(&hello("evil.example.com", true), "93.184.216.34").await;
        assert_eq!(named, Err("the TLS connection names another host"));
    }

    #[tokio::test]
    async fn what_is_not_tls_is_rejected() {
        let nested = b"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n";
        assert_eq!(read(nested, "api.example.com").await, Err(NOT_TLS));
        assert_eq!(read(b"SSH-2.0-client\r\n", "api.example.com").await, Err(NOT_TLS));
        assert_eq!(read(b"", "api.example.com").await, Err("the client closed the tunnel"));
        let cut = &hello("api.example.com", true)[..64];
        assert_eq!(read(cut, "api.example.com").await, Err("the client closed the tunnel"));
        let endless = vec![0x16; 2 * MAX_BYTES];
        assert_eq!(read(&endless, "api.example.com").await, Err(NOT_TLS));
    }
}
