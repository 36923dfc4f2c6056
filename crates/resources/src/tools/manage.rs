//! Tool administration: list, enable, disable, approve.

use std::collections::HashMap;

use cynode_domain::ids::{ServerId, ToolId, UserId};
use cynode_store::{AccessChange, McpServer, McpToolDefinition, StoredTool, Tx};
use cynode_wire::tools::{
    Approval, ApproveTool, DefinitionView, ToolDetailView, ToolView, UpdateTool,
};

use super::{ToolError, ToolRegistry};
use crate::Caller;
use crate::servers::resolve_name;
use crate::signals::Topic;

impl ToolRegistry {
    /// Lists the tools the caller may see, by name: built-in tools and those of their own servers.
    /// Administrators see all.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<ToolView>, ToolError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let servers = load_servers(tx).await?;
                    let tools = tx.tool_list().await?.into_iter();
                    let seen =
                        tools.filter(|tool| tool.present && is_visible(&caller, tool, &servers));
                    Ok::<_, ToolError>(seen.map(|tool| tool_view(&tool, &servers)).collect())
                })
            })
            .await
    }

    /// Returns a tool with its definition and, if that changed, the approved definition.
    pub async fn get(&self, caller: &Caller, name: &str) -> Result<ToolDetailView, ToolError> {
        let (caller, name) = (caller.clone(), name.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let (tool, servers) = find_tool(tx, &caller, &name).await?;
                    Ok::<_, ToolError>(tool_detail_view(tool, &servers))
                })
            })
            .await
    }

    /// Enables or disables a tool, or sets its scope: administrators, and the owner of its server. A tool that an
    /// administrator disabled stays disabled for its owner.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        request: UpdateTool,
    ) -> Result<ToolDetailView, ToolError> {
        let what = format!(
            "enabled: {}, scope: {}",
            request.enabled.map_or("unchanged".to_owned(), |enabled| enabled.to_string()),
            request.scope.map_or("unchanged", |scope| scope.as_str()),
        );
        self.change_tool(caller, name, "tool.update", what, move |caller, tool, owner| {
            if !caller.is_admin && owner != Some(caller.user) {
                return Err(ToolError::NotAdmin);
            }
            match (request.enabled, caller.is_admin) {
                (Some(true), false) if !tool.enabled => return Err(ToolError::NotAdmin),
                (Some(enabled), false) => tool.disabled_by_owner = !enabled,
                (Some(true), true) => (tool.enabled, tool.disabled_by_owner) = (true, false),
                (Some(false), true) => tool.enabled = false,
                (None, _) => {}
            }
            tool.scope = request.scope.unwrap_or(tool.scope);
            Ok(())
        })
        .await
    }

    /// Approves the definition with the given hash. Administrators only.
    pub async fn approve(
        &self,
        caller: &Caller,
        name: &str,
        request: ApproveTool,
    ) -> Result<ToolDetailView, ToolError> {
        let what = format!("sha256 {}", request.definition_sha256);
        self.change_tool(caller, name, "tool.approve", what, move |caller, tool, _| {
            if !caller.is_admin {
                return Err(ToolError::NotAdmin);
            }
            if tool.definition_sha256 != request.definition_sha256 {
                return Err(ToolError::Changed);
            }
            tool.approved = tool.definition.clone();
            tool.approved_sha256 = tool.definition_sha256.clone();
            Ok(())
        })
        .await
    }

    async fn change_tool(
        &self,
        caller: &Caller,
        name: &str,
        action: &'static str,
        what: String,
        edit: impl FnOnce(&Caller, &mut StoredTool, Option<UserId>) -> Result<(), ToolError>
        + Send
        + 'static,
    ) -> Result<ToolDetailView, ToolError> {
        let (caller, name, now) = (caller.clone(), name.to_owned(), self.clock.now());
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.policy_lock().await?;
                    let (mut tool, servers) = find_tool(tx, &caller, &name).await?;
                    let server = tool.server.and_then(|id| servers.get(&id));
                    let owner = server.filter(|server| !server.is_system).map(|s| s.owner);
                    edit(&caller, &mut tool, owner)?;
                    tool.updated_at = now;
                    tx.tool_update(&tool).await?;
                    tx.policy_bump_revision().await?;
                    let change = AccessChange {
                        by: Some(caller.user),
                        action,
                        resource_type: "mcp.tool",
                        resource: tool.name.clone(),
                        allowed: true,
                        reason: Some(match tool.server {
                            Some(server) => format!("{what}; server {server}"),
                            None => what,
                        }),
                        task: None,
                        at: now,
                    };
                    tx.access_change_append(&change).await?;
                    Ok::<_, ToolError>(tool_detail_view(tool, &servers))
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(changed)
    }
}

type ServersById = HashMap<ServerId, McpServer>;

async fn load_servers(tx: &mut Tx) -> Result<ServersById, ToolError> {
    Ok(tx.server_list().await?.into_iter().map(|server| (server.id, server)).collect())
}

fn is_visible(caller: &Caller, tool: &StoredTool, servers: &ServersById) -> bool {
    match tool.server {
        None => true,
        Some(id) => servers.get(&id).is_some_and(|server| is_server_visible(caller, server)),
    }
}

fn is_server_visible(caller: &Caller, server: &McpServer) -> bool {
    server.is_system || caller.may_see(server.owner)
}

/// Whether the caller may see the tool that this name or id means.
pub async fn is_tool_visible(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &str,
) -> Result<bool, cynode_store::Error> {
    match find_tool(tx, caller, name_or_id).await {
        Ok(_) | Err(ToolError::Ambiguous(_)) => Ok(true),
        Err(ToolError::Store(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Loads the tool that a name or an id means to the caller.
async fn find_tool(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &str,
) -> Result<(StoredTool, ServersById), ToolError> {
    let servers = load_servers(tx).await?;
    let excerpt = || name_or_id.chars().take(100).collect::<String>();
    let tool = if let Ok(id) = name_or_id.parse::<ToolId>() {
        tx.tool_get(id).await?.filter(|tool| is_visible(caller, tool, &servers))
    } else if let Some(built_in) = tx.tool_by_name(None, name_or_id).await? {
        Some(built_in)
    } else {
        let seen = servers.values().filter(|server| is_server_visible(caller, server));
        let slug = name_or_id.split('.').next().unwrap_or_default();
        let server = resolve_name(caller, seen.cloned(), slug)
            .map_err(|_| ToolError::Ambiguous(excerpt()))?;
        match server {
            Some(server) => tx.tool_by_name(Some(server.id), name_or_id).await?,
            None => None,
        }
    };
    let tool = tool.ok_or_else(|| ToolError::NotFound(excerpt()))?;
    Ok((tool, servers))
}

fn tool_view(tool: &StoredTool, servers: &ServersById) -> ToolView {
    let server = tool.server.and_then(|id| servers.get(&id));
    ToolView {
        id: tool.id,
        name: tool.name.clone(),
        server: server.map_or("builtin".to_owned(), |server| server.slug.clone()),
        server_id: tool.server,
        scope: tool.scope,
        enabled: tool.is_enabled() && server.is_none_or(|server| server.enabled),
        approval: match tool.is_approved() {
            true => Approval::Approved,
            false if tool.approved_sha256.is_empty() => Approval::New,
            false => Approval::Changed,
        },
        description: tool.definition.description.clone(),
        first_seen_at: tool.first_seen_at,
        updated_at: tool.updated_at,
    }
}

fn tool_detail_view(tool: StoredTool, servers: &ServersById) -> ToolDetailView {
    ToolDetailView {
        tool: tool_view(&tool, servers),
        approved: (!tool.is_approved() && !tool.approved_sha256.is_empty())
            .then(|| definition_view(tool.approved)),
        definition: definition_view(tool.definition),
        definition_sha256: tool.definition_sha256,
    }
}

fn definition_view(definition: McpToolDefinition) -> DefinitionView {
    DefinitionView {
        title: definition.title,
        description: definition.description,
        input_schema: definition.input_schema,
        output_schema: definition.output_schema,
    }
}
