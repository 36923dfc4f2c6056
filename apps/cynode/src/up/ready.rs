//! When work can be done: the orchestrator has an address, it answers, and a node polls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cynode_wire::health::ReadyView;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep};

use super::say;

const POLL: Duration = Duration::from_millis(20);
/// After so long a person wants to know what is missing.
const UNUSUAL: Duration = Duration::from_secs(5);

/// Waits until the orchestrator has written its address and answers there; the address it
/// listens on.
pub(crate) async fn address(file: PathBuf) -> SocketAddr {
    let client = client();
    loop {
        if let Ok(text) = tokio::fs::read_to_string(&file).await
            && let Ok(address) = text.trim().parse()
            && answers(&client, &format!("{}/healthz", url_of(address))).await
        {
            return address;
        }
        sleep(POLL).await;
    }
}

/// Waits until the orchestrator at `url` says that work can be done.
pub(crate) async fn work_can_be_done(url: &str) {
    let client = client();
    let ready = format!("{url}/readyz");
    let mut told = Instant::now();
    while !answers(&client, &ready).await {
        if told.elapsed() > UNUSUAL {
            told = Instant::now();
            say(&format!("not ready yet: {}", missing(&client, &ready).await));
        }
        sleep(POLL).await;
    }
}

/// Waits until somebody listens at `unix:/path` or `host:port`.
pub(crate) async fn is_open(address: &str) {
    let opens = || async {
        match address.strip_prefix("unix:") {
            Some(path) => UnixStream::connect(path).await.is_ok(),
            None => TcpStream::connect(address).await.is_ok(),
        }
    };
    while !opens().await {
        sleep(POLL).await;
    }
}

/// The URL under which this machine reaches a listener at `address`.
pub(crate) fn url_of(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}

/// A proxy set in the environment is for other hosts.
fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(2))
        .build()
        .unwrap_or_default()
}

async fn answers(client: &reqwest::Client, url: &str) -> bool {
    client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
}

async fn missing(client: &reqwest::Client, url: &str) -> String {
    let Ok(answer) = client.get(url).send().await else {
        return "the orchestrator does not answer".to_owned();
    };
    match answer.json::<ReadyView>().await {
        Ok(view) => view.reasons.join("; "),
        Err(_) => "the orchestrator does not say why".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_means_everywhere_is_reached_on_loopback() {
        let url = |address: &str| url_of(address.parse().unwrap());
        assert_eq!(url("127.0.0.1:12080"), "http://127.0.0.1:12080");
        assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::]:80"), "http://[::1]:80");
    }
}
