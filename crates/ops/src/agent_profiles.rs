//! Agent profiles: programs of other vendors that work as agents, and the canary runs that admit them to worker nodes.
//!
//! Administrators define profiles, every user may use them. A change is a new revision. A worker node gets the jobs of a
//! profile after it has passed the canary run of exactly its revision.

mod canary;
mod validate;
mod view;

use cynode_domain::agent_profile::AgentProfileName;
use cynode_domain::agent_program::AgentProfileSpec;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::AgentProfileId;
use cynode_execution::{NodeError, TaskError, TaskService};
use cynode_resources::signals::Topic;
use cynode_resources::{Caller, Signals};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, AgentProfile, Store, Tx};
use cynode_wire::agent_profiles::{AgentProfileView, CreateAgentProfile, UpdateAgentProfile};

use self::validate::validate_spec;
use self::view::{ShownChecks, profile_views};

/// The most profiles.
const MAX_PROFILES: usize = 100;

/// Errors of operations on agent profiles.
#[derive(Debug, thiserror::Error)]
pub enum AgentProfileError {
    #[error("there is no agent profile \"{0}\": `cynork agent profiles` lists them")]
    NotFound(String),
    #[error(
        "there is an agent profile \"{0}\" already: change it with `cynork agent profiles update {0}`"
    )]
    Taken(AgentProfileName),
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("the agent profile was changed meanwhile: read it again")]
    Conflict,
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// No node can take the canary run.
    #[error("{0}")]
    NoUsableNode(String),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AgentProfileError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Taken(_) | Self::Conflict | Self::NoUsableNode(_) => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Node(error) => error.classify(),
            Self::Task(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Agent profiles. Cheap to clone.
#[derive(Clone)]
pub struct AgentProfiles {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    tasks: TaskService,
}

impl AgentProfiles {
    pub fn new(store: Store, clock: SharedClock, signals: Signals, tasks: TaskService) -> Self {
        Self { store, clock, signals, tasks }
    }

    /// Lists the profiles by name, with the canary runs of every worker node.
    pub async fn list(&self) -> Result<Vec<AgentProfileView>, AgentProfileError> {
        self.store
            .read(|tx| {
                Box::pin(async move {
                    let profiles = tx.agent_profile_list().await?;
                    profile_views(tx, profiles, ShownChecks::Failed).await
                })
            })
            .await
    }

    pub async fn get(&self, name: &str) -> Result<AgentProfileView, AgentProfileError> {
        let name = name.to_owned();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let profile = find_profile(tx, &name).await?;
                    render_profile(tx, profile).await
                })
            })
            .await
    }

    /// Defines a profile. Administrators only.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateAgentProfile,
    ) -> Result<AgentProfileView, AgentProfileError> {
        require_admin(caller)?;
        let CreateAgentProfile { name, description, program, hosts } = request;
        let parsed = name.parse::<AgentProfileName>();
        let spec = AgentProfileSpec { description, program, hosts };
        let mut faults = validate_spec(&spec);
        if let Err(error) = &parsed {
            faults.insert(0, error.to_string());
        }
        let (Ok(name), true) = (parsed, faults.is_empty()) else {
            return Err(AgentProfileError::Invalid(faults));
        };
        self.change(caller, name, move |known| match known {
            Some(known) if !known.is_deleted => Err(AgentProfileError::Taken(known.name)),
            known => Ok(ProfileChange { known, spec, action: "agent_profile.create" }),
        })
        .await
    }

    /// Changes a profile: its revision is a new one, which no node has been admitted for. Administrators only.
    pub async fn update(
        &self,
        caller: &Caller,
        name: &str,
        request: UpdateAgentProfile,
    ) -> Result<AgentProfileView, AgentProfileError> {
        require_admin(caller)?;
        let UpdateAgentProfile { description, program, hosts, revision } = request;
        let spec = AgentProfileSpec { description, program, hosts };
        let parsed = name.parse().map_err(|_| not_found(name))?;
        let faults = validate_spec(&spec);
        if !faults.is_empty() {
            return Err(AgentProfileError::Invalid(faults));
        }
        let missing = not_found(name);
        self.change(caller, parsed, move |known| match known {
            Some(known) if !known.is_deleted => {
                if revision.is_some_and(|revision| revision != known.revision) {
                    return Err(AgentProfileError::Conflict);
                }
                let known = Some(known);
                Ok(ProfileChange { known, spec, action: "agent_profile.update" })
            }
            _ => Err(missing),
        })
        .await
    }

    /// Deletes a profile. Waiting jobs of its tasks fail. Administrators only.
    pub async fn remove(&self, caller: &Caller, name: &str) -> Result<(), AgentProfileError> {
        require_admin(caller)?;
        let (caller, name, now) = (caller.clone(), name.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.agent_profile_delete(&name).await? {
                        return Err(not_found(&name));
                    }
                    record_change(tx, &caller, "agent_profile.remove", name, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        Ok(())
    }

    /// Writes the next revision of a profile.
    async fn change(
        &self,
        caller: &Caller,
        name: AgentProfileName,
        decide: impl FnOnce(Option<AgentProfile>) -> Result<ProfileChange, AgentProfileError>
        + Send
        + 'static,
    ) -> Result<AgentProfileView, AgentProfileError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let ProfileChange { known, spec, action } =
                        decide(tx.agent_profile_lock(&name).await?)?;
                    let is_new = known.as_ref().is_none_or(|known| known.is_deleted);
                    if is_new && tx.agent_profile_list().await?.len() >= MAX_PROFILES {
                        let fault = format!("there may be at most {MAX_PROFILES} agent profiles");
                        return Err(AgentProfileError::Invalid(vec![fault]));
                    }
                    let kept = known.as_ref().filter(|_| !is_new);
                    let profile = AgentProfile {
                        id: known.as_ref().map_or_else(AgentProfileId::generate, |known| known.id),
                        name,
                        revision: known.as_ref().map_or(0, |known| known.revision) + 1,
                        spec,
                        created_by: kept.map_or(caller.user, |known| known.created_by),
                        created_at: kept.map_or(now, |known| known.created_at),
                        updated_at: now,
                        is_deleted: false,
                    };
                    if !tx.agent_profile_put(&profile).await? {
                        return Err(AgentProfileError::Conflict);
                    }
                    let resource = profile.name.to_string();
                    record_change(tx, &caller, action, resource, now).await?;
                    render_profile(tx, profile).await
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        Ok(changed)
    }
}

/// A decided change.
struct ProfileChange {
    /// The row before the change, also of a deleted profile.
    known: Option<AgentProfile>,
    spec: AgentProfileSpec,
    action: &'static str,
}

fn require_admin(caller: &Caller) -> Result<(), AgentProfileError> {
    if caller.is_admin { Ok(()) } else { Err(AgentProfileError::NotAdmin) }
}

fn not_found(name: &str) -> AgentProfileError {
    AgentProfileError::NotFound(name.chars().take(100).collect())
}

async fn find_profile(tx: &mut Tx, name: &str) -> Result<AgentProfile, AgentProfileError> {
    tx.agent_profile_get(name).await?.ok_or_else(|| not_found(name))
}

async fn render_profile(
    tx: &mut Tx,
    profile: AgentProfile,
) -> Result<AgentProfileView, AgentProfileError> {
    let name = profile.name.to_string();
    let views = profile_views(tx, vec![profile], ShownChecks::All).await?;
    views.into_iter().next().ok_or_else(|| not_found(&name))
}

async fn record_change(
    tx: &mut Tx,
    caller: &Caller,
    action: &'static str,
    resource: String,
    at: chrono::DateTime<chrono::Utc>,
) -> Result<(), AgentProfileError> {
    let change = AccessChange {
        by: Some(caller.user),
        action,
        resource_type: "agent_profile",
        resource,
        allowed: true,
        reason: None,
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
}
