//! `token`: long-lived API tokens for scripts.

use clap::{Args, Subcommand};
use cynode_domain::ids::TokenId;
use cynode_wire::auth::{CreateToken, TokenView};
use cynode_wire::page::{MAX_LIMIT, PageQuery};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// API tokens for scripts.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token; its secret is printed once, on standard output.
    ///
    /// Example: `cynork -q token create ci --expires-in-days 30 > ci.token`
    Create(CreateArgs),
    /// List your tokens.
    List,
    /// End a token.
    #[command(visible_aliases = ["remove", "delete"])]
    Revoke {
        /// The token's id, or its name if only one token that works has it.
        token: String,
    },
}

/// What kind of token to make.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// What the token is for.
    name: String,
    /// Days until it ends; without it the token has no end.
    #[arg(long, value_name = "DAYS")]
    expires_in_days: Option<u32>,
}

/// Does what the command says.
pub(crate) async fn run(command: TokenCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create(args, app).await,
        TokenCommand::List => list(app).await,
        TokenCommand::Revoke { token } => revoke(&token, app).await,
    }
}

async fn create(args: CreateArgs, app: &mut App) -> Result<(), Failure> {
    let body = CreateToken { name: args.name, expires_in_days: args.expires_in_days };
    let made = app.session.call(async |client| client.token_create(&body).await).await?;
    app.out.show(&made, |made, _| made.secret.clone())?;
    app.out.say("keep it safe: it cannot be shown again. Use it as CYNORK_TOKEN.");
    Ok(())
}

async fn list(app: &mut App) -> Result<(), Failure> {
    let items = every_token(app).await?;
    app.out.list(items, render)
}

async fn revoke(wanted: &str, app: &mut App) -> Result<(), Failure> {
    let id = match wanted.parse::<TokenId>() {
        Ok(id) => id,
        Err(_) => find(wanted, &every_token(app).await?)?,
    };
    app.session.call(async |client| client.token_revoke(id).await).await?;
    if app.out.format == Format::Json {
        app.out.json(&json!({"id": id, "revoked": true}))?;
    }
    app.out.say(&format!("token {wanted} is revoked"));
    Ok(())
}

async fn every_token(app: &mut App) -> Result<Vec<TokenView>, Failure> {
    let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
    let mut all = Vec::new();
    loop {
        let page = app.session.call(async |client| client.token_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn find(name: &str, tokens: &[TokenView]) -> Result<TokenId, Failure> {
    let mut named = tokens.iter().filter(|t| t.name == name && t.revoked_at.is_none());
    match (named.next(), named.next()) {
        (Some(token), None) => Ok(token.id),
        (None, _) => Err(Failure::NotFound(format!("you have no token \"{name}\" that works"))),
        (Some(_), Some(_)) => Err(Failure::Conflict(format!(
            "several tokens are named \"{name}\"; give the id that `cynork token list` shows"
        ))),
    }
}

fn render(tokens: &[TokenView], look: Look) -> String {
    let rows = tokens.iter().map(|token| {
        let state = match (token.revoked_at, token.expires_at) {
            (Some(when), _) => format!("revoked {}", age::ago(look.now, when)),
            (None, Some(end)) if end <= look.now => format!("ended {}", age::ago(look.now, end)),
            (None, Some(end)) => format!("ends {}", age::ago(look.now, end)),
            (None, None) => "no end".to_owned(),
        };
        vec![token.name.clone(), state, age::ago(look.now, token.created_at), token.id.to_string()]
    });
    table::rows(&["NAME", "STATE", "CREATED", "ID"], rows, look)
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
        }
    }

    fn uuid_of(number: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(number)
    }

    #[test]
    fn a_token_is_revoked_by_its_name_when_only_one_works() {
        let tokens = [token(1, "ci", true), token(2, "ci", false), token(3, "other", false)];

        assert_eq!(find("ci", &tokens).unwrap(), tokens[1].id);
        assert_eq!(find("nothing", &tokens).unwrap_err().code(), 4);
        assert_eq!(
            find("ci", &[token(1, "ci", false), token(2, "ci", false)]).unwrap_err().code(),
            5
        );
    }

    #[test]
    fn tokens_are_listed_with_their_end() {
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let tokens = [token(1, "ci", false), token(2, "old", true)];

        insta::assert_snapshot!(render(&tokens, look));
    }
}
