//! Skills: instructions for agents, scanned before they are stored.
//!
//! Only the owner may change a skill. Its scope determines the readers: sharing with a project requires
//! access to the project, with a group membership, with everyone administrator rights. The
//! system skill ([`Skills::seed`]) is part of the release; an administrator may replace its text,
//! and deleting it restores the release's text.
//!
//! Every change is a version (`history`). A text that the current rules reject is in quarantine (`quarantine`):
//! it is not delivered, whatever rules it passed when it was written.

mod history;
mod quarantine;
mod scanner;
mod write;

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProjectId, SkillId};
use cynode_domain::skill::{SYSTEM_SKILL, SkillScope};
use cynode_runtime::clock::SharedClock;
pub use cynode_skill_scan::{Category, ScanFinding};
use cynode_store::{Skill, SkillFilter, Store, Tx};
use cynode_wire::page::Page;
use cynode_wire::skills::{SkillContentView, SkillQuery, SkillView};
use sha2::{Digest, Sha256};

use crate::paging::PageRequest;
use crate::{Caller, PageError, groups};
use crate::{projects, projects::ProjectError};
pub use scanner::{PHRASES_SETTING, RULES_SETTING, validate_scan_setting};

const SYSTEM_TEXT: &str = include_str!("skills/working-with-cynode.md");

/// Errors of skill operations.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// There is no such skill, or the caller may not read it.
    #[error("there is no skill {0}")]
    NotFound(SkillId),
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("the skill was rejected by the scan: {0}: \"{text}\"", text = .0.text.escape_debug())]
    Hostile(ScanFinding),
    /// For readers, without the finding; the owner and administrators see the finding in the list.
    #[error(
        "skill {0} is in quarantine: the scan rejects its text; its owner can change it, and an administrator can release it"
    )]
    Quarantined(SkillId),
    /// For its owner and administrators.
    #[error(
        "skill {id} is in quarantine: {finding}: \"{text}\"; change it with `cynork skills update`, or an administrator releases it with `cynork skills release`",
        text = .finding.text.escape_debug()
    )]
    QuarantinedBecause { id: SkillId, finding: ScanFinding },
    #[error("skill {id} has no version {version}; see `cynork skills history`")]
    NoVersion { id: SkillId, version: i64 },
    #[error("the skill was changed meanwhile: read it again")]
    Conflict,
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for SkillError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::NoVersion { .. } => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Forbidden(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Hostile(_) | Self::Quarantined(_) | Self::QuarantinedBecause { .. } => {
                Classification::new(ErrorClass::PolicyViolation, self)
            }
            Self::Conflict => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Skills. Cheap to clone.
#[derive(Clone)]
pub struct Skills {
    store: Store,
    clock: SharedClock,
}

impl Skills {
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Writes the release's system skill, unless an administrator replaced it.
    pub async fn seed(&self) -> Result<(), SkillError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let new = release_skill(now);
                    tx.startup_lock().await?;
                    let known = match tx.skill_get(new.id).await {
                        // An unreadable row may hold an administrator's text; startup goes on without it.
                        Err(error) if error.is_unreadable() => return Ok(()),
                        known => known?,
                    };
                    let new = match known {
                        None => {
                            tx.skill_insert(&new).await?;
                            new
                        }
                        // An administrator's text stays.
                        Some(old) if old.updated_by.is_some() => return Ok(()),
                        Some(old) if old.content_sha256 == new.content_sha256 => return Ok(()),
                        Some(old) => {
                            history::keep(tx, &old).await?;
                            let new = Skill { version: old.version + 1, ..new };
                            tx.skill_update(&new).await?;
                            new
                        }
                    };
                    history::record(tx, &new, None).await
                })
            })
            .await
    }

    /// Lists the skills that the caller can read, newest first, without their texts.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &SkillQuery,
    ) -> Result<Page<SkillView>, SkillError> {
        self.list_in_project(caller, query, None).await
    }

    /// As [`Self::list`], without the skills of projects other than `bound_project`, if there is one.
    pub async fn list_in_project(
        &self,
        caller: &Caller,
        query: &SkillQuery,
        bound_project: Option<ProjectId>,
    ) -> Result<Page<SkillView>, SkillError> {
        let request = PageRequest::<SkillId>::parse(&query.page())?;
        let filter = SkillFilter {
            reader: caller.own(),
            scope: query.scope,
            owner: query.owner,
            bound_project,
            before: request.before,
            limit: request.fetch,
        };
        let caller = caller.clone();
        let (found, findings) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.skill_list(&filter).await?;
                    let findings = quarantine::load_findings(tx, &caller, &found).await?;
                    Ok::<_, SkillError>((found, findings))
                })
            })
            .await?;
        let view = |skill: Skill| SkillView {
            quarantine: findings.get(&skill.id).cloned(),
            ..skill_view(skill)
        };
        Ok(request.page(found, |skill| skill.id.to_string(), view))
    }

    /// Returns a skill with its text, unless the text is in quarantine.
    pub async fn get(&self, caller: &Caller, id: SkillId) -> Result<SkillContentView, SkillError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let skill = find_skill(tx, &caller, id).await?;
                    quarantine::check(tx, &caller, &skill).await?;
                    let content = skill.content.clone();
                    Ok(SkillContentView { skill: skill_view(skill), content })
                })
            })
            .await
    }
}

/// The system skill of this release.
fn release_skill(now: DateTime<Utc>) -> Skill {
    Skill {
        id: SYSTEM_SKILL.into(),
        name: "Working with CyNode".to_owned(),
        scope: SkillScope::Global,
        project: None,
        group: None,
        owner: None,
        content: SYSTEM_TEXT.to_owned(),
        content_sha256: sha256(SYSTEM_TEXT),
        version: 1,
        created_at: now,
        updated_at: now,
        updated_by: None,
    }
}

/// The text of the system skill, which is part of every request to a model: that of the release while an
/// administrator's text is in quarantine or cannot be judged.
pub async fn load_system_skill_text(tx: &mut Tx) -> Result<String, cynode_store::Error> {
    let Some(skill) = tx.skill_get(SYSTEM_SKILL.into()).await? else {
        return Ok(SYSTEM_TEXT.to_owned());
    };
    match quarantine::judge(tx, &skill).await {
        Ok(findings) if findings.is_empty() => Ok(skill.content),
        Ok(_) => {
            tracing::warn!("default skill in quarantine, using the text of the release");
            Ok(SYSTEM_TEXT.to_owned())
        }
        Err(SkillError::Store(error)) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "default skill cannot be judged, using the text of the release");
            Ok(SYSTEM_TEXT.to_owned())
        }
    }
}

/// Loads a skill if the caller can read it.
async fn find_skill(tx: &mut Tx, caller: &Caller, id: SkillId) -> Result<Skill, SkillError> {
    let skill = tx.skill_get(id).await?.ok_or(SkillError::NotFound(id))?;
    let is_own = skill.owner.is_some_and(|owner| caller.may_see(owner));
    let is_read = match (skill.scope, skill.project) {
        (SkillScope::Global, _) => true,
        (SkillScope::Group, _) if !is_own => match skill.group {
            Some(group) => groups::may_read(tx, caller, group).await?,
            None => false,
        },
        (SkillScope::Project, Some(project)) if !is_own => {
            match projects::find(tx, caller, &project.into()).await {
                Ok(_) => true,
                Err(ProjectError::NotFound(_)) => false,
                Err(error) => return Err(error.into()),
            }
        }
        (SkillScope::User | SkillScope::Group | SkillScope::Project, _) => is_own,
    };
    if is_read { Ok(skill) } else { Err(SkillError::NotFound(id)) }
}

fn sha256(content: &str) -> String {
    hex::encode(Sha256::digest(content.as_bytes()))
}

fn skill_view(skill: Skill) -> SkillView {
    SkillView {
        id: skill.id,
        name: skill.name,
        scope: skill.scope,
        project_id: skill.project,
        group_id: skill.group,
        owner: skill.owner,
        content_sha256: skill.content_sha256,
        version: skill.version,
        created_at: skill.created_at,
        updated_at: skill.updated_at,
        updated_by: skill.updated_by,
        quarantine: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_own_skill_passes_the_scan_that_others_must_pass() {
        assert_eq!(cynode_skill_scan::SkillScanner::built_in().scan(SYSTEM_TEXT), []);
        assert!(SYSTEM_TEXT.len() < 4096, "it goes with every request");
    }
}
