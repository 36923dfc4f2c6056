//! Who is in a group.

use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::name::kept_spelling;
use cynode_store::{GroupStore, Member, NewMember, Tx, User, UserStore};
use cynode_wire::groups::MemberView;
use cynode_wire::page::{Page, PageQuery};

use super::{GroupError, Groups, admin, find, record};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;

/// Prompts, rules and credentials are decided with all groups of a user.
const MAX_GROUPS: usize = 100;

impl Groups {
    /// A page of who is in a group, by handle. For its members and administrators.
    pub async fn members(
        &self,
        caller: &Caller,
        wanted: &str,
        query: &PageQuery,
    ) -> Result<Page<MemberView>, GroupError> {
        let request = PageRequest::<String>::check(query)?;
        let (caller, wanted) = (caller.clone(), wanted.to_owned());
        let (after, fetch) = (request.before.clone(), request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let group = find(tx, &caller, &wanted).await?;
                    let members = tx.member_list(group.id, after.as_deref(), fetch).await?;
                    Ok::<_, GroupError>(members)
                })
            })
            .await?;
        Ok(request.page(found, |member| member.handle.clone(), view))
    }

    /// Adds a user to a group; one who is in it stays. It counts from the next decision on.
    /// Administrators only.
    pub async fn add(
        &self,
        caller: &Caller,
        wanted: &str,
        handle: &str,
    ) -> Result<MemberView, GroupError> {
        admin(caller)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let (wanted, handle) = (wanted.to_owned(), handle.to_owned());
        let added = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find(tx, &caller, &wanted).await?;
                    let user = user(tx, &handle).await?;
                    may_join(tx, user.id, group.id).await?;
                    let by = caller.user;
                    let new = NewMember { group: group.id, user: user.id, by: Some(by), at: now };
                    if tx.member_add(&new).await? {
                        let about = format!("added {} to \"{}\"", user.handle, group.slug);
                        record(tx, ("group.add", by), (group.id, about), now).await?;
                    }
                    Ok::<_, GroupError>(MemberView {
                        user_id: user.id,
                        handle: user.handle,
                        added_at: now,
                    })
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(added)
    }

    /// Takes a user out of a group, from the next decision on. Administrators only.
    pub async fn expel(
        &self,
        caller: &Caller,
        wanted: &str,
        handle: &str,
    ) -> Result<(), GroupError> {
        admin(caller)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let (wanted, handle) = (wanted.to_owned(), handle.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find(tx, &caller, &wanted).await?;
                    let user = user(tx, &handle).await?;
                    if !tx.member_remove(group.id, user.id).await? {
                        let (handle, group) = (user.handle, group.slug);
                        return Err(GroupError::NotMember { handle, group });
                    }
                    let about = format!("took {} out of \"{}\"", user.handle, group.slug);
                    record(tx, ("group.remove", caller.user), (group.id, about), now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

/// A user by handle or id.
async fn user(tx: &mut Tx, wanted: &str) -> Result<User, GroupError> {
    let found = match wanted.parse::<UserId>() {
        Ok(id) => tx.user_get(id).await?,
        Err(_) => tx.user_by_handle(&kept_spelling(wanted)).await?,
    };
    found.ok_or_else(|| GroupError::NoUser(wanted.chars().take(100).collect()))
}

async fn may_join(tx: &mut Tx, user: UserId, group: GroupId) -> Result<(), GroupError> {
    let groups = tx.groups_of(user).await?;
    if groups.len() >= MAX_GROUPS && !groups.contains(&group) {
        return Err(GroupError::Invalid(format!("a user is in {MAX_GROUPS} groups at most")));
    }
    Ok(())
}

fn view(member: Member) -> MemberView {
    MemberView { user_id: member.user, handle: member.handle, added_at: member.added_at }
}
