//! `creds`: credentials for providers. Secrets come from standard input or a hidden prompt, never from
//! the command line, and are never shown.

use std::io::{self, IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use cynode_domain::ids::CredentialId;
use cynode_domain::model::{CredentialKind, CredentialOwner};
use cynode_wire::credentials::{CredentialView, GivenSecret, RotateCredential, SetCredential};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// Credentials for model providers: secrets go in, sealed, and never come out.
#[derive(Debug, Subcommand)]
pub enum CredsCommand {
    /// List credentials, without their secrets.
    List,
    /// Keep a credential; asks for the secret, or reads it from standard input.
    ///
    /// Example: `cynork creds set anthropic --system < key.txt`
    Set(SetArgs),
    /// Replace the secret of a credential; asks for it, or reads it from standard input.
    Rotate {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
    },
    /// Remove a credential.
    Remove {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
    },
    /// Seal every credential with a new key. Administrators only.
    RotateKey,
}

/// A credential to keep.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// For which provider.
    provider: String,
    /// Its name, to tell several apart.
    #[arg(long, default_value = "default")]
    name: String,
    /// For everybody who has none of their own. Administrators only.
    #[arg(long)]
    system: bool,
    /// What it is: `api_key`, `oauth_token` or `bearer_token`.
    #[arg(long = "type", value_name = "TYPE", default_value = "api_key")]
    kind: CredentialKind,
}

/// Does what the command says.
pub(crate) async fn run(command: CredsCommand, app: &mut App) -> Result<(), Failure> {
    let view = match command {
        CredsCommand::List => {
            let all = list(app).await?;
            return app.out.show(&all, |all, look| render(all, look));
        }
        CredsCommand::Set(args) => {
            let owner = if args.system { CredentialOwner::System } else { CredentialOwner::User };
            let body = SetCredential {
                owner_type: Some(owner),
                owner_id: None,
                provider: args.provider,
                name: Some(args.name),
                credential_type: Some(args.kind),
                secret: secret()?,
                expires_at: None,
            };
            app.session.call(async |client| client.credential_set(&body).await).await?
        }
        CredsCommand::Rotate { credential } => {
            let id = find(&credential, &list(app).await?)?;
            let body = RotateCredential { secret: secret()?, expires_at: None };
            app.session.call(async |client| client.credential_rotate(id, &body).await).await?
        }
        CredsCommand::Remove { credential } => {
            let id = find(&credential, &list(app).await?)?;
            app.session.call(async |client| client.credential_remove(id).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"id": id, "removed": true}))?;
            }
            app.out.say(&format!("credential {id} is removed"));
            return Ok(());
        }
        CredsCommand::RotateKey => {
            let done =
                app.session.call(async |client| client.credential_key_rotate().await).await?;
            return app.out.show(&done, |done, look| {
                let sealed = Some(done.credentials.to_string());
                table::pairs(&[("key", Some(done.key_id.clone())), ("sealed anew", sealed)], look)
            });
        }
    };
    app.out.show(&view, |view, look| render(std::slice::from_ref(view), look))
}

async fn list(app: &mut App) -> Result<Vec<CredentialView>, Failure> {
    app.session.call(async |client| client.credential_list().await).await
}

/// The secret: typed without being shown, or from standard input.
fn secret() -> Result<GivenSecret, Failure> {
    if io::stdin().is_terminal() {
        return Ok(GivenSecret(rpassword::prompt_password("secret: ")?));
    }
    let mut text = String::new();
    io::stdin().lock().take(MAX_SECRET_BYTES).read_to_string(&mut text)?;
    let secret = text.trim();
    if secret.is_empty() {
        let advice = "standard input is empty; give the secret there, for example \
                      `cynork creds set anthropic < key.txt`";
        return Err(Failure::Usage(advice.to_owned()));
    }
    Ok(GivenSecret(secret.to_owned()))
}

/// The credential that is meant: by id, or the only one for a provider.
fn find(wanted: &str, all: &[CredentialView]) -> Result<CredentialId, Failure> {
    if let Ok(id) = wanted.parse() {
        return Ok(id);
    }
    let mut found = all.iter().filter(|view| view.provider == wanted);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => {
            Err(Failure::NotFound(format!("you have no credential for provider \"{wanted}\"")))
        }
        (Some(_), Some(_)) => Err(Failure::Usage(format!(
            "there are several credentials for \"{wanted}\": name one by its id, see `cynork creds list`"
        ))),
    }
}

fn render(all: &[CredentialView], look: Look) -> String {
    let rows = all.iter().map(|view| {
        let state = match view.expires_at {
            _ if !view.is_active => "inactive".to_owned(),
            Some(end) if end <= look.now => "expired".to_owned(),
            Some(end) => format!("until {}", end.format("%Y-%m-%d %H:%M")),
            None => "active".to_owned(),
        };
        vec![
            view.provider.clone(),
            view.name.clone(),
            view.owner_type.to_string(),
            view.credential_type.to_string(),
            state,
            view.key_id.clone(),
            age::ago(look.now, view.updated_at),
            view.id.to_string(),
        ]
    });
    let header = ["PROVIDER", "NAME", "OWNER", "TYPE", "STATE", "KEY", "SET", "ID"];
    table::rows(&header, rows, look)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    fn view(number: u128, provider: &str, owner: CredentialOwner) -> CredentialView {
        CredentialView {
            id: CredentialId::from(uuid::Uuid::from_u128(number)),
            owner_type: owner,
            owner_id: None,
            provider: provider.to_owned(),
            name: "default".to_owned(),
            credential_type: CredentialKind::ApiKey,
            key_id: "0123456789ab".to_owned(),
            is_active: true,
            expires_at: (number == 2).then_some(DateTime::UNIX_EPOCH),
            version: 1,
            updated_by: None,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_credential_is_named_by_its_provider_when_only_one_is_there() {
        let user = CredentialOwner::User;
        let all = [view(1, "a", user), view(2, "b", user), view(3, "b", user)];

        assert_eq!(find("a", &all).unwrap(), all[0].id);
        assert_eq!(find(&all[1].id.to_string(), &all).unwrap(), all[1].id);
        assert_eq!(find("b", &all).unwrap_err().code(), 2);
        assert_eq!(find("c", &all).unwrap_err().code(), 4);
    }

    #[test]
    fn credentials_are_listed_without_anything_secret() {
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let all = [
            view(1, "anthropic", CredentialOwner::User),
            view(2, "openai", CredentialOwner::System),
        ];

        insta::assert_snapshot!(render(&all, look));
    }
}
