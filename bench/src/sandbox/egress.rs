//! Requests of a sandbox to the node, and through the proxy.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::policy::network::AllowedNetworks;
use cynode_network::NetworkReach;
use cynode_network::proxy::{
    ConnectionEvent, ConnectionLog, ConnectionNotRecorded, LocalRoutes, ProxyBody, ProxyCapacity,
    ProxyPolicy, SandboxProxy, full_body,
};
use cynode_runtime::tasks::BackgroundTasks;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::sample::DurationSample;
use crate::table::FigureRow;

/// Measures a request to a server on this machine: direct, to the proxy's own routes, and through the proxy.
pub(super) async fn measure(requests: usize) -> anyhow::Result<Vec<FigureRow>> {
    let tasks = BackgroundTasks::new();
    let server = start_server(&tasks).await?;
    let url = format!("http://{server}/");
    let direct = reqwest::Client::builder().no_proxy().build()?;
    let base = time_requests(&direct, &url, requests).await?.median();
    let own = start_proxy(&tasks, server).await?;
    let local = time_requests(&direct, &format!("http://{own}/"), requests).await?.median();
    // A proxy of its own, with a full burst of connections.
    let proxy = reqwest::Proxy::all(format!("http://{}", start_proxy(&tasks, server).await?))?;
    let proxied = reqwest::Client::builder().proxy(proxy).build()?;
    let through = time_requests(&proxied, &url, requests).await?.median();
    Ok(vec![
        FigureRow::from_duration("GET, new connection, direct", base),
        FigureRow::from_duration("GET, answered by the listener", local).with_baseline(base),
        FigureRow::from_duration("GET, through the proxy", through).with_baseline(base),
    ])
}

async fn time_requests(
    client: &reqwest::Client,
    url: &str,
    requests: usize,
) -> anyhow::Result<DurationSample> {
    DurationSample::measure(requests, async || {
        let response = client.get(url).send().await?.error_for_status()?;
        ensure!(response.bytes().await?.as_ref() == b"ok", "another response");
        Ok(())
    })
    .await
}

/// A server that closes every connection, as the proxy does.
async fn start_server(tasks: &BackgroundTasks) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tasks.spawn("server", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 2048];
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
            // A client that disconnects is measured as a failed request.
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(response).await;
        }
    });
    Ok(address)
}

async fn start_proxy(tasks: &BackgroundTasks, server: SocketAddr) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let policy = ProxyPolicy {
        hosts: AllowedHosts::parse(&[server.to_string()])?,
        reach: NetworkReach::Public(AllowedNetworks::parse(["127.0.0.0/8"])?),
        advice: String::new(),
    };
    let (capacity, log) = (ProxyCapacity::default(), Arc::new(NoLog));
    SandboxProxy::new(policy, capacity, log, tasks.clone(), CancellationToken::new())
        .with_local_routes(Arc::new(Ok200))
        .serve(listener);
    Ok(address)
}

/// Records nothing: the time of a record is that of the database.
struct NoLog;

#[async_trait]
impl ConnectionLog for NoLog {
    async fn record(&self, _: &str, _: &ConnectionEvent) -> Result<(), ConnectionNotRecorded> {
        Ok(())
    }
}

/// Answers every request to the listener itself.
struct Ok200;

#[async_trait]
impl LocalRoutes for Ok200 {
    async fn respond(&self, _: Request<Incoming>) -> Response<ProxyBody> {
        Response::new(full_body("ok"))
    }
}
