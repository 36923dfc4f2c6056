//! `token`: long-lived API tokens for scripts.

use clap::{Args, Subcommand};
use cynode_domain::ids::TokenId;
use cynode_wire::auth::{CreateToken, TokenView};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Manage API tokens for scripts.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token; its secret is printed once, on standard output.
    ///
    /// Example: `cynork -q token create ci --expires-in-days 30 > ci.token`
    Create(TokenCreateArgs),
    /// List your tokens.
    List,
    /// Revoke a token.
    #[command(visible_aliases = ["remove", "delete"])]
    Revoke {
        /// The token id, or its name if only one valid token has it.
        token: String,
    },
}

/// Arguments of `token create`.
#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// A name that describes the purpose of the token.
    name: String,
    /// Lifetime in days [default: 90].
    #[arg(long, value_name = "DAYS")]
    expires_in_days: Option<u32>,
    /// Create a token that is valid until it is revoked.
    #[arg(long, conflicts_with = "expires_in_days")]
    no_expiry: bool,
}

pub async fn run(command: TokenCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        TokenCommand::Create(args) => create(args, app).await,
        TokenCommand::List => list(app).await,
        TokenCommand::Revoke { token } => revoke(&token, app).await,
    }
}

async fn create(args: TokenCreateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let body = CreateToken {
        name: args.name,
        expires_in_days: args.expires_in_days,
        never_expires: args.no_expiry,
    };
    let made = app.session.call(async |client| client.token_create(&body).await).await?;
    app.out.show(&made, |made, _| made.secret.clone())?;
    app.out
        .print_message("Store this token now; it cannot be shown again. Use it as CYNORK_TOKEN.");
    Ok(())
}

async fn list(app: &mut CliContext) -> Result<(), CliFailure> {
    let items = load_tokens(app).await?;
    app.out.list(items, render)
}

async fn revoke(name_or_id: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    let id = match name_or_id.parse::<TokenId>() {
        Ok(id) => id,
        Err(_) => resolve_token(name_or_id, &load_tokens(app).await?)?,
    };
    app.session.call(async |client| client.token_revoke(id).await).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({"id": id, "revoked": true}))?;
    }
    app.out.print_message(&format!("token {name_or_id} revoked"));
    Ok(())
}

async fn load_tokens(app: &mut CliContext) -> Result<Vec<TokenView>, CliFailure> {
    app.session.load_pages(async |client, query| client.token_list(query).await).await
}

fn resolve_token(name: &str, tokens: &[TokenView]) -> Result<TokenId, CliFailure> {
    let mut named = tokens.iter().filter(|t| t.name == name && t.revoked_at.is_none());
    match (named.next(), named.next()) {
        (Some(token), None) => Ok(token.id),
        (None, _) => Err(CliFailure::NotFound(format!("you have no valid token named \"{name}\""))),
        (Some(_), Some(_)) => Err(CliFailure::Conflict(format!(
            "several tokens are named \"{name}\"; give an id from `cynork token list`"
        ))),
    }
}

fn render(tokens: &[TokenView], ctx: RenderContext) -> String {
    let rows = tokens.iter().map(|token| {
        let state = match (token.revoked_at, token.expires_at) {
            (Some(when), _) => {
                format!("revoked {}", relative_time::format_relative(ctx.now, when))
            }
            (None, Some(end)) if end <= ctx.now => {
                format!("expired {}", relative_time::format_relative(ctx.now, end))
            }
            (None, Some(end)) => {
                format!("expires {}", relative_time::format_relative(ctx.now, end))
            }
            (None, None) => "no expiry".to_owned(),
        };
        vec![
            token.name.clone(),
            state,
            token.last_used_at.map_or_else(
                || "never".to_owned(),
                |used| relative_time::format_relative(ctx.now, used),
            ),
            relative_time::format_relative(ctx.now, token.created_at),
            token.id.to_string(),
        ]
    });
    table::render_table(&["NAME", "STATE", "LAST USED", "CREATED", "ID"], rows, ctx)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    fn token(number: u128, name: &str, revoked: bool) -> TokenView {
        TokenView {
            id: TokenId::from(uuid_of(number)),
            name: name.to_owned(),
            created_at: DateTime::UNIX_EPOCH,
            expires_at: Some(DateTime::UNIX_EPOCH + TimeDelta::days(3)),
            revoked_at: revoked.then_some(DateTime::UNIX_EPOCH + TimeDelta::seconds(30)),
            last_used_at: revoked.then_some(DateTime::UNIX_EPOCH + TimeDelta::seconds(20)),
        }
    }

    fn uuid_of(number: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(number)
    }

    #[test]
    fn a_token_is_revoked_by_its_name_when_only_one_works() {
        let tokens = [token(1, "ci", true), token(2, "ci", false), token(3, "other", false)];

        assert_eq!(resolve_token("ci", &tokens).unwrap(), tokens[1].id);
        assert_eq!(resolve_token("nothing", &tokens).unwrap_err().code(), 4);
        assert_eq!(
            resolve_token("ci", &[token(1, "ci", false), token(2, "ci", false)])
                .unwrap_err()
                .code(),
            5
        );
    }

    #[test]
    fn tokens_are_listed_with_their_end() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let tokens = [token(1, "ci", false), token(2, "old", true)];

        insta::assert_snapshot!(render(&tokens, ctx));
    }
}
