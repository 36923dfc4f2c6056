//! What a server that was just installed offers. The gateway asks it as soon as it is installed; this
//! waits for the answer.

use std::time::Duration;

use cynode_wire::servers::ServerView;
use cynode_wire::tools::ToolView;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::progress::Progress;
use crate::table;

/// A program may have to start first.
const LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);

/// A server with the tools that it offers.
#[derive(Debug, Serialize)]
pub(super) struct ProbedServer {
    #[serde(flatten)]
    pub(super) server: ServerView,
    /// Empty if it did not answer, or offers none.
    pub(super) tools: Vec<ToolView>,
}

/// Waits until the gateway knows the tools of `server`, or why it cannot have them.
pub(super) async fn probe(server: ServerView, app: &mut App) -> Result<ProbedServer, Failure> {
    let _progress = Progress::start(app.out, &format!("asking {} for its tools", server.slug));
    let begun = Instant::now();
    loop {
        let all = app.session.read(async |client| client.tool_list().await).await?;
        let tools: Vec<_> = all.into_iter().filter(|tool| tool.server == server.slug).collect();
        let slug = server.slug.as_str();
        let now = app.session.read(async |client| client.server_get(slug).await).await?;
        if !tools.is_empty() || now.last_error.is_some() || begun.elapsed() >= LIMIT {
            return Ok(ProbedServer { server: now, tools });
        }
        sleep(POLL).await;
    }
}

/// The server, then its tools, one a line.
pub(super) fn render(probed: &ProbedServer, look: Look) -> String {
    let head = super::render(&probed.server, look);
    if probed.tools.is_empty() {
        return head;
    }
    let rows = probed
        .tools
        .iter()
        .map(|tool| vec![tool.name.clone(), table::short(&tool.description, 80)]);
    format!("{head}\n\n{}", table::rows(&["TOOL", "DESCRIPTION"], rows, look))
}

/// What to do about a server without tools.
pub(super) fn advice(probed: &ProbedServer) -> Option<String> {
    let slug = &probed.server.slug;
    if !probed.tools.is_empty() {
        return None;
    }
    Some(match &probed.server.last_error {
        Some(_) => format!(
            "{slug} is installed, but does not answer as an MCP server: see the last error above. It is \
             asked again by itself; `cynork servers remove {slug}` removes it"
        ),
        None => format!("{slug} offers no tools yet: see `cynork servers get {slug}` later"),
    })
}
