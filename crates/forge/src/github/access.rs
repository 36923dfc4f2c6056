//! The token's user, and write access of others.

use serde::Deserialize;

use super::{Account, Github};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::WriteAccess;
use crate::text::{MAX_NAME_BYTES, clean_line};

#[derive(Debug, Deserialize)]
struct CollaboratorPermission {
    /// `admin`, `write`, `read` or `none`; finer roles are mapped to these.
    permission: String,
}

impl Github {
    /// Tokens of applications may not ask.
    pub(super) async fn own_login(&self) -> Result<Option<String>, ForgeError> {
        let request = ForgeRequest::get("user of the token", ["user"]);
        match self.http.json::<Account>(&request).await {
            Ok(account) => Ok(Some(clean_line(&account.login, MAX_NAME_BYTES))),
            Err(ForgeError::Unauthorized { .. } | ForgeError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn write_access(
        &self,
        repository: &RepositoryPath,
        login: &str,
    ) -> Result<WriteAccess, ForgeError> {
        let request = ForgeRequest::get(
            "permission of a user",
            ["repos", repository.owner(), repository.name(), "collaborators", login, "permission"],
        );
        match self.http.json::<CollaboratorPermission>(&request).await {
            Ok(found) => Ok(match found.permission.as_str() {
                "admin" | "write" => WriteAccess::Granted,
                _ => WriteAccess::Denied,
            }),
            Err(ForgeError::NotFound { .. }) => Ok(WriteAccess::Denied),
            Err(ForgeError::Unauthorized { .. }) => Ok(WriteAccess::Unknown),
            Err(error) => Err(error),
        }
    }
}
