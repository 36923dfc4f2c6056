//! Creating, updating and deleting skills.

use cynode_domain::ids::{GroupId, SkillId, UserId};
use cynode_domain::skill::SkillScope;
use cynode_domain::text::{single_line, truncate_chars};
use cynode_domain::visible_text::{is_shown, strip_invisible};
use cynode_store::{Skill, Tx};
use cynode_wire::skills::{
    CreateSkill, MAX_CONTENT_BYTES, MAX_NAME_CHARS, MAX_REASON_CHARS, SkillView, UpdateSkill,
};

use super::{
    SkillError, Skills, find_skill, history, quarantine, release_skill, scanner, sha256, skill_view,
};
use crate::secrets::RedactSecrets as _;
use crate::{Caller, groups, projects};

const MAX_SKILLS: i64 = 200;

impl Skills {
    /// Creates a skill owned by the caller.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateSkill,
    ) -> Result<SkillView, SkillError> {
        let content = request.content.redact_secrets();
        let name = request.name.redact_secrets().unwrap_or_else(|| first_heading(&content));
        validate_skill(&name, &content)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let scope = request.scope.unwrap_or(SkillScope::User);
        let mut new = Skill {
            id: SkillId::generate(),
            name: name.trim().to_owned(),
            scope,
            project: request.project_id.filter(|_| scope == SkillScope::Project),
            group: request.group_id.filter(|_| scope == SkillScope::Group),
            owner: Some(caller.user),
            content_sha256: sha256(&content),
            content,
            version: 1,
            created_at: now,
            updated_at: now,
            updated_by: Some(caller.user),
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    authorize_scope(tx, &caller, &mut new).await?;
                    scan_new(tx, &new).await?;
                    if tx.skill_count(caller.user).await? >= MAX_SKILLS {
                        let rule = format!("a user may have at most {MAX_SKILLS} skills");
                        return Err(SkillError::Invalid(rule));
                    }
                    tx.skill_insert(&new).await?;
                    history::record(tx, &new, None).await?;
                    quarantine::record_passed(tx, &new).await?;
                    Ok(skill_view(new))
                })
            })
            .await
    }

    /// Updates the fields set in the request.
    pub async fn update(
        &self,
        caller: &Caller,
        id: SkillId,
        request: UpdateSkill,
    ) -> Result<SkillView, SkillError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        let reason = request.reason.clone().redact_secrets();
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS) {
            let rule = format!("a reason has at most {MAX_REASON_CHARS} characters");
            return Err(SkillError::Invalid(rule));
        }
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old = find_editable(tx, &caller, id).await?;
                    history::keep(tx, &old).await?;
                    if old.owner.is_none() && !keeps_name_and_scope(&old, &request) {
                        let rule = "the name and the scope of the system skill cannot be changed";
                        return Err(SkillError::Invalid(rule.to_owned()));
                    }
                    let name = request.name.redact_secrets();
                    let name = name.unwrap_or_else(|| old.name.clone());
                    let content = request.content.redact_secrets();
                    let content = content.unwrap_or_else(|| old.content.clone());
                    let scope = request.scope.unwrap_or(old.scope);
                    let project = request.project_id.or(old.project);
                    let group = request.group_id.or(old.group);
                    let mut new = Skill {
                        name: name.trim().to_owned(),
                        scope,
                        project: project.filter(|_| scope == SkillScope::Project),
                        group: group.filter(|_| scope == SkillScope::Group),
                        content_sha256: sha256(&content),
                        content,
                        version: old.version + 1,
                        updated_at: now,
                        updated_by: Some(caller.user),
                        ..old
                    };
                    validate_skill(&new.name, &new.content)?;
                    authorize_scope(tx, &caller, &mut new).await?;
                    scan_new(tx, &new).await?;
                    if !tx.skill_update(&new).await? {
                        return Err(SkillError::Conflict);
                    }
                    history::record(tx, &new, reason).await?;
                    quarantine::record_passed(tx, &new).await?;
                    Ok(skill_view(new))
                })
            })
            .await
    }

    /// Deletes a skill. For the system skill it restores the release's text.
    pub async fn remove(&self, caller: &Caller, id: SkillId) -> Result<(), SkillError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old = find_editable(tx, &caller, id).await?;
                    if old.owner.is_none() {
                        history::keep(tx, &old).await?;
                        let new = Skill { version: old.version + 1, ..release_skill(now) };
                        if !tx.skill_update(&new).await? {
                            return Err(SkillError::Conflict);
                        }
                        let reason = "reset to the text of the release".to_owned();
                        return history::record(tx, &new, Some(reason)).await;
                    }
                    if tx.skill_delete(id).await? { Ok(()) } else { Err(SkillError::NotFound(id)) }
                })
            })
            .await
    }
}

/// Loads a skill that the caller may change: their own, or any for administrators.
pub(super) async fn find_editable(
    tx: &mut Tx,
    caller: &Caller,
    id: SkillId,
) -> Result<Skill, SkillError> {
    let skill = find_skill(tx, caller, id).await?;
    match skill.owner {
        Some(owner) if caller.may_see(owner) => Ok(skill),
        Some(_) => Err(SkillError::Forbidden("only its owner may change this skill")),
        None if caller.is_admin => Ok(skill),
        None => {
            Err(SkillError::Forbidden("only an administrator may replace the system's own skill"))
        }
    }
}

/// Whether an update leaves name and scope unchanged.
fn keeps_name_and_scope(old: &Skill, request: &UpdateSkill) -> bool {
    request.name.as_ref().is_none_or(|name| *name == old.name)
        && request.scope.is_none_or(|scope| scope == old.scope)
}

/// Rejects a scope that the caller may not choose, and resolves the group.
async fn authorize_scope(
    tx: &mut Tx,
    caller: &Caller,
    skill: &mut Skill,
) -> Result<(), SkillError> {
    match (skill.scope, skill.project) {
        (SkillScope::User, _) => Ok(()),
        (SkillScope::Group, _) => {
            let owner = skill.owner.unwrap_or(caller.user);
            skill.group = Some(resolve_group(tx, caller, owner, skill.group).await?);
            Ok(())
        }
        (SkillScope::Project, Some(project)) => {
            Ok(projects::find(tx, caller, &project.into()).await.map(drop)?)
        }
        (SkillScope::Project, None) => {
            Err(SkillError::Invalid("a project's skill needs project_id".to_owned()))
        }
        (SkillScope::Global, _) if caller.is_admin => Ok(()),
        (SkillScope::Global, _) => {
            Err(SkillError::Forbidden("only an administrator may share a skill with everyone"))
        }
    }
}

/// The group of a skill: the requested one, if the caller may share with it, else the only group of
/// its owner.
async fn resolve_group(
    tx: &mut Tx,
    caller: &Caller,
    owner: UserId,
    named: Option<GroupId>,
) -> Result<GroupId, SkillError> {
    if let Some(group) = named {
        if groups::may_read(tx, caller, group).await? {
            return Ok(group);
        }
        return Err(SkillError::Forbidden("only members of a group may share a skill with it"));
    }
    match groups::load_group_ids(tx, owner).await?.as_slice() {
        [one] => Ok(*one),
        [] => Err(SkillError::Forbidden("you are in no group")),
        [_, _, ..] => Err(SkillError::Invalid("a group's skill needs group_id".to_owned())),
    }
}

/// Rejects a name and a text that the skill scan flags.
async fn scan_new(tx: &mut Tx, skill: &Skill) -> Result<(), SkillError> {
    let scanner = scanner::load(tx).await?;
    if cynode_fault::fault!("PMA-17") {
        return Ok(());
    }
    match quarantine::scan_all(&scanner, skill).into_iter().next() {
        Some(finding) => Err(SkillError::Hostile(finding)),
        None => Ok(()),
    }
}

fn validate_skill(name: &str, content: &str) -> Result<(), SkillError> {
    if !(1..=MAX_NAME_CHARS).contains(&name.trim().chars().count()) {
        return Err(SkillError::Invalid(format!("a name has 1 to {MAX_NAME_CHARS} characters")));
    }
    if !name.trim().chars().all(|letter| is_shown(letter) && !letter.is_control()) {
        let rule = "a name has no control characters and no invisible characters: type it again";
        return Err(SkillError::Invalid(rule.to_owned()));
    }
    if content.trim().is_empty() || content.len() > MAX_CONTENT_BYTES {
        return Err(SkillError::Invalid(format!("a skill has 1 to {MAX_CONTENT_BYTES} bytes")));
    }
    Ok(())
}

/// The first heading of a text, used as its default name.
fn first_heading(content: &str) -> String {
    let first = content.lines().find_map(|line| line.strip_prefix('#'));
    let name = strip_invisible(first.map(|line| line.trim_start_matches('#')).unwrap_or_default());
    let name = single_line(&name);
    let name = if name.is_empty() { "Unnamed skill" } else { &name };
    truncate_chars(name, MAX_NAME_CHARS).to_owned()
}
