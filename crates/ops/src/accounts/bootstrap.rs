//! The first run: the `system` user, the first administrator and its secrets.

use std::path::Path;

use cynode_domain::ids::{TokenId, UserId};
use cynode_runtime::secret_file;
use cynode_store::{ApiToken, SessionStore, User, UserStore};
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
    /// The files are written before the database: a crash between the two leaves secrets that
    /// open nothing, and the next start writes new ones.
    pub async fn bootstrap(&self, directory: &Path) -> Result<Bootstrap, AccountError> {
        let known =
            self.store.read(|tx| Box::pin(async move { tx.user_by_handle(ADMIN_HANDLE).await }));
        if known.await?.is_some() {
            return Ok(Bootstrap::Known);
        }
        let (token, password) =
            (Token::generate(TokenKind::Api)?, Token::generate(TokenKind::Access)?);
        let password = SecretString::from(password_text(&password));
        let secret = |error: std::io::Error| AccountError::Secret(Box::new(error));
        secret_file::replace(directory.join("admin.token"), token.reveal()).map_err(secret)?;
        secret_file::replace(directory.join("admin.password"), &password).map_err(secret)?;
        let hash = self.passwords.hash(password).await?;
        self.insert_first_users(hash, token.hash()).await?;
        Ok(Bootstrap::FirstRun)
    }

    async fn insert_first_users(
        &self,
        password_hash: String,
        token_hash: Vec<u8>,
    ) -> Result<(), AccountError> {
        let now = self.clock.now();
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
            hash: token_hash,
            created_at: now,
            expires_at: None,
            revoked_at: None,
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.user_insert(&system).await?;
                    tx.user_insert(&admin).await?;
                    tx.password_set(admin.id, &password_hash, now).await?;
                    tx.token_insert(&token).await?;
                    Ok(())
                })
            })
            .await
    }
}

/// The random part of a token, without its prefix, makes a good password.
fn password_text(token: &Token) -> String {
    use secrecy::ExposeSecret;
    let text = token.reveal().expose_secret();
    text.strip_prefix(TokenKind::Access.prefix()).unwrap_or(text).to_owned()
}
