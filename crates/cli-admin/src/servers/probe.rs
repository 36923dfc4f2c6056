//! Waits until the gateway has listed the tools of a newly installed server.

use std::time::Duration;

use cynode_wire::servers::ServerView;
use cynode_wire::tools::ToolView;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::progress::CommandProgress;
use cynode_cli::table;

/// A stdio server may have to start first.
const LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);

/// A server with its tools.
#[derive(Debug, Serialize)]
pub(super) struct ProbedServer {
    #[serde(flatten)]
    pub(super) server: ServerView,
    /// Empty if the server did not respond or has no tools.
    pub(super) tools: Vec<ToolView>,
}

/// Polls until the gateway knows the tools of `server`, or its error.
pub(super) async fn wait_for_tools(
    server: ServerView,
    app: &mut CliContext,
) -> Result<ProbedServer, CliFailure> {
    let _progress =
        CommandProgress::start(app.out, &format!("listing the tools of {}", server.slug));
    let begun = Instant::now();
    loop {
        let all = app.session.read(async |client| client.tool_list().await).await?;
        let tools: Vec<_> =
            all.into_iter().filter(|tool| tool.server_id == Some(server.id)).collect();
        let id = server.id.to_string();
        let now = app.session.read(async |client| client.server_get(&id).await).await?;
        if !tools.is_empty() || now.last_error.is_some() || begun.elapsed() >= LIMIT {
            return Ok(ProbedServer { server: now, tools });
        }
        sleep(POLL).await;
    }
}

/// The server, then its tools, one per line.
pub(super) fn render(probed: &ProbedServer, ctx: RenderContext) -> String {
    let head = super::render(&probed.server, ctx);
    if probed.tools.is_empty() {
        return head;
    }
    let rows = probed
        .tools
        .iter()
        .map(|tool| vec![tool.name.clone(), table::truncate(&tool.description, 80)]);
    format!("{head}\n\n{}", table::render_table(&["TOOL", "DESCRIPTION"], rows, ctx))
}

/// Advice for a server without tools.
pub(super) fn advice(probed: &ProbedServer) -> Option<String> {
    let slug = &probed.server.slug;
    if !probed.tools.is_empty() {
        return None;
    }
    Some(match &probed.server.last_error {
        Some(_) => format!(
            "{slug} is installed, but does not respond as an MCP server: see the last error above. The gateway \
             keeps retrying; remove it with `cynork servers remove {slug}`"
        ),
        None => format!("{slug} has no tools yet: check later with `cynork servers get {slug}`"),
    })
}
