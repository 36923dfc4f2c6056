//! The change history of a preference.

use cynode_domain::ids::ChangeId;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::PreferenceKey;

use super::write::require_writable;
use super::{PreferenceError, PreferenceService};
use crate::paging::PageRequest;
use crate::{Caller, changes};

impl PreferenceService {
    /// Returns a page of the changes of a preference, newest first, also of a removed one. Requires write access.
    pub async fn changes(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, PreferenceError> {
        let request = PageRequest::<ChangeId>::parse(query)?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = require_writable(tx, &caller, &preference).await?;
                    let found =
                        tx.preference_changes(scope, &preference.key, before, fetch).await?;
                    Ok::<_, PreferenceError>(changes::resolve_authors(tx, found).await?)
                })
            })
            .await?;
        Ok(changes::page(&request, found))
    }
}
