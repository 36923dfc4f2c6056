//! Change histories, in the one shape that all of them share.
//!
//! Authorisation is up to the calling feature; this module only loads and renders.

use cynode_domain::ids::{ChangeId, UserId};
use cynode_store::{AccessChangeFilter, ChangeRecord, Store, Tx};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};

use crate::PageError;
use crate::paging::PageRequest;

/// Lists access changes.
pub async fn list_access_changes<E>(
    store: &Store,
    filter: AccessChangeFilter,
    query: &PageQuery,
) -> Result<Page<ChangeView>, E>
where
    E: From<PageError> + From<cynode_store::Error> + Send + 'static,
{
    let request = PageRequest::<ChangeId>::parse(query)?;
    let (before, fetch) = (request.before, request.fetch);
    let found = store
        .read(move |tx| {
            Box::pin(async move {
                let found = tx.access_changes(&filter, before, fetch).await?;
                Ok::<_, E>(resolve_authors(tx, found).await?)
            })
        })
        .await?;
    Ok(page(&request, found))
}

/// Filter for the changes of one resource.
pub fn resource_filter(resource_type: &str, resource: &str) -> AccessChangeFilter {
    AccessChangeFilter {
        resource_type: Some(resource_type.to_owned()),
        resource: Some(resource.to_owned()),
        by: None,
    }
}

/// A change, and the handle of its author.
pub type AuthoredChange = (ChangeRecord, Option<String>);

/// Resolves the handles of the authors.
pub async fn resolve_authors(
    tx: &mut Tx,
    changes: Vec<ChangeRecord>,
) -> Result<Vec<AuthoredChange>, cynode_store::Error> {
    let authors: Vec<UserId> = changes.iter().filter_map(|change| change.by).collect();
    let handles = tx.user_handles(&authors).await?;
    let named = |change: ChangeRecord| {
        let handle = change.by.and_then(|author| handles.get(&author).cloned());
        (change, handle)
    };
    Ok(changes.into_iter().map(named).collect())
}

/// Renders a page of changes.
pub fn page(request: &PageRequest<ChangeId>, found: Vec<AuthoredChange>) -> Page<ChangeView> {
    request.page(found, |(change, _)| change.id.to_string(), change_view)
}

fn change_view((change, handle): AuthoredChange) -> ChangeView {
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
