//! Who changed what, in the one shape that every history has.
//!
//! Each feature says who may read the history of its things; here it is only read and shown.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cynode_domain::ids::{ChangeId, UserId};
use cynode_store::{AccessChangeFilter, Change, ChangeStore, Store, Tx, UserStore};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};

use crate::BadCursor;
use crate::paging::PageRequest;

/// A page of the changes of what access is decided by.
pub(crate) async fn of_access<E>(
    store: &Store,
    filter: AccessChangeFilter,
    query: &PageQuery,
) -> Result<Page<ChangeView>, E>
where
    E: From<BadCursor> + From<cynode_store::Error> + Send + 'static,
{
    let request = PageRequest::<ChangeId>::check(query)?;
    let (before, fetch) = (request.before, request.fetch);
    let found = store
        .read(move |tx| {
            Box::pin(async move {
                let found = tx.access_changes(&filter, before, fetch).await?;
                Ok::<_, E>(named(tx, found).await?)
            })
        })
        .await?;
    Ok(page(&request, found))
}

/// The changes of one thing.
pub(crate) fn of_one(resource_type: &str, resource: &str) -> AccessChangeFilter {
    AccessChangeFilter {
        resource_type: Some(resource_type.to_owned()),
        resource: Some(resource.to_owned()),
        by: None,
    }
}

/// A change, and what people call whoever made it.
pub(crate) type Named = (Change, Option<String>);

/// Finds the handles of those who made the changes.
pub(crate) async fn named(
    tx: &mut Tx,
    changes: Vec<Change>,
) -> Result<Vec<Named>, cynode_store::Error> {
    let mut handles: BTreeMap<UserId, Option<String>> = BTreeMap::new();
    let mut named = Vec::with_capacity(changes.len());
    for change in changes {
        let handle = match change.by {
            None => None,
            Some(user) => match handles.entry(user) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => {
                    new.insert(tx.user_get(user).await?.map(|found| found.handle)).clone()
                }
            },
        };
        named.push((change, handle));
    }
    Ok(named)
}

/// A page of changes as people and programs see it.
pub(crate) fn page(request: &PageRequest<ChangeId>, found: Vec<Named>) -> Page<ChangeView> {
    request.page(found, |(change, _)| change.id.to_string(), view)
}

fn view((change, handle): Named) -> ChangeView {
    ChangeView {
        id: change.id,
        changed_at: change.at,
        changed_by: change.by,
        changed_by_handle: handle,
        action: change.action,
        resource_type: change.resource_type,
        resource: change.resource,
        old_value: change.old,
        new_value: change.new,
        reason: change.reason,
    }
}
