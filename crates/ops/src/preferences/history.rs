//! Who changed a preference, when and why.

use cynode_domain::ids::ChangeId;
use cynode_store::ChangeStore;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::PreferenceKey;

use super::write::may_write;
use super::{PreferenceError, Preferences};
use crate::paging::PageRequest;
use crate::{Caller, changes};

impl Preferences {
    /// Changes of the preference that a scope has, or had, for a key, newest first: for whoever may
    /// write it.
    pub async fn changes(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, PreferenceError> {
        let request = PageRequest::<ChangeId>::check(query)?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = may_write(tx, &caller, &wanted).await?;
                    let found = tx.preference_changes(scope, &wanted.key, before, fetch).await?;
                    Ok::<_, PreferenceError>(changes::named(tx, found).await?)
                })
            })
            .await?;
        Ok(changes::page(&request, found))
    }
}
