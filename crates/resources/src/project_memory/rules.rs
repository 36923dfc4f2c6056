//! Entries that the control plane writes by rule.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId, UserId};
use cynode_domain::project_memory::{
    MAX_ENTRIES, MAX_TEXT_BYTES, MAX_TITLE_CHARS, MemoryAuthorKind, MemoryKind, MemorySource,
};
use cynode_domain::text::{truncate_bytes, truncate_chars};
use cynode_store::{MemoryEntry, Tx};
use tracing::warn;

use crate::profiles;
use crate::secrets::RedactSecrets as _;

/// What a rule remembers.
#[derive(Debug, Clone)]
pub struct RuleMemory {
    pub project: ProjectId,
    /// `None` for the default profile of the project.
    pub profile: Option<ProfileId>,
    /// The person on whose behalf it is written.
    pub user: UserId,
    /// Who made what it says: the rule, or a model whose words the rule records.
    pub author: MemoryAuthorKind,
    pub kind: MemoryKind,
    pub title: String,
    pub text: String,
    pub source: MemorySource,
    /// What it is about: written once for each profile.
    pub key: String,
    pub now: DateTime<Utc>,
}

/// Writes an entry, once for its key. A full memory and a deleted profile remember nothing, which is logged: the work that
/// the rule is about goes on.
pub async fn record_by_rule(tx: &mut Tx, memory: RuleMemory) -> Result<(), cynode_store::Error> {
    let (project, key) = (memory.project, memory.key);
    let Some(profile) = profiles::load(tx, project, memory.profile).await? else {
        warn!(project.id = %project, memory.key = key, "project memory skipped: no profile");
        return Ok(());
    };
    if profile.is_default {
        tx.profile_insert(&profile).await?;
    }
    if !tx.profile_hold(profile.id).await? || tx.memory_count(profile.id).await? >= MAX_ENTRIES {
        warn!(profile.id = %profile.id, memory.key = key, "project memory skipped: full");
        return Ok(());
    }
    let entry = MemoryEntry {
        id: MemoryEntryId::generate(),
        project,
        profile: profile.id,
        kind: memory.kind,
        title: shorten_title(&memory.title.redact_secrets()),
        text: truncate_bytes(&memory.text.redact_secrets(), MAX_TEXT_BYTES).to_owned(),
        author: memory.author,
        author_id: memory.user,
        source: memory.source,
        rule_key: Some(key),
        revision: 1,
        created_at: memory.now,
        updated_at: memory.now,
    };
    tx.memory_insert(&entry).await.map(drop)
}

fn shorten_title(title: &str) -> String {
    let line: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.is_empty() {
        "untitled".to_owned()
    } else {
        truncate_chars(line, MAX_TITLE_CHARS).to_owned()
    }
}
