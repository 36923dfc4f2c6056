//! Profiles: what the agents of a project may use.
//!
//! Start at [`resolve`], which every operation uses that takes a profile. A profile belongs to a project, and every
//! project has a default profile.
//!
//! Invariant: an unknown profile, and one of a project that the caller may not use, is not found.

mod manage;

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::profile::{DEFAULT_PROFILE, ProfileSpec};
use cynode_store::{Profile, Project, Tx};

pub use cynode_store::NarrowingProfile;
pub use manage::Profiles;

use crate::projects::{self, ProjectError};
use crate::{Caller, PageError};

/// Errors of profile operations.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no such profile, or the caller may not use its project.
    #[error("there is no profile \"{0}\" in this project; run `cynork profiles list`")]
    NotFound(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// Its state does not permit the change.
    #[error("{0}")]
    Conflict(String),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ProfileError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Conflict(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The profile of a project that a caller names, or the project's default profile, which is that of its memory.
///
/// Fails as not found if the caller may not use the project, or if it has no such profile.
pub async fn resolve(
    tx: &mut Tx,
    caller: &Caller,
    project: ProjectId,
    profile: Option<&NameOrId<ProfileId>>,
) -> Result<Profile, ProfileError> {
    let project = projects::find(tx, caller, &project.into()).await?;
    find_in(tx, &project, profile).await
}

/// As [`resolve`], also if the project is shared with the caller: for reading only.
pub async fn resolve_shared(
    tx: &mut Tx,
    caller: &Caller,
    project: ProjectId,
    profile: Option<&NameOrId<ProfileId>>,
) -> Result<Profile, ProfileError> {
    let project = projects::find_shared(tx, caller, &project.into()).await?;
    find_in(tx, &project, profile).await
}

/// As [`resolve`], in a transaction that writes: the default profile gets its row if it has none, and the profile is not
/// deleted before the transaction ends.
pub async fn resolve_for_write(
    tx: &mut Tx,
    caller: &Caller,
    project: ProjectId,
    profile: Option<&NameOrId<ProfileId>>,
) -> Result<Profile, ProfileError> {
    let found = resolve(tx, caller, project, profile).await?;
    if found.is_default {
        tx.profile_insert(&found).await?;
    }
    if tx.profile_hold(found.id).await? {
        Ok(found)
    } else {
        Err(ProfileError::NotFound(found.name))
    }
}

/// The profile of a project whose access was checked.
pub async fn find_in(
    tx: &mut Tx,
    project: &Project,
    profile: Option<&NameOrId<ProfileId>>,
) -> Result<Profile, ProfileError> {
    let found = match profile {
        None => return load_default(tx, project).await.map_err(Into::into),
        Some(NameOrId::Id(id)) => tx.profile_get(*id).await?,
        Some(NameOrId::Name(name)) => tx.profile_by_name(project.id, &lookup_name(name)).await?,
    };
    if let Some(found) = found.filter(|found| found.project == project.id) {
        return Ok(found);
    }
    // The default profile exists before its row does.
    let is_default = profile.is_some_and(|profile| match profile {
        NameOrId::Id(id) => *id == ProfileId::default_of(project.id),
        NameOrId::Name(name) => lookup_name(name) == DEFAULT_PROFILE,
    });
    if is_default {
        return load_default(tx, project).await.map_err(Into::into);
    }
    Err(ProfileError::NotFound(profile.map(NameOrId::excerpt).unwrap_or_default()))
}

/// The profile with this id, of a project whose access was checked; `None` is the default profile.
pub async fn load(
    tx: &mut Tx,
    project: ProjectId,
    profile: Option<ProfileId>,
) -> Result<Option<Profile>, cynode_store::Error> {
    let id = profile.unwrap_or_else(|| ProfileId::default_of(project));
    if let Some(found) = tx.profile_get(id).await? {
        return Ok(Some(found).filter(|found| found.project == project));
    }
    if id != ProfileId::default_of(project) {
        return Ok(None);
    }
    let Some(project) = tx.project_get(project).await? else { return Ok(None) };
    load_default(tx, &project).await.map(Some)
}

/// The profile with this id, without a check of access.
pub(crate) async fn load_by_id(
    tx: &mut Tx,
    id: ProfileId,
) -> Result<Option<Profile>, cynode_store::Error> {
    if let Some(found) = tx.profile_get(id).await? {
        return Ok(Some(found));
    }
    // The default profile exists before its row does.
    let Some(project) = tx.project_get(ProjectId::from(id.as_uuid())).await? else {
        return Ok(None);
    };
    load_default(tx, &project).await.map(Some)
}

async fn load_default(tx: &mut Tx, project: &Project) -> Result<Profile, cynode_store::Error> {
    let found = tx.profile_default(project.id).await?;
    Ok(found.unwrap_or_else(|| default_profile(project, project.created_at)))
}

/// Creates the default profile of a new project.
pub(crate) async fn create_default(
    tx: &mut Tx,
    project: &Project,
) -> Result<(), cynode_store::Error> {
    let profile = default_profile(project, project.created_at);
    tx.profile_insert(&profile).await.map(drop)
}

fn default_profile(project: &Project, now: DateTime<Utc>) -> Profile {
    Profile {
        id: ProfileId::default_of(project.id),
        project: project.id,
        name: DEFAULT_PROFILE.to_owned(),
        is_default: true,
        spec: ProfileSpec::default(),
        revision: 1,
        created_by: project.owner,
        created_at: now,
        updated_at: now,
    }
}
