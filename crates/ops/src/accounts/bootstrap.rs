//! The first run: the `system` user, the first administrator and its secrets.

use std::path::Path;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{TokenId, UserId};
use cynode_runtime::secret_file;
use cynode_store::{ApiToken, SessionStore, Tx, User, UserStore};
use secrecy::SecretString;

use super::{AccountError, Accounts};
use crate::tokens::{Token, TokenKind};

/// The user that system-made records are attributed to. It cannot sign in.
pub(super) const SYSTEM_HANDLE: &str = "system";
const ADMIN_HANDLE: &str = "admin";

/// Whether this was the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bootstrap {
    /// The administrator was made, and its secrets written.
    FirstRun,
    /// There was one already.
    Known,
}

impl Accounts {
    /// Makes the first administrator if there is none, and writes `admin.token` and
    /// `admin.password` into `directory`, readable by its owner only.
    ///
    /// Of several processes that start at once on one database, one does this and the others wait for
    /// it. The files are written before its transaction is committed: a crash between the two leaves
    /// secrets that open nothing, and the next start writes new ones.
    pub async fn bootstrap(&self, directory: &Path) -> Result<Bootstrap, AccountError> {
        if self.is_bootstrapped().await? {
            return Ok(Bootstrap::Known);
        }
        let (token, password) =
            (Token::generate(TokenKind::Api)?, Token::generate(TokenKind::Access)?);
        let password = SecretString::from(password_text(&password));
        let password_hash = self.passwords.hash(password.clone()).await?;
        let secrets = FirstSecrets { token, password, password_hash };
        let (directory, now) = (directory.to_owned(), self.clock.now());
        self.store
            .write(move |tx| Box::pin(async move { first_run(tx, &directory, secrets, now).await }))
            .await
    }

    /// Whether there is an administrator.
    pub async fn is_bootstrapped(&self) -> Result<bool, AccountError> {
        let known =
            self.store.read(|tx| Box::pin(async move { tx.user_by_handle(ADMIN_HANDLE).await }));
        Ok(known.await?.is_some())
    }
}

/// What the first administrator signs in with.
struct FirstSecrets {
    token: Token,
    password: SecretString,
    password_hash: String,
}

async fn first_run(
    tx: &mut Tx,
    directory: &Path,
    secrets: FirstSecrets,
    now: DateTime<Utc>,
) -> Result<Bootstrap, AccountError> {
    tx.startup_lock().await?;
    if tx.user_by_handle(ADMIN_HANDLE).await?.is_some() {
        return Ok(Bootstrap::Known);
    }
    let user = |handle: &str, is_admin, is_active| User {
        id: UserId::generate(),
        handle: handle.to_owned(),
        is_admin,
        is_active,
        created_at: now,
    };
    let (system, admin) = (user(SYSTEM_HANDLE, false, false), user(ADMIN_HANDLE, true, true));
    let token = ApiToken {
        id: TokenId::generate(),
        user: admin.id,
        name: "first run".to_owned(),
        hash: secrets.token.hash(),
        created_at: now,
        expires_at: None,
        revoked_at: None,
    };
    tx.user_insert(&system).await?;
    tx.user_insert(&admin).await?;
    tx.password_set(admin.id, &secrets.password_hash, now).await?;
    tx.token_insert(&token).await?;
    let secret = |error: std::io::Error| AccountError::Secret(Box::new(error));
    secret_file::replace(directory.join("admin.token"), secrets.token.reveal()).map_err(secret)?;
    secret_file::replace(directory.join("admin.password"), &secrets.password).map_err(secret)?;
    Ok(Bootstrap::FirstRun)
}

/// The random part of a token, without its prefix, makes a good password.
fn password_text(token: &Token) -> String {
    use secrecy::ExposeSecret;
    let text = token.reveal().expose_secret();
    text.strip_prefix(TokenKind::Access.prefix()).unwrap_or(text).to_owned()
}
