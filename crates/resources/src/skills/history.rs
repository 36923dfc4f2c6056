//! The versions of a skill: who wrote which text, when and why; what changed between two; and the way back.
//!
//! Versions are for people who may change the skill. Agents and other readers get its current text only.

use cynode_domain::ids::SkillId;
use cynode_store::{Skill, SkillVersion, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::skills::{
    RollbackSkill, SkillDiffQuery, SkillDiffView, SkillVersionContentView, SkillVersionView,
    SkillView, UpdateSkill,
};
use similar::TextDiff;

use super::write::find_editable;
use super::{SkillError, Skills};
use crate::Caller;
use crate::paging::PageRequest;

/// The versions of a skill that are kept.
const MAX_VERSIONS: i64 = 100;
/// Unchanged lines around a change in a diff.
const CONTEXT_LINES: usize = 3;

/// Adds the current text as a version.
pub(super) async fn record(
    tx: &mut Tx,
    skill: &Skill,
    reason: Option<String>,
) -> Result<(), SkillError> {
    let version = SkillVersion {
        skill: skill.id,
        version: skill.version,
        name: skill.name.clone(),
        content: skill.content.clone(),
        content_sha256: skill.content_sha256.clone(),
        author: skill.updated_by,
        reason,
        created_at: skill.updated_at,
    };
    tx.skill_version_insert(&version).await?;
    Ok(tx.skill_version_prune(skill.id, skill.version - MAX_VERSIONS).await?)
}

/// Adds the text that is about to be replaced, if a release without versions wrote it.
pub(super) async fn keep(tx: &mut Tx, old: &Skill) -> Result<(), SkillError> {
    record(tx, old, None).await
}

impl Skills {
    /// Lists the versions of a skill, newest first, without their texts. For those who may change it.
    pub async fn history(
        &self,
        caller: &Caller,
        id: SkillId,
        query: &PageQuery,
    ) -> Result<Page<SkillVersionView>, SkillError> {
        let request = PageRequest::<i64>::parse(query)?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let skill = find_editable(tx, &caller, id).await?;
                    let mut found = tx.skill_version_list(id, before, fetch).await?;
                    if found.is_empty() && before.is_none() {
                        found.push(SkillVersion { content: String::new(), ..version_of(&skill) });
                    }
                    Ok::<_, SkillError>(found)
                })
            })
            .await?;
        Ok(request.page(found, |version| version.version.to_string(), version_view))
    }

    /// Returns a version with its text. For those who may change the skill.
    pub async fn version(
        &self,
        caller: &Caller,
        id: SkillId,
        version: i64,
    ) -> Result<SkillVersionContentView, SkillError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let skill = find_editable(tx, &caller, id).await?;
                    let found = load_version(tx, &skill, version).await?;
                    let content = found.content.clone();
                    Ok(SkillVersionContentView { version: version_view(found), content })
                })
            })
            .await
    }

    /// Compares two versions; without numbers the newest with the one before.
    pub async fn diff(
        &self,
        caller: &Caller,
        id: SkillId,
        query: &SkillDiffQuery,
    ) -> Result<SkillDiffView, SkillError> {
        let (caller, query) = (caller.clone(), query.clone());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let skill = find_editable(tx, &caller, id).await?;
                    let to = query.to.unwrap_or(skill.version);
                    let from = query.from.unwrap_or((to - 1).max(1));
                    let old = load_version(tx, &skill, from).await?;
                    let new = load_version(tx, &skill, to).await?;
                    let headers = [&old, &new].map(|one| format!("version {}", one.version));
                    let diff = TextDiff::from_lines(&old.content, &new.content)
                        .unified_diff()
                        .context_radius(CONTEXT_LINES)
                        .header(&headers[0], &headers[1])
                        .to_string();
                    Ok(SkillDiffView { from, to, diff })
                })
            })
            .await
    }

    /// Writes a new version with the text and the name of an old one, which is scanned like any other.
    pub async fn rollback(
        &self,
        caller: &Caller,
        id: SkillId,
        request: RollbackSkill,
    ) -> Result<SkillView, SkillError> {
        let number = request.version;
        let old = self.version(caller, id, number).await?;
        let name = Some(old.version.name);
        let reason = request.reason.unwrap_or_else(|| format!("rolled back to version {number}"));
        // The system skill keeps its name.
        let is_system = id.as_uuid() == cynode_domain::skill::SYSTEM_SKILL;
        let change = UpdateSkill {
            content: Some(old.content),
            name: name.filter(|_| !is_system),
            reason: Some(reason),
            ..UpdateSkill::default()
        };
        self.update(caller, id, change).await
    }
}

async fn load_version(
    tx: &mut Tx,
    skill: &Skill,
    version: i64,
) -> Result<SkillVersion, SkillError> {
    // The current text counts, also where a release without versions wrote it.
    if version == skill.version {
        return Ok(version_of(skill));
    }
    let found = tx.skill_version_get(skill.id, version).await?;
    found.ok_or(SkillError::NoVersion { id: skill.id, version })
}

fn version_of(skill: &Skill) -> SkillVersion {
    SkillVersion {
        skill: skill.id,
        version: skill.version,
        name: skill.name.clone(),
        content: skill.content.clone(),
        content_sha256: skill.content_sha256.clone(),
        author: skill.updated_by,
        reason: None,
        created_at: skill.updated_at,
    }
}

fn version_view(version: SkillVersion) -> SkillVersionView {
    SkillVersionView {
        version: version.version,
        name: version.name,
        content_sha256: version.content_sha256,
        author: version.author,
        reason: version.reason,
        created_at: version.created_at,
    }
}
