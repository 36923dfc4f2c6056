//! First start: creates the `system` user, the first administrator and its secrets.

use std::path::Path;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{TokenId, UserId};
use cynode_runtime::secret_file;
use cynode_store::{ApiToken, Tx, User};
use secrecy::SecretString;

use super::passwords::PasswordHashing;
use super::{AccountError, Accounts};
use crate::{tokens::OpaqueToken, tokens::TokenKind};

/// The user that system-made records are attributed to. It cannot sign in.
pub(super) const SYSTEM_HANDLE: &str = "system";
const ADMIN_HANDLE: &str = "admin";
const TOKEN_FILE: &str = "admin.token";

/// Outcome of [`Accounts::bootstrap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootstrapOutcome {
    /// The administrator was created and its secrets were written.
    AdminCreated,
    /// An administrator existed already.
    AlreadyBootstrapped,
}

impl Accounts {
    /// Creates the first administrator if there is none, and writes `admin.token` and
    /// `admin.password` into `directory`, readable by the owner only.
    ///
    /// Serialised by the startup lock when several processes start on one database. The files are
    /// written before the transaction commits: a crash between the two leaves secrets that
    /// authenticate nothing, and the next start writes new ones.
    pub async fn bootstrap(&self, directory: &Path) -> Result<BootstrapOutcome, AccountError> {
        self.bootstrap_with(directory, None).await
    }

    /// As [`Self::bootstrap`], with secrets that were generated while the database was opened.
    pub async fn bootstrap_with(
        &self,
        directory: &Path,
        prepared: Option<InitialAdminSecrets>,
    ) -> Result<BootstrapOutcome, AccountError> {
        if self.is_bootstrapped().await? {
            return Ok(BootstrapOutcome::AlreadyBootstrapped);
        }
        let secrets = match prepared {
            Some(secrets) => secrets,
            None => InitialAdminSecrets::generate().await?,
        };
        let (directory, now) = (directory.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move { create_first_admin(tx, &directory, secrets, now).await })
            })
            .await
    }

    /// Whether an administrator exists.
    pub async fn is_bootstrapped(&self) -> Result<bool, AccountError> {
        let known =
            self.store.read(|tx| Box::pin(async move { tx.user_by_handle(ADMIN_HANDLE).await }));
        Ok(known.await?.is_some())
    }
}

/// Credentials of the first administrator.
pub struct InitialAdminSecrets {
    token: OpaqueToken,
    password: SecretString,
    password_hash: String,
}

impl InitialAdminSecrets {
    /// Generates the secrets if `directory` has none yet, so that a start needs them. Hashing the password takes as long as
    /// opening the database, and can be done meanwhile.
    pub async fn prepare(directory: &Path) -> Result<Option<Self>, AccountError> {
        if directory.join(TOKEN_FILE).exists() {
            return Ok(None);
        }
        Self::generate().await.map(Some)
    }

    async fn generate() -> Result<Self, AccountError> {
        let (token, password) =
            (OpaqueToken::generate(TokenKind::Api)?, OpaqueToken::generate(TokenKind::Access)?);
        let password = SecretString::from(password_from_token(&password));
        let password_hash = PasswordHashing::default().hash(password.clone()).await?;
        Ok(Self { token, password, password_hash })
    }
}

async fn create_first_admin(
    tx: &mut Tx,
    directory: &Path,
    secrets: InitialAdminSecrets,
    now: DateTime<Utc>,
) -> Result<BootstrapOutcome, AccountError> {
    tx.startup_lock().await?;
    if tx.user_by_handle(ADMIN_HANDLE).await?.is_some() {
        return Ok(BootstrapOutcome::AlreadyBootstrapped);
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
        last_used_at: None,
    };
    tx.user_insert(&system).await?;
    tx.user_insert(&admin).await?;
    tx.password_set(admin.id, &secrets.password_hash, now).await?;
    tx.token_insert(&token).await?;
    let secret = |error: std::io::Error| AccountError::Secret(Box::new(error));
    secret_file::replace(directory.join(TOKEN_FILE), secrets.token.reveal()).map_err(secret)?;
    secret_file::replace(directory.join("admin.password"), &secrets.password).map_err(secret)?;
    Ok(BootstrapOutcome::AdminCreated)
}

/// The random part of a token, without its prefix, as a password.
fn password_from_token(token: &OpaqueToken) -> String {
    use secrecy::ExposeSecret;
    let text = token.reveal().expose_secret();
    text.strip_prefix(TokenKind::Access.prefix()).unwrap_or(text).to_owned()
}
