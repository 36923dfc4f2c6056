//! `creds`: credentials for model providers and git hosts. Secrets come from standard input or a hidden prompt, never from
//! the command line, and are never printed.

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

use self::expiry::ExpiryArg;
use crate::groups;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// Manage credentials for model providers and git hosts. Secrets are encrypted and never shown.
#[derive(Debug, Subcommand)]
pub enum CredsCommand {
    /// List credentials, without their secrets.
    List,
    /// Store a credential; prompts for the secret, or reads it from standard input.
    ///
    /// Example: `cynork creds set anthropic --system < key.txt`
    Set(CredentialSetArgs),
    /// Show one credential, without its secret.
    #[command(visible_alias = "get")]
    Show {
        /// The credential, by id, or by provider if only one matches.
        credential: String,
    },
    /// Disable a credential without deleting it.
    Disable {
        /// The credential, by id, or by provider if only one matches.
        credential: String,
    },
    /// Enable a disabled credential.
    Enable {
        /// The credential, by id, or by provider if only one matches.
        credential: String,
    },
    /// Replace the secret of a credential; prompts for it, or reads it from standard input.
    ///
    /// The expiry is unchanged unless --expires is given.
    Rotate {
        /// The credential, by id, or by provider if only one matches.
        credential: String,
        /// New expiry: 2027-01-31, 90d, or never [default: unchanged].
        #[arg(long, value_name = "WHEN", value_parser = expiry::parse)]
        expires: Option<ExpiryArg>,
    },
    /// Show who created, changed and removed a credential, newest first.
    ///
    /// Without a credential, shows the changes of all credentials. Administrators only.
    History {
        /// The credential, by id, or by provider if only one matches.
        credential: Option<String>,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Remove a credential.
    #[command(visible_alias = "delete")]
    Remove {
        /// The credential, by id, or by provider if only one matches.
        credential: String,
    },
    /// Re-encrypt every credential with a new key. Administrators only.
    RotateKey,
}

/// Arguments of `creds set`.
#[derive(Debug, Args)]
pub struct CredentialSetArgs {
    /// The provider; for a git host `git:HOST`, such as `git:github.com`.
    provider: String,
    /// A name, to distinguish several credentials for one provider.
    #[arg(long, default_value = "default")]
    name: String,
    /// Use it for all users without their own credential. Administrators only.
    #[arg(long, conflicts_with = "group")]
    system: bool,
    /// Use it for members of this group without their own credential, by name or id. Administrators only.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The type: `api_key`, `oauth_token` or `bearer_token`; for a git host `password` or `ssh_key`.
    #[arg(long = "type", value_name = "TYPE", default_value = "api_key")]
    kind: CredentialKind,
    /// Expiry: 2027-01-31, 90d, or never.
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry::parse)]
    expires: ExpiryArg,
}

pub async fn run(command: CredsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = match command {
        CredsCommand::List => {
            let all = load_credentials(app).await?;
            return app.out.list(all, render);
        }
        CredsCommand::Set(args) => {
            let (owner, owner_id) = match &args.group {
                Some(group) => {
                    let id = groups::resolve_id(app, group).await?;
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
                expires_at: args.expires.expiry(app.out.render_context().now).into(),
                secret: read_secret()?,
            };
            let view = app.session.call(async |client| client.credential_set(&body).await).await?;
            warn_unknown_provider(&view.provider, app).await;
            view
        }
        CredsCommand::Show { credential } => {
            let id = resolve_credential(&credential, &load_credentials(app).await?)?;
            let view = app.session.call(async |client| client.credential_get(id).await).await?;
            return app.out.show(&view, render_one);
        }
        CredsCommand::Disable { credential } => set_active(&credential, false, app).await?,
        CredsCommand::Enable { credential } => set_active(&credential, true, app).await?,
        CredsCommand::History { credential, page } => return history(credential, page, app).await,
        CredsCommand::Rotate { credential, expires } => {
            let id = resolve_credential(&credential, &load_credentials(app).await?)?;
            let now = app.out.render_context().now;
            let expires_at = expires.map_or(Expiry::Kept, |until| until.expiry(now));
            let body = RotateCredential { secret: read_secret()?, expires_at };
            app.session.call(async |client| client.credential_rotate(id, &body).await).await?
        }
        CredsCommand::Remove { credential } => {
            let id = resolve_credential(&credential, &load_credentials(app).await?)?;
            app.session.call(async |client| client.credential_remove(id).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"id": id, "removed": true}))?;
            }
            app.out.print_message(&format!("credential {id} removed"));
            return Ok(());
        }
        CredsCommand::RotateKey => {
            let done =
                app.session.call(async |client| client.credential_key_rotate().await).await?;
            return app.out.show(&done, |done, ctx| {
                let sealed = Some(done.credentials.to_string());
                table::render_pairs(
                    &[("key", Some(done.key_id.clone())), ("re-encrypted", sealed)],
                    ctx,
                )
            });
        }
    };
    app.out.show(&view, |view, ctx| render(std::slice::from_ref(view), ctx))
}

/// Warns if no provider has the credential's name, which may be misspelt.
async fn warn_unknown_provider(provider: &str, app: &mut CliContext) {
    // A caller who may not list providers gets no warning.
    let Ok(all) = app.session.call(async |client| client.provider_list().await).await else {
        return;
    };
    if !provider.starts_with("git:") && !all.iter().any(|known| known.name == provider) {
        app.out.print_message(&format!(
            "warning: no provider is named \"{provider}\" yet; `cynork models providers` lists them"
        ));
    }
}

async fn load_credentials(app: &mut CliContext) -> Result<Vec<CredentialView>, CliFailure> {
    app.session.call(async |client| client.credential_list().await).await
}

async fn set_active(
    credential: &str,
    is_active: bool,
    app: &mut CliContext,
) -> Result<CredentialView, CliFailure> {
    let id = resolve_credential(credential, &load_credentials(app).await?)?;
    let body = UpdateCredential { is_active: Some(is_active), ..UpdateCredential::default() };
    app.session.call(async |client| client.credential_update(id, &body).await).await
}

async fn history(
    credential: Option<String>,
    page: HistoryPageArgs,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let query = page.into_query();
    let page = if let Some(credential) = credential {
        let id = resolve_credential(&credential, &load_credentials(app).await?)?;
        app.session.call(async |client| client.credential_changes(id, &query).await).await?
    } else {
        let query = ChangeQuery::for_resource_type("api_credential", query);
        app.session.call(async |client| client.access_changes(&query).await).await?
    };
    history::show(&page, app)
}

/// Reads the secret from a hidden prompt, or from standard input.
pub fn read_secret() -> Result<GivenSecret, CliFailure> {
    if io::stdin().is_terminal() {
        return parse_prompted(rpassword::prompt_password("secret: "));
    }
    let mut text = String::new();
    // One byte over the limit, so that a longer secret is rejected instead of truncated.
    let read = io::stdin().lock().take(MAX_SECRET_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| CliFailure::Usage(format!("cannot read standard input: {error}")))?;
    non_empty_secret(&text).ok_or_else(|| {
        let advice = "standard input is empty; pass the secret there, for example \
                      `cynork creds set anthropic < key.txt`";
        CliFailure::Usage(advice.to_owned())
    })
}

/// Validates the prompted secret; empty input and Ctrl-D are rejected.
fn parse_prompted(answer: io::Result<String>) -> Result<GivenSecret, CliFailure> {
    let none = || CliFailure::Usage("no secret was given".to_owned());
    match answer {
        Ok(text) => non_empty_secret(&text).ok_or_else(none),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(none()),
        Err(error) => Err(CliFailure::Usage(format!("cannot read the secret: {error}"))),
    }
}

fn non_empty_secret(text: &str) -> Option<GivenSecret> {
    let secret = text.trim();
    (!secret.is_empty()).then(|| GivenSecret(secret.to_owned()))
}

/// Resolves a credential: by id, or the only one for a provider.
fn resolve_credential(
    name_or_id: &str,
    all: &[CredentialView],
) -> Result<CredentialId, CliFailure> {
    if let Ok(id) = name_or_id.parse() {
        return Ok(id);
    }
    let mut found = all.iter().filter(|view| view.provider == name_or_id);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => Err(CliFailure::NotFound(format!(
            "you have no credential for provider \"{name_or_id}\""
        ))),
        (Some(_), Some(_)) => Err(CliFailure::Usage(format!(
            "several credentials match \"{name_or_id}\"; give an id from `cynork creds list`"
        ))),
    }
}

fn format_state(view: &CredentialView, ctx: RenderContext) -> String {
    match view.expires_at {
        _ if !view.is_active => "disabled".to_owned(),
        Some(end) if end <= ctx.now => "expired".to_owned(),
        Some(end) => format!("until {}", end.format("%Y-%m-%d %H:%M")),
        None => "active".to_owned(),
    }
}

fn render_one(view: &CredentialView, ctx: RenderContext) -> String {
    let pairs = [
        ("credential", Some(view.id.to_string())),
        ("provider", Some(view.provider.clone())),
        ("name", Some(view.name.clone())),
        ("owner", Some(view.owner_type.to_string())),
        ("owner id", view.owner_id.map(|id| id.to_string())),
        ("type", Some(view.credential_type.to_string())),
        ("state", Some(format_state(view, ctx))),
        ("key", Some(view.key_id.clone())),
        ("version", Some(view.version.to_string())),
        ("set", Some(relative_time::format_relative(ctx.now, view.updated_at))),
        ("set by", view.updated_by.map(|id| id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render(all: &[CredentialView], ctx: RenderContext) -> String {
    let rows = all.iter().map(|view| {
        vec![
            view.provider.clone(),
            view.name.clone(),
            view.owner_type.to_string(),
            view.credential_type.to_string(),
            format_state(view, ctx),
            view.key_id.clone(),
            relative_time::format_relative(ctx.now, view.updated_at),
            view.id.to_string(),
        ]
    });
    let header = ["PROVIDER", "NAME", "OWNER", "TYPE", "STATE", "KEY", "SET", "ID"];
    table::render_table(&header, rows, ctx)
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

        assert_eq!(resolve_credential("a", &all).unwrap(), all[0].id);
        assert_eq!(resolve_credential(&all[1].id.to_string(), &all).unwrap(), all[1].id);
        assert_eq!(resolve_credential("b", &all).unwrap_err().code(), 2);
        assert_eq!(resolve_credential("c", &all).unwrap_err().code(), 4);
    }

    #[test]
    fn who_types_no_secret_is_told_so() {
        let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
        for answer in [Ok(String::new()), Ok("  ".to_owned()), Err(ended())] {
            let failure = parse_prompted(answer).map(drop).unwrap_err();
            assert_eq!(
                (failure.to_string(), failure.code()),
                ("no secret was given".to_owned(), 2)
            );
        }
        assert_eq!(parse_prompted(Ok(" word\n".to_owned())).unwrap().0, "word");
    }

    #[test]
    fn credentials_are_listed_without_anything_secret() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let all = [
            view(1, "anthropic", CredentialOwner::User),
            view(2, "openai", CredentialOwner::System),
        ];

        insta::assert_snapshot!(render(&all, ctx));
    }
}
