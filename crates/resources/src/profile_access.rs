//! Which profile a call about memory or knowledge concerns, and whether its caller may use it.
//!
//! The data of a profile is read and written by its agents, if the profile allows it, and by people: members of the group
//! of a project read, its owner writes.
//!
//! Invariant: the profile of an agent is that of its token.

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::profile::DEFAULT_PROFILE;
use cynode_domain::project_memory::MemorySource;
use cynode_store::{Profile, Tx};

use crate::profiles::{self, ProfileError};
use crate::{Caller, ProjectError, projects};

/// Why a caller may not use a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileAccessError {
    /// The token has no profile.
    #[error("this token has no profile, and so no memory and no knowledge: use a newer one")]
    NoProfile,
    #[error("{0}")]
    Forbidden(String),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ProfileAccessError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NoProfile | Self::Forbidden(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Profile(error) => error.classify(),
            Self::Project(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Which profile a call is about, and on whose behalf.
#[derive(Debug, Clone)]
pub struct ProfileAccess {
    pub caller: Caller,
    pub subject: ProfileSubject,
}

#[derive(Debug, Clone)]
pub enum ProfileSubject {
    /// A person, in a profile of a project.
    Person { project: NameOrId<ProjectId>, profile: Option<NameOrId<ProfileId>> },
    /// An agent, in the profile of its token. It may name its own profile and project, and no others.
    Agent {
        own: Option<ProfileId>,
        named_project: Option<ProjectId>,
        named_profile: Option<NameOrId<ProfileId>>,
        source: MemorySource,
    },
}

/// What a call does with the memory or the knowledge of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileOperation {
    Read,
    Write,
}

/// The profile of a call, if its caller may use it.
pub async fn open_profile(
    tx: &mut Tx,
    access: &ProfileAccess,
    operation: ProfileOperation,
) -> Result<Profile, ProfileAccessError> {
    match &access.subject {
        ProfileSubject::Person { project, profile } => {
            open_for_person(tx, &access.caller, project, profile.as_ref(), operation).await
        }
        ProfileSubject::Agent { own, named_project, named_profile, .. } => {
            let own = own.ok_or(ProfileAccessError::NoProfile)?;
            let profile = profiles::load_by_id(tx, own).await?;
            let profile = profile.ok_or(ProfileAccessError::NoProfile)?;
            let project = projects::find(tx, &access.caller, &profile.project.into()).await?;
            if let Some(named) = named_project.filter(|named| *named != project.id) {
                return Err(ProjectError::NotFound(named.to_string()).into());
            }
            if let Some(named) = named_profile
                && profiles::find_in(tx, &project, Some(named)).await?.id != own
            {
                return Err(ProfileError::NotFound(named.excerpt()).into());
            }
            let memory = profile.spec.memory;
            let (is_allowed, verb) = match operation {
                ProfileOperation::Read => (memory.readable, "read"),
                ProfileOperation::Write => (memory.writable, "write to"),
            };
            if !is_allowed {
                let name = &profile.name;
                let fault =
                    format!("agents of the profile \"{name}\" may not {verb} its project memory");
                return Err(ProfileAccessError::Forbidden(fault));
            }
            if operation == ProfileOperation::Write {
                keep_profile(tx, &profile).await?;
            }
            Ok(profile)
        }
    }
}

/// The profile that a call reads. `None` for the default profile of a person's default project before anything created that
/// project: it has no data.
pub async fn open_profile_for_reading(
    tx: &mut Tx,
    access: &ProfileAccess,
) -> Result<Option<Profile>, ProfileAccessError> {
    if let ProfileSubject::Person { project, profile } = &access.subject
        && is_default_project(project)
        && profile.as_ref().is_none_or(is_default_profile)
        && tx.project_default(access.caller.user).await?.is_none()
    {
        return Ok(None);
    }
    open_profile(tx, access, ProfileOperation::Read).await.map(Some)
}

fn is_default_project(project: &NameOrId<ProjectId>) -> bool {
    matches!(project, NameOrId::Name(name) if name.eq_ignore_ascii_case(projects::DEFAULT_ALIAS))
}

fn is_default_profile(profile: &NameOrId<ProfileId>) -> bool {
    matches!(profile, NameOrId::Name(name) if lookup_name(name) == DEFAULT_PROFILE)
}

/// Creates the default project of a person whose call names it and who has none yet, so that what a person stores first needs no
/// task before it.
pub async fn create_default_project(
    tx: &mut Tx,
    access: &ProfileAccess,
    now: DateTime<Utc>,
) -> Result<(), cynode_store::Error> {
    if let ProfileSubject::Person { project, .. } = &access.subject
        && is_default_project(project)
    {
        projects::load_or_create_default_project(tx, access.caller.user, now).await?;
    }
    Ok(())
}

async fn open_for_person(
    tx: &mut Tx,
    caller: &Caller,
    project: &NameOrId<ProjectId>,
    profile: Option<&NameOrId<ProfileId>>,
    operation: ProfileOperation,
) -> Result<Profile, ProfileAccessError> {
    if operation == ProfileOperation::Read {
        let project = projects::find_shared(tx, caller, project).await?;
        return Ok(profiles::find_in(tx, &project, profile).await?);
    }
    let project = projects::find(tx, caller, project).await?;
    Ok(profiles::resolve_for_write(tx, caller, project.id, profile).await?)
}

/// Keeps the profile until the transaction ends; a default profile gets its row.
async fn keep_profile(tx: &mut Tx, profile: &Profile) -> Result<(), ProfileAccessError> {
    if profile.is_default {
        tx.profile_insert(profile).await?;
    }
    if tx.profile_hold(profile.id).await? { Ok(()) } else { Err(ProfileAccessError::NoProfile) }
}
