//! Setting, listing and removing the forges of a project.

use cynode_domain::forge::{ForgeSettings, MAX_ISSUE_LABEL_BYTES};
use cynode_domain::git::{RepositoryUrl, Transport};
use cynode_domain::ids::{ForgeId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_forge::address::parse_repository;
use cynode_forge::{ForgeInstance, RepositoryAddress, RepositoryPath};
use cynode_resources::Caller;
use cynode_resources::sealed_values::seal_value;
use cynode_store::{AccessChange, ProjectForge, SealedValue, Tx};
use cynode_wire::credentials::GivenSecret;
use cynode_wire::forges::{ForgeView, SetForge};
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

use super::{ForgeSecret, ForgeService, api_kind, forge_kind, resolve_project, secret_name};
use crate::RequestError;

/// Resource type in the change log.
const FORGE: &str = "project_forge";
const MAX_SECRET_BYTES: usize = 16 * 1024;
/// A shorter secret of a webhook can be guessed.
const MIN_WEBHOOK_SECRET_BYTES: usize = 16;
/// Forges of one project.
const MAX_FORGES: usize = 1_000;

impl ForgeService {
    /// Sets the forge of a repository of a project, with its secrets. For the owner of the project and administrators.
    pub async fn set(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        body: SetForge,
    ) -> Result<ForgeView, RequestError> {
        if body.is_internal && !caller.is_admin {
            return Err(RequestError::Forbidden(
                "only an administrator may set a forge in an internal network",
            ));
        }
        let project = resolve_project(&self.store, caller, Some(project), self.clock.now()).await?;
        let (repository, settings, secrets) = validate(body)?;
        let earlier = self.find_row(project, &repository).await?;
        let now = self.clock.now();
        let row = ProjectForge {
            id: earlier.as_ref().map_or_else(ForgeId::generate, |row| row.id),
            project,
            repository,
            settings,
            has_webhook: secrets.webhook.is_some(),
            updated_by: caller.user,
            created_at: earlier.as_ref().map_or(now, |row| row.created_at),
            updated_at: now,
        };
        let mut sealed = vec![self.seal(&row, ForgeSecret::Token, &secrets.token).await?];
        if let Some(secret) = &secrets.webhook {
            sealed.push(self.seal(&row, ForgeSecret::Webhook, secret).await?);
        }
        let view = forge_view(row.clone());
        let change = change(caller, "forge.set", &row);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if earlier.is_none() && tx.forge_list(row.project).await?.len() >= MAX_FORGES {
                        let fault = format!("the project has {MAX_FORGES} forges: remove one");
                        return Err(RequestError::Invalid(vec![fault]));
                    }
                    if let Some(earlier) = &earlier {
                        delete_secrets(tx, earlier).await?;
                    }
                    // The same repository may be set at the same time.
                    if !tx.forge_put(&row).await? {
                        return Err(RequestError::ForgeChanged);
                    }
                    for value in &sealed {
                        tx.sealed_value_put(value).await?;
                    }
                    Ok(tx.access_change_append(&change).await?)
                })
            })
            .await?;
        Ok(view)
    }

    /// Lists the forges of a project, without their secrets.
    pub async fn list(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
    ) -> Result<Vec<ForgeView>, RequestError> {
        let project = resolve_project(&self.store, caller, Some(project), self.clock.now()).await?;
        let rows = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.forge_list(project).await?) })
        });
        Ok(rows.await?.into_iter().map(forge_view).collect())
    }

    /// Removes a forge and its secrets. Requests that need it ask a person.
    pub async fn remove(&self, caller: &Caller, id: ForgeId) -> Result<(), RequestError> {
        let caller = caller.clone();
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let missing = || RequestError::NoSuchForge;
                    let row = tx.forge_get(id).await?.ok_or_else(missing)?;
                    let project = tx.project_get(row.project).await?.ok_or_else(missing)?;
                    if !caller.may_see(project.owner) {
                        return Err(missing());
                    }
                    delete_secrets(tx, &row).await?;
                    tx.forge_delete(id).await?;
                    let change = AccessChange { at: now, ..change(&caller, "forge.remove", &row) };
                    Ok(tx.access_change_append(&change).await?)
                })
            })
            .await
    }

    async fn find_row(
        &self,
        project: ProjectId,
        repository: &RepositoryUrl,
    ) -> Result<Option<ProjectForge>, RequestError> {
        let url = repository.clone();
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                let all = tx.forge_list(project).await?;
                Ok::<_, RequestError>(all.into_iter().find(|row| row.repository == url))
            })
        });
        found.await
    }

    async fn seal(
        &self,
        row: &ProjectForge,
        kind: ForgeSecret,
        secret: &SecretString,
    ) -> Result<SealedValue, RequestError> {
        seal_value(self.sealer.as_ref(), secret_name(row.id, &row.settings, kind), secret)
            .await
            .map_err(|error| RequestError::Sealing(error.to_string()))
    }
}

/// The secrets of a request.
struct GivenSecrets {
    token: SecretString,
    webhook: Option<SecretString>,
}

async fn delete_secrets(tx: &mut Tx, row: &ProjectForge) -> Result<(), RequestError> {
    for secret in [ForgeSecret::Token, ForgeSecret::Webhook] {
        tx.sealed_value_delete(&secret_name(row.id, &row.settings, secret)).await?;
    }
    Ok(())
}

fn change(caller: &Caller, action: &'static str, row: &ProjectForge) -> AccessChange {
    AccessChange {
        by: Some(caller.user),
        action,
        resource_type: FORGE,
        resource: row.id.to_string(),
        allowed: true,
        reason: Some(format!("{} for {}", row.settings.resource_name(), row.repository)),
        task: None,
        at: row.updated_at,
    }
}

fn validate(body: SetForge) -> Result<(RepositoryUrl, ForgeSettings, GivenSecrets), RequestError> {
    let RepositoryAddress { instance, path } = locate(&body)?;
    let label = body.issue_label.map(|label| label.trim().to_owned());
    if label.as_ref().is_some_and(|text| text.is_empty() || text.len() > MAX_ISSUE_LABEL_BYTES) {
        let fault = format!("issue_label must have 1 to {MAX_ISSUE_LABEL_BYTES} bytes");
        return Err(RequestError::Invalid(vec![fault]));
    }
    let settings = ForgeSettings {
        kind: api_kind(instance.kind),
        base_url: instance.base_url.as_str().trim_end_matches('/').to_owned(),
        path: path.to_string(),
        is_internal: body.is_internal,
        base_branch: body.base_branch,
        issue_label: label,
        comments_on_issues: body.comments_on_issues,
    };
    let webhook = body
        .webhook_secret
        .map(|secret| validate_secret("webhook_secret", MIN_WEBHOOK_SECRET_BYTES, secret));
    let secrets = GivenSecrets {
        token: validate_secret("token", 1, body.token)?,
        webhook: webhook.transpose()?,
    };
    Ok((body.repository, settings, secrets))
}

/// The forge and the path of a repository, as configured, or derived where that is certain.
fn locate(body: &SetForge) -> Result<RepositoryAddress, RequestError> {
    let url = &body.repository;
    let configured = match (body.kind, &body.base_url) {
        (Some(kind), Some(base_url)) => Some(ForgeInstance::new(forge_kind(kind), base_url)?),
        (None, None) => None,
        _ => {
            let fault = "kind and base_url belong together: give both, or none for a repository on a public forge";
            return Err(RequestError::Invalid(vec![fault.to_owned()]));
        }
    };
    let path: Option<RepositoryPath> = body.path.as_deref().map(str::parse).transpose()?;
    if let (Some(instance), Some(path)) = (&configured, &path) {
        return Ok(RepositoryAddress { instance: instance.clone(), path: path.clone() });
    }
    if url.transport() == Transport::Local {
        let fault = format!("{url} is a path: give kind, base_url and path of its forge");
        return Err(RequestError::Invalid(vec![fault]));
    }
    let known: Vec<ForgeInstance> = configured.clone().into_iter().collect();
    let found = parse_repository(url.as_str(), &known)?;
    let instance = configured.unwrap_or(found.instance);
    Ok(RepositoryAddress { instance, path: path.unwrap_or(found.path) })
}

fn validate_secret(
    what: &str,
    min_bytes: usize,
    given: GivenSecret,
) -> Result<SecretString, RequestError> {
    let given = Zeroizing::new(given.0);
    let text = given.trim();
    let is_sound = (min_bytes..=MAX_SECRET_BYTES).contains(&text.len())
        && text.chars().all(|letter| letter.is_ascii_graphic());
    if is_sound {
        return Ok(SecretString::from(text));
    }
    Err(RequestError::Invalid(vec![format!(
        "{what} must have {min_bytes} to {MAX_SECRET_BYTES} visible ASCII characters without spaces"
    )]))
}

fn forge_view(row: ProjectForge) -> ForgeView {
    ForgeView {
        id: row.id,
        project_id: row.project,
        repository: row.repository,
        has_webhook: row.has_webhook,
        webhook_path: format!("/v1/forges/{}/webhook", row.id),
        resource: row.settings.resource_name(),
        settings: row.settings,
        updated_by: row.updated_by,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::forge::ForgeApiKind;

    use super::*;

    fn body(repository: &str) -> SetForge {
        SetForge {
            repository: repository.to_owned().try_into().unwrap(),
            kind: None,
            base_url: None,
            path: None,
            is_internal: false,
            base_branch: None,
            issue_label: None,
            comments_on_issues: false,
            token: GivenSecret("t0ken".to_owned()),
            webhook_secret: None,
        }
    }

    fn address(body: &SetForge) -> String {
        match locate(body) {
            Ok(RepositoryAddress { instance, path }) => {
                format!("{} {} {path}", instance.kind, instance.base_url)
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_forge_of_a_repository_is_derived_only_where_that_is_certain() {
        for (url, expected) in [
            ("https://github.com/team/shop.git", "github https://github.com/ team/shop"),
            ("git@gitlab.com:group/sub/shop.git", "gitlab https://gitlab.com/ group/sub/shop"),
            ("https://codeberg.org/team/shop", "gitea https://codeberg.org/ team/shop"),
        ] {
            assert_eq!(address(&body(url)), expected, "{url}");
        }
        for url in ["https://git.example.com/team/shop", "/srv/shop"] {
            assert!(locate(&body(url)).is_err(), "{url}");
        }
    }

    #[test]
    fn a_forge_of_ones_own_is_configured() {
        let own = SetForge {
            kind: Some(ForgeApiKind::Gitea),
            base_url: Some("https://git.example.com/".to_owned()),
            ..body("https://git.example.com/team/shop.git")
        };
        assert_eq!(address(&own), "gitea https://git.example.com/ team/shop");
        let path = SetForge {
            path: Some("team/shop".to_owned()),
            repository: "/srv/shop".to_owned().try_into().unwrap(),
            ..own.clone()
        };
        assert_eq!(address(&path), "gitea https://git.example.com/ team/shop");
        let half = SetForge { base_url: None, ..own };
        assert!(address(&half).contains("belong together"), "{}", address(&half));
    }

    #[test]
    fn secrets_that_are_no_secrets_are_rejected_without_showing_them() {
        for (token, webhook) in [("", None), ("with space", None), ("t0ken", Some("too-short"))] {
            let wrong = SetForge {
                token: GivenSecret(token.to_owned()),
                webhook_secret: webhook.map(|text| GivenSecret(text.to_owned())),
                ..body("https://github.com/team/shop")
            };
            let error = validate(wrong).err().unwrap().to_string();
            assert!(!error.contains("with space") && !error.contains("too-short"), "{error}");
        }
    }
}
