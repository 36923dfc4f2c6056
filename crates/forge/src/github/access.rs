//! Write access of others.

use serde::Deserialize;

use super::Github;
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::WriteAccess;

#[derive(Debug, Deserialize)]
struct CollaboratorPermission {
    /// `admin`, `write`, `read` or `none`; finer roles are mapped to these.
    permission: String,
}

impl Github {
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
