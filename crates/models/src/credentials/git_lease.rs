//! Credentials of git hosts, leased to a worker node for one operation.
//!
//! The provider of such a credential is `git:` and the host, with the port if it is not the usual one. So a credential is
//! sent to the host it was set for and to no other, whatever the repository of a task is.

use cynode_domain::git::{RepositoryUrl, Transport};
use cynode_domain::model::CredentialKind;
use cynode_execution::nodes::JobRepository;
use cynode_store::{AccessChange, Credential};
use cynode_wire::git::GitCredentialLease;
use secrecy::ExposeSecret as _;

use super::{CREDENTIAL, CredentialError, CredentialManager};

/// What the provider of a git credential starts with.
pub(super) const GIT_PREFIX: &str = "git:";
/// The user name of a token that names none. Forges ignore it.
const TOKEN_USER: &str = "git";

impl CredentialManager {
    /// Opens the credential of the user for the repository's host, and records that; `None` if there is none.
    pub async fn lease_git(
        &self,
        repository: &JobRepository,
    ) -> Result<Option<GitCredentialLease>, CredentialError> {
        let (Some(provider), Some(kind)) =
            (provider_name(&repository.url), needed_kind(&repository.url))
        else {
            return Ok(None);
        };
        let (user, task) = (repository.user, repository.task);
        let (mut rows, groups) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, CredentialError>((
                        tx.credential_list().await?,
                        tx.groups_of(user).await?,
                    ))
                })
            })
            .await?;
        rows.retain(|row| row.kind == kind);
        if let Some(name) = &repository.credential {
            rows.retain(|row| row.name == *name);
        }
        let Some(row) = self.select_row(&rows, &provider, user, &groups) else {
            return match &repository.credential {
                None => Ok(None),
                // Another credential is not used instead: it may have more rights.
                Some(name) => Err(CredentialError::Invalid(format!(
                    "the user of the task has no {kind} \"{name}\" for {provider}: set it with `cynork creds set {provider} --name {name} --type {kind}`"
                ))),
            };
        };
        let lease = self.open_lease(row)?;
        let change = AccessChange {
            by: Some(user),
            action: "credential.lease",
            resource_type: CREDENTIAL,
            resource: row.id.to_string(),
            allowed: true,
            reason: Some(format!("{} {} for {}", row.owner, row.name, row.provider)),
            task: Some(task),
            at: self.clock.now(),
        };
        // What is not recorded is not leased.
        self.store
            .write(move |tx| Box::pin(async move { tx.access_change_append(&change).await }))
            .await?;
        Ok(Some(lease))
    }

    fn open_lease(&self, row: &Credential) -> Result<GitCredentialLease, CredentialError> {
        let secret = self.decrypt(row)?;
        let secret = secret.expose_secret();
        Ok(if row.kind == CredentialKind::SshKey {
            GitCredentialLease::SshKey { private_key: secret.to_owned(), known_hosts: None }
        } else {
            let (username, password) = secret.split_once(':').unwrap_or((TOKEN_USER, secret));
            GitCredentialLease::Password {
                username: username.to_owned(),
                password: password.to_owned(),
            }
        })
    }
}

/// The provider whose credential a repository needs; `None` for a path of a node.
fn provider_name(url: &RepositoryUrl) -> Option<String> {
    let (host, port) = url.host_and_port()?;
    let host = host.to_ascii_lowercase();
    let is_usual = match url.transport() {
        Transport::Https => port == 443,
        // A credential for https is not sent in clear text: http needs one for its port.
        Transport::Http => false,
        Transport::Ssh => port == 22,
        Transport::Local => return None,
    };
    Some(if is_usual {
        format!("{GIT_PREFIX}{host}")
    } else {
        format!("{GIT_PREFIX}{host}:{port}")
    })
}

fn needed_kind(url: &RepositoryUrl) -> Option<CredentialKind> {
    match url.transport() {
        Transport::Https | Transport::Http => Some(CredentialKind::Password),
        Transport::Ssh => Some(CredentialKind::SshKey),
        Transport::Local => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_belongs_to_one_host_and_port() {
        for (url, provider) in [
            ("https://Git.Example.com/app", Some("git:git.example.com")),
            ("https://git.example.com:8443/app", Some("git:git.example.com:8443")),
            ("git@git.example.com:team/app", Some("git:git.example.com")),
            ("ssh://git@git.example.com:2222/app", Some("git:git.example.com:2222")),
            ("http://git.example.com/app", Some("git:git.example.com:80")),
            ("/srv/app", None),
        ] {
            let url = url.to_owned().try_into().unwrap();
            assert_eq!(provider_name(&url).as_deref(), provider, "{url}");
        }
    }
}
