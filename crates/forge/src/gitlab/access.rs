//! Write access of members.

use serde::Deserialize;

use super::{Account, Gitlab};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::{Author, WriteAccess};

/// Developers and higher roles may push.
const DEVELOPER: u64 = 30;

#[derive(Debug, Deserialize)]
struct Member {
    access_level: u64,
    /// `active`, or a state in which the account can do nothing.
    state: Option<String>,
}

impl Gitlab {
    /// The access level of a member, inherited from groups or given directly.
    pub(super) async fn write_access(
        &self,
        repository: &RepositoryPath,
        author: &Author,
    ) -> Result<WriteAccess, ForgeError> {
        let id = match author.id {
            Some(id) => Some(id),
            None => self.user_id(&author.login).await?,
        };
        let Some(id) = id.map(|id| id.to_string()) else { return Ok(WriteAccess::Denied) };
        let request = ForgeRequest::get(
            "member of the project",
            ["projects", repository.as_str(), "members", "all", &id],
        );
        match self.http.json::<Member>(&request).await {
            Ok(member) => {
                let is_active = member.state.is_none_or(|state| state == "active");
                let may_push = is_active && member.access_level >= DEVELOPER;
                Ok(if may_push { WriteAccess::Granted } else { WriteAccess::Denied })
            }
            Err(ForgeError::NotFound { .. }) => Ok(WriteAccess::Denied),
            Err(ForgeError::Unauthorized { .. }) => Ok(WriteAccess::Unknown),
            Err(error) => Err(error),
        }
    }

    async fn user_id(&self, login: &str) -> Result<Option<u64>, ForgeError> {
        let request = ForgeRequest::get("user", ["users"]).query("username", login);
        let users: Vec<Account> = self.http.json(&request).await?;
        let user = users.into_iter().find(|user| user.username.eq_ignore_ascii_case(login));
        Ok(user.map(|user| user.id))
    }
}
