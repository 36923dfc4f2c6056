//! The user of the token; every forge has the same resource.

use serde::de::DeserializeOwned;

use crate::error::ForgeError;
use crate::http::{ForgeHttp, ForgeRequest};
use crate::text::{MAX_NAME_BYTES, clean_line};

/// Reads the login name of the token's user; `None` if the token may not know it, as that of an application of GitHub.
pub(crate) async fn read_own_login<A: DeserializeOwned>(
    http: &ForgeHttp,
    login: fn(&A) -> &str,
) -> Result<Option<String>, ForgeError> {
    let request = ForgeRequest::get("user of the token", ["user"]);
    match http.json::<A>(&request).await {
        Ok(account) => Ok(Some(clean_line(login(&account), MAX_NAME_BYTES))),
        Err(ForgeError::Unauthorized { .. } | ForgeError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
