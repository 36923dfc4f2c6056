//! Write access of others.

use serde::Deserialize;

use super::{Account, Gitea};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::WriteAccess;

#[derive(Debug, Deserialize)]
struct CollaboratorPermission {
    /// `owner`, `admin`, `write`, `read` or `none`.
    permission: String,
}

impl Gitea {
    /// Only an administrator of the repository may ask for the permission of another user.
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
                "owner" | "admin" | "write" => WriteAccess::Granted,
                _ => WriteAccess::Denied,
            }),
            Err(ForgeError::NotFound { .. }) => Ok(WriteAccess::Denied),
            Err(ForgeError::Unauthorized { .. }) => self.is_assignable(repository, login).await,
            Err(error) => Err(error),
        }
    }

    /// Gitea lists the users with write access as possible assignees, to everyone who may read the repository.
    async fn is_assignable(
        &self,
        repository: &RepositoryPath,
        login: &str,
    ) -> Result<WriteAccess, ForgeError> {
        let request = ForgeRequest::get(
            "users with write access",
            ["repos", repository.owner(), repository.name(), "assignees"],
        );
        match self.http.json::<Vec<Account>>(&request).await {
            Ok(users) if users.iter().any(|user| user.login.eq_ignore_ascii_case(login)) => {
                Ok(WriteAccess::Granted)
            }
            Ok(_) => Ok(WriteAccess::Denied),
            Err(ForgeError::Unauthorized { .. } | ForgeError::NotFound { .. }) => {
                Ok(WriteAccess::Unknown)
            }
            Err(error) => Err(error),
        }
    }
}
