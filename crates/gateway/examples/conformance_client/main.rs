//! A client for the scenarios of the official conformance suite: the gateway's own way to installed
//! servers, with as little around it as possible.
//!
//! The suite starts it with the URL of a scenario's server. It installs that server, waits until
//! its tools are known, and then calls each of them, reads each resource and gets each prompt, as
//! [`client::Client`] would through the gateway. `cargo xtask conformance --upstream` runs it.

mod arguments;
mod client;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_gateway::seams::{ClientSide, SessionKey, Upstream, Upstreams as _};
use cynode_gateway::upstream::{
    Directory, InstalledServer, NoProcesses, Pool, Reach, SeenTool, UpstreamOptions,
};
use cynode_runtime::env;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use cynode_wire::servers::Transport;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::arguments::Errand;
use crate::client::Client;

/// How long a server may take to tell what it offers.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many looks at a server may fail before it is given up.
const LOOKS: usize = 3;
/// How long goodbyes may take.
const GRACE: Duration = Duration::from_secs(2);

/// Here the server asks for input instead of answering. A client of sessions cannot be told so:
/// the gateway asks it and comes back to the server, and that is what is to be judged.
const BRIDGED: &str = "sep-2322-client-request-state";
const SESSIONS: &str = "2025-11-25";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the URL of a server is needed")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .filter(|_| scenario != BRIDGED)
        .unwrap_or_else(|| SESSIONS.to_owned());

    let (tasks, shutdown) = (Tasks::new(), Shutdown::new());
    let (seen, mut looked) = mpsc::unbounded_channel();
    let server = InstalledServer {
        id: ServerId::generate(),
        slug: "scenario".to_owned(),
        transport: Transport::Http { url, headers: [].into() },
        reach: Reach::Anywhere,
    };
    let id = server.id;
    let directory = Arc::new(OneServer { server, seen });
    let pool =
        Pool::new(directory, Arc::new(NoProcesses), UpstreamOptions::default(), tasks.clone());
    let pool = Arc::new(pool);
    let watching = Arc::clone(&pool).run(shutdown.clone());
    tasks.spawn("watch", watching);

    let tools = tokio::time::timeout(PATIENCE, tools_of(&mut looked)).await??;
    let client: Arc<dyn ClientSide> = Arc::new(Client::new(&version)?);
    let session = SessionKey { id: "conformance".to_owned(), is_stateless: *version > *SESSIONS };
    let upstream = pool.open(id, &session, Arc::clone(&client)).await?;
    let listing = pool.listing(id).unwrap_or_default();
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    for errand in arguments::errands(&context, &tools, &listing) {
        run(&upstream, &client, &errand).await?;
    }

    pool.close(&session).await;
    shutdown.trigger();
    tasks.finish(GRACE).await;
    Ok(())
}

/// What came of a look at the server: its tools, or what is wrong with it.
type Looked = Result<Vec<SeenTool>, String>;

/// The tools of the server, as soon as a look at it succeeds. On a busy machine the first may fail.
async fn tools_of(
    looks: &mut mpsc::UnboundedReceiver<Looked>,
) -> Result<Vec<SeenTool>, Box<dyn Error>> {
    let mut fault = "nobody looked".to_owned();
    for _ in 0..LOOKS {
        match looks.recv().await {
            Some(Ok(tools)) => return Ok(tools),
            Some(Err(why)) => fault = why,
            None => break,
        }
    }
    Err(fault.into())
}

/// Sends one request; what a server answers is the scenario's to judge.
async fn run(
    upstream: &Arc<dyn Upstream>,
    client: &Arc<dyn ClientSide>,
    errand: &Errand,
) -> Result<(), Box<dyn Error>> {
    let Errand { method, params } = errand;
    let request = json!({ "jsonrpc": "2.0", "id": "one", "method": method, "params": params });
    let request: Box<RawValue> = to_raw_value(&request)?;
    upstream.request(request, Arc::clone(client), CancellationToken::new()).await?;
    Ok(())
}

/// Knows the server of the scenario, and passes on what is told of it.
struct OneServer {
    server: InstalledServer,
    seen: mpsc::UnboundedSender<Looked>,
}

#[async_trait]
impl Directory for OneServer {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        Ok(vec![self.server.clone()])
    }

    async fn server(&self, _: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(Some(self.server.clone()))
    }

    async fn observe(&self, _: ServerId, tools: Vec<SeenTool>) {
        // Only the first look is waited for.
        let _ = self.seen.send(Ok(tools));
    }

    async fn report(&self, _: ServerId, fault: Option<String>) {
        if let Some(fault) = fault {
            let _ = self.seen.send(Err(fault));
        }
    }
}
