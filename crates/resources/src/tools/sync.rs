//! Synchronises the registry with the built-in tools and with the tools that servers list.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::ToolScope;
use cynode_store::{McpServer, McpToolDefinition, NewEvent, StoredTool, Tx};
use serde_json::json;
use tracing::warn;

use super::definition::fingerprint;
use super::{BuiltinTool, ObservedTool, ToolError, ToolRegistry};
use crate::rules::seed_rules;
use crate::signals::Topic;

/// Per server.
const MAX_TOOLS: usize = 512;
const MAX_NAME_BYTES: usize = 128;
const MAX_ERROR_CHARS: usize = 500;

impl ToolRegistry {
    /// Persists the built-in tools. Administrators' changes are preserved; tools that are no longer
    /// built in are deleted. On a new installation this also seeds the access rules.
    pub async fn sync_builtins(&self, tools: Vec<BuiltinTool>) -> Result<(), ToolError> {
        let now = self.clock.now();
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.startup_lock().await?;
                    tx.policy_lock().await?;
                    let seeded = seed_rules(tx, now).await?;
                    let synced = sync_builtin_rows(tx, tools, now).await?;
                    if seeded || synced {
                        tx.policy_bump_revision().await?;
                    }
                    Ok::<_, ToolError>(seeded || synced)
                })
            })
            .await?;
        if changed {
            self.signals.send(Topic::Policy);
        }
        Ok(())
    }

    /// Persists the tools a server lists. A definition that differs from the approved one, and a tool that was not in
    /// the first list, wait for the approval of an administrator.
    pub async fn observe_server_tools(
        &self,
        server: ServerId,
        tools: Vec<ObservedTool>,
    ) -> Result<(), ToolError> {
        let now = self.clock.now();
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move { persist_observed_tools(tx, server, tools, now).await })
            })
            .await?;
        if changed {
            self.signals.send(Topic::Policy);
        }
        Ok(())
    }

    /// Persists the last error of a server, or clears it.
    pub async fn set_server_error(
        &self,
        server: ServerId,
        error: Option<String>,
    ) -> Result<(), ToolError> {
        let error = error.map(|text| text.chars().take(MAX_ERROR_CHARS).collect::<String>());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if find_server(tx, server).await?.last_error != error {
                        tx.policy_lock().await?;
                        let found = find_server(tx, server).await?;
                        tx.server_update(&McpServer { last_error: error, ..found }).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

async fn find_server(tx: &mut Tx, server: ServerId) -> Result<McpServer, ToolError> {
    let found = tx.server_get(server).await?;
    found.ok_or_else(|| ToolError::NoServer(server.to_string()))
}

async fn sync_builtin_rows(
    tx: &mut Tx,
    tools: Vec<BuiltinTool>,
    now: DateTime<Utc>,
) -> Result<bool, ToolError> {
    let known = tx.tool_list().await?.into_iter().filter(|tool| tool.server.is_none());
    let mut known: HashMap<String, StoredTool> =
        known.map(|tool| (tool.name.clone(), tool)).collect();
    let mut changed = false;
    for BuiltinTool { name, scope, definition } in tools {
        let sha256 = fingerprint(&definition);
        match known.remove(&name) {
            Some(tool) if tool.definition_sha256 == sha256 && tool.is_approved() => continue,
            // Built-in definitions are approved by installing the release.
            Some(tool) => {
                let approved = definition.clone();
                let approved_sha256 = sha256.clone();
                let definition_sha256 = sha256;
                let tool = StoredTool {
                    definition,
                    definition_sha256,
                    approved,
                    approved_sha256,
                    updated_at: now,
                    ..tool
                };
                tx.tool_update(&tool).await?;
            }
            // Its row is unreadable, so it may be disabled: fail closed.
            None if is_name_taken(tx, None, &name).await? => continue,
            None => tx.tool_insert(&new_tool(name, None, scope, definition, now)).await?,
        }
        changed = true;
    }
    for tool in known.into_values() {
        tx.tool_delete(tool.id).await?;
        changed = true;
    }
    Ok(changed)
}

/// Whether a built-in tool or one of the server has this name, even if its row is unreadable.
async fn is_name_taken(
    tx: &mut Tx,
    server: Option<ServerId>,
    name: &str,
) -> Result<bool, ToolError> {
    match tx.tool_by_name(server, name).await {
        Ok(found) => Ok(found.is_some()),
        Err(error) if error.is_unreadable() => Ok(true),
        Err(error) => Err(error.into()),
    }
}

async fn persist_observed_tools(
    tx: &mut Tx,
    server: ServerId,
    tools: Vec<ObservedTool>,
    now: DateTime<Utc>,
) -> Result<bool, ToolError> {
    tx.policy_lock().await?;
    let server = find_server(tx, server).await?;
    let known = tx.tool_list().await?.into_iter().filter(|tool| tool.server == Some(server.id));
    let mut known: HashMap<String, StoredTool> =
        known.map(|tool| (tool.name.clone(), tool)).collect();
    let mut changed = false;
    for ObservedTool { name, definition } in tools.into_iter().take(MAX_TOOLS) {
        if !is_valid_name(&name) {
            warn!(server.slug = %server.slug, "tool with an invalid name ignored");
            continue;
        }
        let name = format!("{}.{name}", server.slug);
        changed |= match known.remove(&name) {
            Some(tool) => update_observed(tx, &server, tool, definition, now).await?,
            None if is_name_taken(tx, Some(server.id), &name).await? => false,
            None => {
                let mut tool = new_tool(name, Some(server.id), server.scope, definition, now);
                if server.listed_at.is_some() {
                    warn!(tool.name = %tool.name, "new tool, approval required");
                    tool.approved_sha256.clear();
                    append_review_event(tx, &server, &tool.name, "new").await?;
                }
                tx.tool_insert(&tool).await?;
                true
            }
        };
    }
    // Removed tools stay recorded, so that they cannot reappear with another definition unnoticed.
    for tool in known.into_values().filter(|tool| tool.present) {
        tx.tool_update(&StoredTool { present: false, updated_at: now, ..tool }).await?;
        changed = true;
    }
    if server.listed_at.is_none() {
        tx.server_update(&McpServer { listed_at: Some(now), ..server }).await?;
    }
    if changed {
        tx.policy_bump_revision().await?;
    }
    Ok(changed)
}

/// Appends the event that a tool waits for approval.
async fn append_review_event(
    tx: &mut Tx,
    server: &McpServer,
    tool: &str,
    change: &str,
) -> Result<(), ToolError> {
    let event = NewEvent {
        kind: "tool.changed",
        owner: Some(server.owner),
        project: None,
        task: None,
        run: None,
        job: None,
        data: json!({ "tool": tool, "server": server.slug, "change": change }),
    };
    Ok(tx.event_append(&event).await?)
}

async fn update_observed(
    tx: &mut Tx,
    server: &McpServer,
    tool: StoredTool,
    definition: McpToolDefinition,
    now: DateTime<Utc>,
) -> Result<bool, ToolError> {
    let definition_sha256 = fingerprint(&definition);
    if tool.present && tool.definition_sha256 == definition_sha256 {
        return Ok(false);
    }
    if tool.approved_sha256 != definition_sha256 {
        warn!(tool.name = %tool.name, "tool definition changed, approval required");
        append_review_event(tx, server, &tool.name, "changed").await?;
    }
    let tool = StoredTool { definition, definition_sha256, present: true, updated_at: now, ..tool };
    tx.tool_update(&tool).await?;
    Ok(true)
}

/// A tool that is approved: built in, or in the first list of a server, whose installation implies the approval.
fn new_tool(
    name: String,
    server: Option<ServerId>,
    scope: ToolScope,
    definition: McpToolDefinition,
    now: DateTime<Utc>,
) -> StoredTool {
    let sha256 = fingerprint(&definition);
    StoredTool {
        id: ToolId::generate(),
        name,
        server,
        scope,
        enabled: true,
        disabled_by_owner: false,
        present: true,
        approved: definition.clone(),
        approved_sha256: sha256.clone(),
        definition,
        definition_sha256: sha256,
        first_seen_at: now,
        updated_at: now,
    }
}

/// Allows only names that are safe in rules, logs and shells.
fn is_valid_name(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_known)
}
