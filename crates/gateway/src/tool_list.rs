//! Tool lists: exactly the tools that the caller may call, page by page.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::gateway::GatewayInner;
use crate::identity::Identity;
use crate::pipeline;
use crate::resolution::resolve_server;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;
use cynode_upstream::protocol;
use cynode_upstream::rpc::INVALID_PARAMS;
use cynode_upstream::rpc::RpcError;

pub(crate) struct ToolPage {
    tools: Vec<Arc<PolicyTool>>,
    /// Whether names are those of one server, without its slug.
    is_bare: bool,
    next: Option<String>,
}

impl GatewayInner {
    /// The tools after `cursor` that this caller may call.
    pub(crate) fn list_tools(
        &self,
        identity: &Identity,
        server_slug: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<ToolPage, RpcError> {
        list_page(&self.snapshot(), identity, server_slug, cursor, self.options.page_size as usize)
    }
}

fn list_page(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    server_slug: Option<&str>,
    cursor: Option<&str>,
    size: usize,
) -> Result<ToolPage, RpcError> {
    let after = cursor.map(decode_cursor).transpose()?;
    let named = server_slug.and_then(|slug| resolve_server(snapshot, identity, slug));
    let is_here = |tool: &&Arc<PolicyTool>| {
        server_slug.is_none()
            || tool
                .server
                .as_ref()
                .is_some_and(|own| named.is_some_and(|server| own.id == server.id))
    };
    let visible = snapshot
        .tools_after(after.as_deref())
        .iter()
        .filter(is_here)
        .filter(|tool| pipeline::is_visible(snapshot, identity, tool));
    let mut tools: Vec<_> = visible.take(size + 1).cloned().collect();
    let has_more = tools.len() > size;
    tools.truncate(size);
    let last = tools.last().filter(|_| has_more);
    let next = last.map(|tool| URL_SAFE_NO_PAD.encode(&tool.name));
    Ok(ToolPage { tools, is_bare: server_slug.is_some(), next })
}

fn decode_cursor(cursor: &str) -> Result<String, RpcError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        RpcError::new(INVALID_PARAMS, "invalid cursor; use the nextCursor of the previous page")
    })
}

impl ToolPage {
    /// Renders the page as a result; `is_stateless` adds cache members.
    pub(crate) fn render(&self, is_stateless: bool) -> String {
        let entry = |tool: &Arc<PolicyTool>| {
            if self.is_bare { tool.listed_bare.clone() } else { tool.listed.clone() }
        };
        let tools: Vec<_> = self.tools.iter().map(entry).collect();
        // Writing to a string cannot fail.
        let mut text = format!(r#"{{"tools":[{}]"#, tools.join(","));
        if let Some(next) = &self.next {
            let _ = write!(text, r#","nextCursor":"{next}""#);
        }
        if is_stateless {
            let ttl = protocol::LIST_TTL_MS;
            let _ =
                write!(text, r#","resultType":"complete","ttlMs":{ttl},"cacheScope":"private""#);
        }
        text.push('}');
        text
    }
}
