//! Groups of users, and their members.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A group of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Of two groups, the one with the later id takes precedence.
    pub id: GroupId,
    /// The name in URLs and on the command line.
    pub slug: String,
    /// The name shown to people.
    pub display_name: String,
    pub created_by: Option<UserId>,
    pub created_at: DateTime<Utc>,
}

/// A user in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    pub user: UserId,
    /// The sign-in name.
    pub handle: String,
    pub added_at: DateTime<Utc>,
}

/// A user to add to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGroupMember {
    pub group: GroupId,
    pub user: UserId,
    pub by: Option<UserId>,
    pub at: DateTime<Utc>,
}

impl Tx {
    /// Adds a group; returns false if its slug is taken.
    pub async fn group_insert(&mut self, group: &Group) -> Result<bool, Error> {
        let sql = "INSERT INTO user_groups (id, slug, display_name, created_by, created_at)
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT (slug) DO NOTHING";
        let params =
            params![group.id, &group.slug, &group.display_name, group.created_by, group.created_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn group_get(&mut self, id: GroupId) -> Result<Option<Group>, Error> {
        let sql = "SELECT * FROM user_groups WHERE id = $1";
        self.one(&tables::GROUPS, sql, params![id], group).await
    }

    pub async fn group_by_slug(&mut self, slug: &str) -> Result<Option<Group>, Error> {
        let sql = "SELECT * FROM user_groups WHERE slug = $1";
        self.one(&tables::GROUPS, sql, params![slug], group).await
    }

    /// Lists groups by slug, after `after`; those of `member`, or all.
    pub async fn group_list(
        &mut self,
        member: Option<UserId>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Group>, Error> {
        let sql = "SELECT g.* FROM user_groups g
                   WHERE ($1 /*pg ::uuid */ IS NULL OR EXISTS (SELECT 1 FROM user_group_members m
                       WHERE m.group_id = g.id AND m.user_id = $1))
                   AND ($2 /*pg ::text */ IS NULL OR g.slug > $2)
                   ORDER BY g.slug LIMIT $3";
        self.page(&tables::GROUPS, sql, params![member, after, limit], group).await
    }

    /// Deletes a group and its memberships, and returns its skills and projects to their owners; returns false if it does
    /// not exist. The caller deletes all other references to the group.
    pub async fn group_delete(&mut self, id: GroupId) -> Result<bool, Error> {
        let sql = "UPDATE skills SET scope = 'user', group_id = NULL, version = version + 1
                   WHERE group_id = $1";
        self.execute(sql, params![id]).await?;
        let sql = "UPDATE projects SET group_id = NULL WHERE group_id = $1";
        self.execute(sql, params![id]).await?;
        let sql = "DELETE FROM user_group_members WHERE group_id = $1";
        self.execute(sql, params![id]).await?;
        let sql = "DELETE FROM user_groups WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    /// Lists the groups of a user, ascending: the order of precedence.
    pub async fn groups_of(&mut self, user: UserId) -> Result<Vec<GroupId>, Error> {
        let sql = "SELECT * FROM user_group_members WHERE user_id = $1 ORDER BY group_id";
        // All or none: a deny rule of a group must apply to each of its members.
        let memberships = self.all(&tables::MEMBERS, sql, params![user], membership).await?;
        Ok(memberships.into_iter().map(|(_, group)| group).collect())
    }

    /// Lists all memberships, by user and then by group, ascending.
    pub async fn membership_list(&mut self) -> Result<Vec<(UserId, GroupId)>, Error> {
        let sql = "SELECT user_id, group_id FROM user_group_members ORDER BY user_id, group_id";
        self.list(&tables::MEMBERS, sql, &[], membership).await
    }

    /// Adds a user to a group; returns false if the user is a member already.
    pub async fn member_add(&mut self, new: &NewGroupMember) -> Result<bool, Error> {
        let sql = "INSERT INTO user_group_members (group_id, user_id, added_by, added_at)
                   VALUES ($1, $2, $3, $4) ON CONFLICT (group_id, user_id) DO NOTHING";
        let params = params![new.group, new.user, new.by, new.at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Removes a user from a group; returns false if the user is not a member.
    pub async fn member_remove(&mut self, group: GroupId, user: UserId) -> Result<bool, Error> {
        let sql = "DELETE FROM user_group_members WHERE group_id = $1 AND user_id = $2";
        Ok(self.execute(sql, params![group, user]).await? == 1)
    }

    /// Lists the members of a group, by handle, after `after`.
    pub async fn member_list(
        &mut self,
        group: GroupId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<GroupMember>, Error> {
        // Handles are sorted by byte on both engines.
        let sql = "SELECT m.group_id, m.user_id, u.handle, m.added_at FROM user_group_members m
                   JOIN users u ON u.id = m.user_id WHERE m.group_id = $1
                   AND ($2 /*pg ::text */ IS NULL OR u.handle /*pg COLLATE \"C\" */ > $2)
                   ORDER BY u.handle /*pg COLLATE \"C\" */ LIMIT $3";
        self.page(&tables::MEMBERS, sql, params![group, after, limit], member).await
    }
}

pub(crate) fn group(row: &Row) -> Result<Group, Error> {
    Ok(Group {
        id: row.id("id")?,
        slug: row.get("slug")?,
        display_name: row.get("display_name")?,
        created_by: row.id_opt("created_by")?,
        created_at: row.get("created_at")?,
    })
}

pub(crate) fn membership(row: &Row) -> Result<(UserId, GroupId), Error> {
    Ok((row.id("user_id")?, row.id("group_id")?))
}

fn member(row: &Row) -> Result<GroupMember, Error> {
    Ok(GroupMember {
        user: row.id("user_id")?,
        handle: row.get("handle")?,
        added_at: row.get("added_at")?,
    })
}
