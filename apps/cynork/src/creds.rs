//! `creds`: credentials for providers. Secrets come from standard input or a hidden prompt, never from
//! the command line, and are never shown.

mod expiry;

use std::io::{self, IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use cynode_domain::ids::CredentialId;
use cynode_domain::model::{CredentialKind, CredentialOwner};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::credentials::{
    CredentialView, Expiry, GivenSecret, RotateCredential, SetCredential, UpdateCredential,
};
use serde_json::json;

use self::expiry::Until;
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::history::HistoryArgs;
use crate::out::Look;
use crate::{age, groups, history, table};

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
    /// Show one credential, without its secret.
    #[command(visible_alias = "get")]
    Show {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
    },
    /// Keep a credential, but do not use it.
    Disable {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
    },
    /// Use a credential again.
    Enable {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
    },
    /// Replace the secret of a credential; asks for it, or reads it from standard input.
    ///
    /// Until when it is used stays as it is, unless --expires says otherwise.
    Rotate {
        /// The credential, by id, or by provider if there is one for it.
        credential: String,
        /// Until when the new secret is used: 2027-01-31, 90d, or never [default: as before].
        #[arg(long, value_name = "WHEN", value_parser = expiry::parse)]
        expires: Option<Until>,
    },
    /// Show who set, changed and removed a credential, newest first.
    ///
    /// Without a credential: the changes of all of them. Administrators only.
    History {
        /// The credential, by id, or by provider if there is one for it.
        credential: Option<String>,
        /// How much of it.
        #[command(flatten)]
        page: HistoryArgs,
    },
    /// Remove a credential.
    #[command(visible_alias = "delete")]
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
    #[arg(long, conflicts_with = "group")]
    system: bool,
    /// For the members of a group, by name or id, who have none of their own. Administrators only.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// What it is: `api_key`, `oauth_token` or `bearer_token`.
    #[arg(long = "type", value_name = "TYPE", default_value = "api_key")]
    kind: CredentialKind,
    /// Until when it is used: 2027-01-31, 90d, or never.
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry::parse)]
    expires: Until,
}

/// Does what the command says.
pub(crate) async fn run(command: CredsCommand, app: &mut App) -> Result<(), Failure> {
    let view = match command {
        CredsCommand::List => {
            let all = list(app).await?;
            return app.out.list(all, render);
        }
        CredsCommand::Set(args) => {
            let (owner, owner_id) = match &args.group {
                Some(group) => {
                    let id = groups::id_of(app, group).await?;
                    (CredentialOwner::Group, Some(id.as_uuid()))
                }
                None if args.system => (CredentialOwner::System, None),
                None => (CredentialOwner::User, None),
            };
            let body = SetCredential {
                owner_type: Some(owner),
                owner_id,
                provider: args.provider,
                name: Some(args.name),
                credential_type: Some(args.kind),
                expires_at: args.expires.expiry(app.out.look().now).into(),
                secret: secret()?,
            };
            let view = app.session.call(async |client| client.credential_set(&body).await).await?;
            mind_the_name(&view.provider, app).await;
            view
        }
        CredsCommand::Show { credential } => {
            let id = find(&credential, &list(app).await?)?;
            let view = app.session.call(async |client| client.credential_get(id).await).await?;
            return app.out.show(&view, render_one);
        }
        CredsCommand::Disable { credential } => switch(&credential, false, app).await?,
        CredsCommand::Enable { credential } => switch(&credential, true, app).await?,
        CredsCommand::History { credential, page } => return history(credential, page, app).await,
        CredsCommand::Rotate { credential, expires } => {
            let id = find(&credential, &list(app).await?)?;
            let now = app.out.look().now;
            let expires_at = expires.map_or(Expiry::Kept, |until| until.expiry(now));
            let body = RotateCredential { secret: secret()?, expires_at };
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

/// Says so if nothing has the name that a credential is for: it may be misspelt.
async fn mind_the_name(provider: &str, app: &mut App) {
    // Whoever may not see the providers cannot be told, and the credential is kept all the same.
    let Ok(all) = app.session.call(async |client| client.provider_list().await).await else {
        return;
    };
    if !all.iter().any(|known| known.name == provider) {
        app.out.say(&format!(
            "no provider is called \"{provider}\" yet; `cynork models providers` lists those there are"
        ));
    }
}

async fn list(app: &mut App) -> Result<Vec<CredentialView>, Failure> {
    app.session.call(async |client| client.credential_list().await).await
}

async fn switch(
    credential: &str,
    is_active: bool,
    app: &mut App,
) -> Result<CredentialView, Failure> {
    let id = find(credential, &list(app).await?)?;
    let body = UpdateCredential { is_active: Some(is_active), ..UpdateCredential::default() };
    app.session.call(async |client| client.credential_update(id, &body).await).await
}

async fn history(
    credential: Option<String>,
    page: HistoryArgs,
    app: &mut App,
) -> Result<(), Failure> {
    let query = page.page();
    let page = if let Some(credential) = credential {
        let id = find(&credential, &list(app).await?)?;
        app.session.call(async |client| client.credential_changes(id, &query).await).await?
    } else {
        let query = ChangeQuery::of("api_credential", query);
        app.session.call(async |client| client.access_changes(&query).await).await?
    };
    history::show(&page, app)
}

/// The secret: typed without being shown, or from standard input.
fn secret() -> Result<GivenSecret, Failure> {
    if io::stdin().is_terminal() {
        return typed(rpassword::prompt_password("secret: "));
    }
    let mut text = String::new();
    // One byte more than a secret has, so that a longer one is refused and not cut.
    let read = io::stdin().lock().take(MAX_SECRET_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::Usage(format!("standard input cannot be read: {error}")))?;
    given(&text).ok_or_else(|| {
        let advice = "standard input is empty; give the secret there, for example \
                      `cynork creds set anthropic < key.txt`";
        Failure::Usage(advice.to_owned())
    })
}

/// What was typed: a person who types nothing, or Ctrl-D, has changed their mind.
fn typed(answer: io::Result<String>) -> Result<GivenSecret, Failure> {
    let none = || Failure::Usage("no secret was given".to_owned());
    match answer {
        Ok(text) => given(&text).ok_or_else(none),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(none()),
        Err(error) => Err(Failure::Usage(format!("the secret cannot be read: {error}"))),
    }
}

fn given(text: &str) -> Option<GivenSecret> {
    let secret = text.trim();
    (!secret.is_empty()).then(|| GivenSecret(secret.to_owned()))
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

fn state(view: &CredentialView, look: Look) -> String {
    match view.expires_at {
        _ if !view.is_active => "disabled".to_owned(),
        Some(end) if end <= look.now => "expired".to_owned(),
        Some(end) => format!("until {}", end.format("%Y-%m-%d %H:%M")),
        None => "active".to_owned(),
    }
}

fn render_one(view: &CredentialView, look: Look) -> String {
    let pairs = [
        ("credential", Some(view.id.to_string())),
        ("provider", Some(view.provider.clone())),
        ("name", Some(view.name.clone())),
        ("owner", Some(view.owner_type.to_string())),
        ("owner id", view.owner_id.map(|id| id.to_string())),
        ("type", Some(view.credential_type.to_string())),
        ("state", Some(state(view, look))),
        ("key", Some(view.key_id.clone())),
        ("version", Some(view.version.to_string())),
        ("set", Some(age::ago(look.now, view.updated_at))),
        ("set by", view.updated_by.map(|id| id.to_string())),
    ];
    table::pairs(&pairs, look)
}

fn render(all: &[CredentialView], look: Look) -> String {
    let rows = all.iter().map(|view| {
        vec![
            view.provider.clone(),
            view.name.clone(),
            view.owner_type.to_string(),
            view.credential_type.to_string(),
            state(view, look),
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
    fn who_types_no_secret_is_told_so() {
        let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
        for answer in [Ok(String::new()), Ok("  ".to_owned()), Err(ended())] {
            let failure = typed(answer).map(drop).unwrap_err();
            assert_eq!(
                (failure.to_string(), failure.code()),
                ("no secret was given".to_owned(), 2)
            );
        }
        assert_eq!(typed(Ok(" word\n".to_owned())).unwrap().0, "word");
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
