//! Readiness: the orchestrator has an address and responds, and a node polls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cynode_wire::health::ReadyView;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep};

use super::print_message;

const POLL: Duration = Duration::from_millis(20);
/// Interval of messages about missing readiness.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(5);

/// Waits until the orchestrator has written its address and responds there; returns its listen address.
pub(crate) async fn wait_for_address(file: PathBuf) -> SocketAddr {
    let client = http_client();
    loop {
        if let Ok(text) = tokio::fs::read_to_string(&file).await
            && let Ok(address) = text.trim().parse()
            && is_success(&client, &format!("{}/healthz", loopback_url(address))).await
        {
            return address;
        }
        sleep(POLL).await;
    }
}

/// Waits until the orchestrator at `url` is ready.
pub(crate) async fn wait_until_ready(url: &str) {
    let client = http_client();
    let ready = format!("{url}/readyz");
    let mut last_report = Instant::now();
    while !is_success(&client, &ready).await {
        if last_report.elapsed() > MESSAGE_INTERVAL {
            last_report = Instant::now();
            print_message(&format!("not ready yet: {}", missing_reasons(&client, &ready).await));
        }
        sleep(POLL).await;
    }
}

/// Waits until a process listens at `unix:/path` or `host:port`.
pub(crate) async fn wait_for_listener(address: &str) {
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

/// The URL at which this machine reaches a listener at `wait_for_address`.
pub(crate) fn loopback_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}

/// A client without proxy and certificates: both are for other hosts.
fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .timeout(Duration::from_secs(2))
        .build()
        .unwrap_or_default()
}

async fn is_success(client: &reqwest::Client, url: &str) -> bool {
    client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
}

async fn missing_reasons(client: &reqwest::Client, url: &str) -> String {
    let Ok(answer) = client.get(url).send().await else {
        return "the orchestrator does not respond".to_owned();
    };
    match answer.json::<ReadyView>().await {
        Ok(view) => view.reasons.join("; "),
        Err(_) => "the orchestrator gave no reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_means_everywhere_is_reached_on_loopback() {
        let url = |address: &str| loopback_url(address.parse().unwrap());
        assert_eq!(url("127.0.0.1:12080"), "http://127.0.0.1:12080");
        assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::]:80"), "http://[::1]:80");
    }
}
