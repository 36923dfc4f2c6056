//! Forges of projects' repositories: which API, which token, and who may use them.
//!
//! Start at [`ForgeService`]. A token is sealed with the address that it is sent to, so that a changed row sends it nowhere
//! else. Requests to a forge are made outside of transactions.

mod intake;
mod open;
mod set;
mod webhook;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cynode_domain::forge::{
    FORGE_REPOSITORY_RESOURCE, ForgeApiKind, ForgeSettings, OPEN_PULL_REQUEST_ACTION,
};
use cynode_domain::git::RepositoryUrl;
use cynode_domain::ids::{ForgeId, ProjectId, UserId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::Principal;
use cynode_domain::policy::network::ALLOWED_NETWORKS_SETTING;
use cynode_domain::policy::rules::{Access, evaluate};
use cynode_execution::tasks::TaskError;
use cynode_forge::{Forge, ForgeInstance, ForgeKind, ForgeLimits, ForgeOptions, RepositoryPath};
use cynode_network::{NetworkReach, parse_openings};
use cynode_resources::sealed_values::open_value;
use cynode_resources::servers::SecretSealer;
use cynode_resources::{Caller, projects};
use cynode_runtime::clock::SharedClock;
use cynode_store::{ProjectForge, Store, Tx};
use secrecy::SecretString;

use crate::RequestError;

pub use webhook::WebhookOutcome;

/// The project of a caller who names none.
const DEFAULT_PROJECT: &str = "default";

/// A secret of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForgeSecret {
    /// The API token.
    Token,
    /// What signs the deliveries of the webhook.
    Webhook,
}

/// Configured forges. Cheap to clone.
#[derive(Clone)]
pub struct ForgeService {
    store: Store,
    clock: SharedClock,
    sealer: Arc<dyn SecretSealer>,
}

/// A forge that is ready for requests, and the repository on it.
pub(crate) struct ForgeConnection {
    pub(crate) forge: Forge,
    pub(crate) repository: RepositoryPath,
    pub(crate) row: ProjectForge,
}

impl ForgeService {
    pub fn new(store: Store, clock: SharedClock, sealer: Arc<dyn SecretSealer>) -> Self {
        Self { store, clock, sealer }
    }

    /// Connects to the forge of a repository; fails if the project has none for it.
    pub(crate) async fn connect(
        &self,
        project: ProjectId,
        repository: &RepositoryUrl,
    ) -> Result<ForgeConnection, RequestError> {
        let url = repository.clone();
        let row = self.store.read(move |tx| {
            Box::pin(async move {
                let all = tx.forge_list(project).await?;
                Ok::<_, RequestError>(all.into_iter().find(|row| row.repository == url))
            })
        });
        let row = row.await?.ok_or_else(|| no_forge(repository))?;
        self.connect_to(row).await
    }

    async fn connect_to(&self, row: ProjectForge) -> Result<ForgeConnection, RequestError> {
        let reach = if row.settings.is_internal {
            NetworkReach::Anywhere
        } else {
            let setting = self.store.read(|tx| {
                Box::pin(async move {
                    Ok::<_, RequestError>(tx.setting_get(ALLOWED_NETWORKS_SETTING).await?)
                })
            });
            NetworkReach::Public(parse_openings(
                setting.await?.map(|setting| setting.value).as_ref(),
            ))
        };
        let instance = instance(&row.settings)?;
        let repository = row.settings.path.parse()?;
        let token = self.open_secret(&row, ForgeSecret::Token).await?;
        let options = ForgeOptions {
            instance,
            token,
            reach,
            limits: ForgeLimits::default(),
            clock: self.clock.clone(),
        };
        Ok(ForgeConnection { forge: Forge::new(&options)?, repository, row })
    }

    async fn open_secret(
        &self,
        row: &ProjectForge,
        secret: ForgeSecret,
    ) -> Result<SecretString, RequestError> {
        let name = secret_name(row.id, &row.settings, secret);
        let sealed = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.sealed_value_get(&name).await?) })
        });
        let sealed = sealed.await?.ok_or_else(|| {
            let url = &row.repository;
            RequestError::Invalid(vec![format!(
                "the forge of {url} has no token for its address: set it with `cynork forge set`"
            )])
        })?;
        open_value(self.sealer.as_ref(), &sealed)
            .map_err(|error| RequestError::Sealing(error.to_string()))
    }

    /// Fails unless the project has a forge for the repository, and a rule allows pull requests there.
    pub(crate) async fn check_pull_requests(
        &self,
        (user, project): (UserId, ProjectId),
        repository: &RepositoryUrl,
    ) -> Result<(), RequestError> {
        let url = repository.clone();
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                let all = tx.forge_list(project).await?;
                let row = all.into_iter().find(|row| row.repository == url);
                let row = row.ok_or_else(|| no_forge(&url))?;
                if is_pull_request_allowed(tx, user, &row).await? {
                    return Ok(());
                }
                Err(RequestError::NoPullRequestRule {
                    resource: row.settings.resource_name(),
                    project,
                })
            })
        });
        found.await
    }
}

/// The project that a caller names, or their default one, which is created on first use.
async fn resolve_project(
    store: &Store,
    caller: &Caller,
    name: Option<&NameOrId<ProjectId>>,
    now: DateTime<Utc>,
) -> Result<ProjectId, RequestError> {
    let is_default = |name: &NameOrId<ProjectId>| matches!(name, NameOrId::Name(name) if name.eq_ignore_ascii_case(DEFAULT_PROJECT));
    let (caller, name) = (caller.clone(), name.cloned().filter(|name| !is_default(name)));
    let found = store.write(move |tx| {
        Box::pin(async move {
            let Some(name) = name else {
                let user = caller.user;
                let project = projects::load_or_create_default_project(tx, user, now).await?;
                return Ok::<_, RequestError>(project.id);
            };
            let found = projects::find(tx, &caller, &name).await;
            Ok(found.map_err(TaskError::from)?.id)
        })
    });
    found.await
}

/// Whether a rule allows pull requests of this user in the repository of a forge: default deny, any deny wins.
async fn is_pull_request_allowed(
    tx: &mut Tx,
    user: UserId,
    row: &ProjectForge,
) -> Result<bool, RequestError> {
    let (rules, groups) = (tx.rule_list_enforced().await?, tx.groups_of(user).await?);
    let resource = row.settings.resource_name();
    let access = Access {
        caller: Principal::User,
        user: Some(user),
        groups: &groups,
        project: Some(row.project),
        task: None,
        action: OPEN_PULL_REQUEST_ACTION,
        resource_type: FORGE_REPOSITORY_RESOURCE,
        resource: &resource,
        server: None,
    };
    Ok(evaluate(&rules, &access).is_allowed())
}

fn no_forge(repository: &RepositoryUrl) -> RequestError {
    RequestError::NoForge { repository: repository.to_string() }
}

fn instance(settings: &ForgeSettings) -> Result<ForgeInstance, RequestError> {
    Ok(ForgeInstance::new(forge_kind(settings.kind), &settings.base_url)?)
}

const fn forge_kind(kind: ForgeApiKind) -> ForgeKind {
    match kind {
        ForgeApiKind::Github => ForgeKind::Github,
        ForgeApiKind::Gitlab => ForgeKind::Gitlab,
        ForgeApiKind::Gitea => ForgeKind::Gitea,
    }
}

const fn api_kind(kind: ForgeKind) -> ForgeApiKind {
    match kind {
        ForgeKind::Github => ForgeApiKind::Github,
        ForgeKind::Gitlab => ForgeApiKind::Gitlab,
        ForgeKind::Gitea => ForgeApiKind::Gitea,
    }
}

/// The name that a secret is sealed under. It contains the address: a token is opened for no other one.
fn secret_name(id: ForgeId, settings: &ForgeSettings, secret: ForgeSecret) -> String {
    match secret {
        ForgeSecret::Token => {
            format!("forge/{id}/token/{}/{}", settings.kind, settings.base_url)
        }
        ForgeSecret::Webhook => format!("forge/{id}/webhook/{}", settings.kind),
    }
}
