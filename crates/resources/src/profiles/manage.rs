//! Listing and changing the profiles of a project.

use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name::Slug;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::profile::{MAX_NAME_CHARS, ProfileSpec};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Profile, Store, Tx};
use cynode_wire::profiles::{CreateProfile, ProfileView, UpdateProfile};

use super::{ProfileError, find_in};
use crate::projects;
use crate::secrets::RedactSecrets as _;
use crate::signals::Topic;
use crate::{Caller, Signals};

/// The most profiles of a project.
const MAX_PROFILES: i64 = 64;

/// Profiles. Cheap to clone.
#[derive(Clone)]
pub struct Profiles {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Profiles {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Lists the profiles of a project by name, also if the project is shared with the caller.
    pub async fn list(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
    ) -> Result<Vec<ProfileView>, ProfileError> {
        let (caller, project) = (caller.clone(), project.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = projects::find_shared(tx, &caller, &project).await?;
                    let mut found = tx.profile_list(project.id).await?;
                    if !found.iter().any(|profile| profile.is_default) {
                        found.insert(0, find_in(tx, &project, None).await?);
                    }
                    Ok(found.into_iter().map(profile_view).collect())
                })
            })
            .await
    }

    /// Returns a profile of a project, or its default profile.
    pub async fn get(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        profile: Option<&NameOrId<ProfileId>>,
    ) -> Result<ProfileView, ProfileError> {
        let (caller, project) = (caller.clone(), project.to_owned());
        let profile = profile.cloned();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = projects::find_shared(tx, &caller, &project).await?;
                    find_in(tx, &project, profile.as_ref()).await.map(profile_view)
                })
            })
            .await
    }

    /// Creates a profile. For the owner of the project and administrators.
    pub async fn create(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        request: CreateProfile,
    ) -> Result<ProfileView, ProfileError> {
        let CreateProfile { name, spec } = request;
        let spec = redact(spec);
        let mut faults = validate_name(&name).err().into_iter().collect::<Vec<_>>();
        faults.extend(spec.validation_errors());
        if !faults.is_empty() {
            return Err(ProfileError::Invalid(faults));
        }
        let (who, project, now) = (caller.clone(), project.to_owned(), self.clock.now());
        let created = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let project = projects::find(tx, &who, &project).await?;
                    // Its default profile first: that is the one which is locked by concurrent creations.
                    super::resolve_for_write(tx, &who, project.id, None).await?;
                    tx.profile_lock(ProfileId::default_of(project.id)).await?;
                    if tx.profile_count(project.id).await? >= MAX_PROFILES {
                        let fault = format!("the project has {MAX_PROFILES} profiles, which is the limit: delete one first");
                        return Err(ProfileError::Conflict(fault));
                    }
                    let profile = Profile {
                        id: ProfileId::generate(),
                        project: project.id,
                        name,
                        is_default: false,
                        spec,
                        revision: 1,
                        created_by: who.user,
                        created_at: now,
                        updated_at: now,
                    };
                    if !tx.profile_insert(&profile).await? {
                        let name = &profile.name;
                        let fault = format!("profile \"{name}\" exists: choose another name");
                        return Err(ProfileError::Conflict(fault));
                    }
                    tx.policy_bump_revision().await?;
                    Ok(profile_view(profile))
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(created)
    }

    /// Replaces the spec of a profile. For the owner of the project and administrators.
    pub async fn update(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        profile: &NameOrId<ProfileId>,
        request: UpdateProfile,
    ) -> Result<ProfileView, ProfileError> {
        let UpdateProfile { spec, revision } = request;
        let spec = redact(spec);
        let faults = spec.validation_errors();
        if !faults.is_empty() {
            return Err(ProfileError::Invalid(faults));
        }
        let (who, project, profile) = (caller.clone(), project.to_owned(), profile.to_owned());
        let now = self.clock.now();
        let updated = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let found = lock(tx, &who, &project, &profile).await?;
                    if revision.is_some_and(|revision| revision != found.revision) {
                        return Err(changed());
                    }
                    let next =
                        Profile { spec, revision: found.revision + 1, updated_at: now, ..found };
                    if !tx.profile_update(&next).await? {
                        return Err(changed());
                    }
                    tx.policy_bump_revision().await?;
                    Ok(profile_view(next))
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(updated)
    }

    /// Deletes a profile with its memory, and revokes its tokens. For the owner of the project and administrators.
    pub async fn delete(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        profile: &NameOrId<ProfileId>,
    ) -> Result<(), ProfileError> {
        let (who, project, profile) = (caller.clone(), project.to_owned(), profile.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = lock(tx, &who, &project, &profile).await?;
                    if found.is_default {
                        let fault = "the default profile of a project cannot be deleted: change it with \
                                     `cynork profiles update default`";
                        return Err(ProfileError::Conflict(fault.to_owned()));
                    }
                    if tx.profile_has_open_tasks(found.id).await? {
                        let name = &found.name;
                        let fault = format!(
                            "open tasks use the profile \"{name}\": wait for them, or cancel them"
                        );
                        return Err(ProfileError::Conflict(fault));
                    }
                    let documents = tx.knowledge_totals(found.id).await?.documents;
                    if documents > 0 {
                        let name = &found.name;
                        let fault = format!(
                            "the profile \"{name}\" has {documents} documents: delete them first with \
                             `cynork knowledge delete --all --profile {name}`"
                        );
                        return Err(ProfileError::Conflict(fault));
                    }
                    tx.profile_delete(found.id).await?;
                    tx.policy_bump_revision().await?;
                    Ok(())
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

/// The profile of a project that the caller owns, locked until the transaction ends.
async fn lock(
    tx: &mut Tx,
    caller: &Caller,
    project: &NameOrId<ProjectId>,
    profile: &NameOrId<ProfileId>,
) -> Result<Profile, ProfileError> {
    let project = projects::find(tx, caller, project).await?;
    let found = super::resolve_for_write(tx, caller, project.id, Some(profile)).await?;
    let locked = tx.profile_lock(found.id).await?;
    locked.ok_or_else(|| ProfileError::NotFound(profile.excerpt()))
}

fn changed() -> ProfileError {
    ProfileError::Conflict("the profile was changed meanwhile: read it again".to_owned())
}

fn redact(spec: ProfileSpec) -> ProfileSpec {
    ProfileSpec { description: spec.description.redact_secrets(), ..spec }
}

fn validate_name(name: &str) -> Result<(), String> {
    let is_slug = Slug::normalise(name).is_ok_and(|slug| slug.as_str() == name);
    if !is_slug || name.len() > MAX_NAME_CHARS || name.parse::<ProfileId>().is_ok() {
        return Err(format!(
            "name must have 1 to {MAX_NAME_CHARS} lowercase letters, digits and single dashes, and must not be an id"
        ));
    }
    Ok(())
}

fn profile_view(profile: Profile) -> ProfileView {
    let Profile {
        id,
        project,
        name,
        is_default,
        spec,
        revision,
        created_by,
        created_at,
        updated_at,
    } = profile;
    ProfileView {
        id,
        project_id: project,
        name,
        is_default,
        spec,
        revision,
        created_by,
        created_at,
        updated_at,
    }
}
