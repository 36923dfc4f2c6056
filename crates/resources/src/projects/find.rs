//! Finds projects by id, slug or alias, as far as the caller may see them.

use cynode_domain::ids::{GroupId, ProjectId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{Project, Tx};

use super::ProjectError;
use crate::Caller;
use crate::groups::{self, GroupError};

/// Alias of the caller's own default project.
pub(crate) const DEFAULT_ALIAS: &str = "default";

/// Finds a project by id, slug or the alias `default`, if the caller may see it.
pub async fn find(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ProjectId>,
) -> Result<Project, ProjectError> {
    let found = load(tx, caller, name_or_id).await?;
    found
        .filter(|project| caller.may_see(project.owner))
        .ok_or_else(|| ProjectError::NotFound(name_or_id.excerpt()))
}

/// Same as [`find`], also if the project is shared with the caller: for reading only.
pub async fn find_shared(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ProjectId>,
) -> Result<Project, ProjectError> {
    let unknown = || ProjectError::NotFound(name_or_id.excerpt());
    let found = load(tx, caller, name_or_id).await?.ok_or_else(unknown)?;
    let may_read = caller.may_see(found.owner) || is_shared_with(tx, caller, found.id).await?;
    if may_read { Ok(found) } else { Err(unknown()) }
}

/// Whether the caller is a member of the group of a project.
pub async fn is_shared_with(
    tx: &mut Tx,
    caller: &Caller,
    project: ProjectId,
) -> Result<bool, cynode_store::Error> {
    tx.project_is_shared_with(project, caller.user).await
}

async fn load(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ProjectId>,
) -> Result<Option<Project>, ProjectError> {
    Ok(match name_or_id {
        NameOrId::Id(id) => tx.project_get(*id).await?,
        NameOrId::Name(name) if name.eq_ignore_ascii_case(DEFAULT_ALIAS) => {
            tx.project_default(caller.user).await?
        }
        NameOrId::Name(name) => tx.project_by_slug(&lookup_name(name)).await?,
    })
}

/// The group that a project is shared with: one of the caller's own. Empty for none.
pub(super) async fn find_group_to_share_with(
    tx: &mut Tx,
    caller: &Caller,
    name: &str,
) -> Result<Option<GroupId>, ProjectError> {
    if name.is_empty() {
        return Ok(None);
    }
    let group = groups::find_group(tx, caller, &name.into()).await;
    if let Err(GroupError::Store(error)) = group {
        return Err(error.into());
    }
    let group = group.map_err(|error| ProjectError::Invalid(vec![error.to_string()]))?;
    Ok(Some(group.id))
}
