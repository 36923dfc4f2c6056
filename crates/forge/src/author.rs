//! Who wrote a text: the token's own user, and users with write access.

use std::collections::HashMap;

use tokio::sync::OnceCell;

use crate::address::RepositoryPath;
use crate::api::ForgeApi;
use crate::error::ForgeError;
use crate::item::{Author, WriteAccess};
use crate::text::{MAX_NAME_BYTES, clean_line};

/// The name of deleted accounts, as GitHub and Gitea show it.
const DELETED_ACCOUNT: &str = "ghost";
/// The suffix that GitHub reserves for applications.
const APPLICATION_SUFFIX: &str = "[bot]";

impl Author {
    /// An author whose write access is not known yet.
    pub(crate) fn from_account(login: Option<&str>, id: Option<u64>) -> Self {
        let login = clean_line(login.unwrap_or_default(), MAX_NAME_BYTES);
        let login = if login.is_empty() { DELETED_ACCOUNT.to_owned() } else { login };
        Self { login, id, write_access: WriteAccess::Unknown, is_self: false }
    }
}

/// The user of the token. It is looked up once.
#[derive(Debug, Default)]
pub(crate) struct OwnIdentity(OnceCell<Option<String>>);

impl OwnIdentity {
    /// The login name; `None` if the token may not know.
    pub(crate) async fn login(&self, api: &dyn ForgeApi) -> Result<Option<&str>, ForgeError> {
        let login = self.0.get_or_try_init(|| api.read_own_login()).await?;
        Ok(login.as_deref())
    }
}

/// Whether an author may be the token's user. Applications of GitHub may not ask for their name, so that a text of any
/// application or of a user with write access counts then.
pub(crate) fn may_be_self(author: &Author, own_login: Option<&str>) -> bool {
    match own_login {
        Some(own) => author.login.eq_ignore_ascii_case(own),
        None => author.login.ends_with(APPLICATION_SUFFIX) || author.write_access.is_granted(),
    }
}

/// Looks up the write access of authors in this order, at most `max_lookups` of them; returns whether these were all.
pub(crate) async fn resolve_write_access(
    api: &dyn ForgeApi,
    repository: &RepositoryPath,
    own_login: Option<&str>,
    max_lookups: usize,
    authors: Vec<&mut Author>,
) -> Result<bool, ForgeError> {
    let mut known: HashMap<String, WriteAccess> = HashMap::new();
    let mut is_complete = true;
    for author in authors {
        author.is_self = own_login.is_some_and(|own| author.login.eq_ignore_ascii_case(own));
        if author.write_access != WriteAccess::Unknown {
            continue;
        }
        if author.login.eq_ignore_ascii_case(DELETED_ACCOUNT) {
            author.write_access = WriteAccess::Denied;
            continue;
        }
        let key = author.login.to_ascii_lowercase();
        author.write_access = match known.get(&key) {
            Some(access) => *access,
            None if known.len() >= max_lookups => {
                is_complete = false;
                WriteAccess::Unknown
            }
            None => {
                let access = api.read_write_access(repository, author).await?;
                known.insert(key, access);
                access
            }
        };
    }
    Ok(is_complete)
}
