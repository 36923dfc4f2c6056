//! What the gateway writes down: which tools are built in, and what servers offer.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::ToolScope;
use cynode_store::{
    Definition, McpServer, McpTool, ServerStore, SettingStore, ToolStore, Tx, UserStore,
};
use tracing::warn;

use super::definition::fingerprint;
use super::{BuiltinTool, ObservedTool, Registry, ToolError};
use crate::rules::seed;
use crate::signals::Topic;

/// Tools of one server at most.
const MAX_TOOLS: usize = 512;
const MAX_NAME_BYTES: usize = 128;
const MAX_ERROR_CHARS: usize = 500;

impl Registry {
    /// Writes down which tools are built in. What an administrator set stays; tools that are no
    /// longer built in are removed. On a new installation this also seeds the access rules.
    pub async fn sync_builtins(&self, tools: Vec<BuiltinTool>) -> Result<(), ToolError> {
        let now = self.clock.now();
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.startup_lock().await?;
                    let seeded = seed(tx, now).await?;
                    let synced = sync(tx, tools, now).await?;
                    if seeded || synced {
                        tx.policy_touch().await?;
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

    /// Writes down which tools a server offers now. A definition that differs from what was
    /// approved makes its tool uncallable until an administrator approves the change.
    pub async fn observe(
        &self,
        server: ServerId,
        tools: Vec<ObservedTool>,
    ) -> Result<(), ToolError> {
        let now = self.clock.now();
        let changed = self
            .store
            .write(move |tx| Box::pin(async move { observe(tx, server, tools, now).await }))
            .await?;
        if changed {
            self.signals.send(Topic::Policy);
        }
        Ok(())
    }

    /// Writes down what went wrong with a server, or that all is well again.
    pub async fn server_state(
        &self,
        server: ServerId,
        error: Option<String>,
    ) -> Result<(), ToolError> {
        let error = error.map(|text| text.chars().take(MAX_ERROR_CHARS).collect::<String>());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = find(tx, server).await?;
                    if found.last_error != error {
                        tx.server_update(&McpServer { last_error: error, ..found }).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

async fn find(tx: &mut Tx, server: ServerId) -> Result<McpServer, ToolError> {
    let found = tx.server_get(server).await?;
    found.ok_or_else(|| ToolError::NoServer(server.to_string()))
}

async fn sync(tx: &mut Tx, tools: Vec<BuiltinTool>, now: DateTime<Utc>) -> Result<bool, ToolError> {
    let known = tx.tool_list().await?.into_iter().filter(|tool| tool.server.is_none());
    let mut known: HashMap<String, McpTool> = known.map(|tool| (tool.name.clone(), tool)).collect();
    let mut changed = false;
    for BuiltinTool { name, scope, definition } in tools {
        let sha256 = fingerprint(&definition);
        match known.remove(&name) {
            Some(tool) if tool.definition_sha256 == sha256 && tool.is_approved() => continue,
            // What comes with the program is approved by whoever installed the program.
            Some(tool) => {
                let approved = definition.clone();
                let approved_sha256 = sha256.clone();
                let definition_sha256 = sha256;
                let tool = McpTool {
                    definition,
                    definition_sha256,
                    approved,
                    approved_sha256,
                    updated_at: now,
                    ..tool
                };
                tx.tool_update(&tool).await?;
            }
            // Its row cannot be read: whether somebody disabled it is not known, so it stays away.
            None if is_taken(tx, &name).await? => continue,
            None => tx.tool_insert(&first_sight(name, None, scope, definition, now)).await?,
        }
        changed = true;
    }
    for tool in known.into_values() {
        tx.tool_delete(tool.id).await?;
        changed = true;
    }
    Ok(changed)
}

/// Whether a tool has this name, be its row readable or not.
async fn is_taken(tx: &mut Tx, name: &str) -> Result<bool, ToolError> {
    match tx.tool_by_name(name).await {
        Ok(found) => Ok(found.is_some()),
        Err(error) if error.is_unreadable() => Ok(true),
        Err(error) => Err(error.into()),
    }
}

async fn observe(
    tx: &mut Tx,
    server: ServerId,
    tools: Vec<ObservedTool>,
    now: DateTime<Utc>,
) -> Result<bool, ToolError> {
    let server = find(tx, server).await?;
    let known = tx.tool_list().await?.into_iter().filter(|tool| tool.server == Some(server.id));
    let mut known: HashMap<String, McpTool> = known.map(|tool| (tool.name.clone(), tool)).collect();
    let mut changed = false;
    for ObservedTool { name, definition } in tools.into_iter().take(MAX_TOOLS) {
        if !is_name(&name) {
            warn!(server.slug = %server.slug, "a tool of server {} has an odd name", server.slug);
            continue;
        }
        let name = format!("{}.{name}", server.slug);
        changed |= match known.remove(&name) {
            Some(tool) => see_again(tx, tool, definition, now).await?,
            None if is_taken(tx, &name).await? => false,
            None => {
                let tool = first_sight(name, Some(server.id), server.scope, definition, now);
                tx.tool_insert(&tool).await?;
                true
            }
        };
    }
    // A tool that is gone is remembered, so that it cannot come back as something else.
    for tool in known.into_values().filter(|tool| tool.present) {
        tx.tool_update(&McpTool { present: false, updated_at: now, ..tool }).await?;
        changed = true;
    }
    if changed {
        tx.policy_touch().await?;
    }
    Ok(changed)
}

async fn see_again(
    tx: &mut Tx,
    tool: McpTool,
    definition: Definition,
    now: DateTime<Utc>,
) -> Result<bool, ToolError> {
    let definition_sha256 = fingerprint(&definition);
    if tool.present && tool.definition_sha256 == definition_sha256 {
        return Ok(false);
    }
    if tool.approved_sha256 != definition_sha256 {
        warn!(tool.name = %tool.name, "tool {} changed; it waits for an administrator's approval", tool.name);
    }
    let tool = McpTool { definition, definition_sha256, present: true, updated_at: now, ..tool };
    tx.tool_update(&tool).await?;
    Ok(true)
}

/// A tool is approved as it is first seen: installing its server says so.
fn first_sight(
    name: String,
    server: Option<ServerId>,
    scope: ToolScope,
    definition: Definition,
    now: DateTime<Utc>,
) -> McpTool {
    let sha256 = fingerprint(&definition);
    McpTool {
        id: ToolId::generate(),
        name,
        server,
        scope,
        enabled: true,
        present: true,
        approved: definition.clone(),
        approved_sha256: sha256.clone(),
        definition,
        definition_sha256: sha256,
        first_seen_at: now,
        updated_at: now,
    }
}

/// Names that are safe in rules, logs and shells.
fn is_name(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_known)
}
