//! Group members.

use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{GroupMember, NewGroupMember, Tx, User};
use cynode_wire::groups::MemberView;
use cynode_wire::page::{Page, PageQuery};

use super::{GroupError, Groups, find_group, record_change, require_admin};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;

/// Per user: prompts, rules and credentials are resolved over all groups of a user.
const MAX_GROUPS: usize = 100;

impl Groups {
    /// Lists the members of a group by handle. For its members and administrators.
    pub async fn members(
        &self,
        caller: &Caller,
        name_or_id: &NameOrId<GroupId>,
        query: &PageQuery,
    ) -> Result<Page<MemberView>, GroupError> {
        let request = PageRequest::<String>::parse(query)?;
        let (caller, name_or_id) = (caller.clone(), name_or_id.to_owned());
        let (after, fetch) = (request.before.clone(), request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let group = find_group(tx, &caller, &name_or_id).await?;
                    let members = tx.member_list(group.id, after.as_deref(), fetch).await?;
                    Ok::<_, GroupError>(members)
                })
            })
            .await?;
        Ok(request.page(found, |member| member.handle.clone(), member_view))
    }

    /// Adds a user to a group; idempotent. Takes effect with the next decision. Administrators only.
    pub async fn add(
        &self,
        caller: &Caller,
        name_or_id: &NameOrId<GroupId>,
        user: &NameOrId<UserId>,
    ) -> Result<MemberView, GroupError> {
        require_admin(caller)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let (name_or_id, member) = (name_or_id.clone(), user.clone());
        let added = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find_group(tx, &caller, &name_or_id).await?;
                    let user = find_user(tx, &member).await?;
                    check_group_limit(tx, user.id, group.id).await?;
                    let by = caller.user;
                    let new =
                        NewGroupMember { group: group.id, user: user.id, by: Some(by), at: now };
                    if tx.member_add(&new).await? {
                        let about = format!("added {} to \"{}\"", user.handle, group.slug);
                        record_change(tx, "group.add", by, group.id, about, now).await?;
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

    /// Removes a user from a group. Takes effect with the next decision. Administrators only.
    pub async fn expel(
        &self,
        caller: &Caller,
        name_or_id: &NameOrId<GroupId>,
        user: &NameOrId<UserId>,
    ) -> Result<(), GroupError> {
        require_admin(caller)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let (name_or_id, member) = (name_or_id.clone(), user.clone());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find_group(tx, &caller, &name_or_id).await?;
                    let user = find_user(tx, &member).await?;
                    if !tx.member_remove(group.id, user.id).await? {
                        let (handle, group) = (user.handle, group.slug);
                        return Err(GroupError::NotMember { handle, group });
                    }
                    let about = format!("removed {} from \"{}\"", user.handle, group.slug);
                    record_change(tx, "group.remove", caller.user, group.id, about, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

/// A user by handle or id.
async fn find_user(tx: &mut Tx, name_or_id: &NameOrId<UserId>) -> Result<User, GroupError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.user_get(*id).await?,
        NameOrId::Name(handle) => tx.user_by_handle(&lookup_name(handle)).await?,
    };
    found.ok_or_else(|| GroupError::NoUser(name_or_id.excerpt()))
}

async fn check_group_limit(tx: &mut Tx, user: UserId, group: GroupId) -> Result<(), GroupError> {
    let groups = tx.groups_of(user).await?;
    if groups.len() >= MAX_GROUPS && !groups.contains(&group) {
        return Err(GroupError::Invalid(format!("a user may be in at most {MAX_GROUPS} groups")));
    }
    Ok(())
}

fn member_view(member: GroupMember) -> MemberView {
    MemberView { user_id: member.user, handle: member.handle, added_at: member.added_at }
}
