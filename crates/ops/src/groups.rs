//! Groups of users: who is in which, and in which order they count.
//!
//! Administrators make groups and say who is in them; a user sees the own ones. Preferences,
//! credentials, access rules and skills may be a group's. Start at `ids_of`: whatever is decided for a
//! user is decided with these groups, read at that moment or with the revision of access rules, which
//! every change here moves.

mod members;
mod remove;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::name::{Slug, kept_spelling};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, Group, GroupStore, RuleStore, SettingStore, Store, Tx};
use cynode_wire::groups::{CreateGroup, GroupView};
use cynode_wire::page::{Page, PageQuery};

use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::{BadCursor, Caller, Signals};

const MAX_DISPLAY_CHARS: usize = 100;

/// Why an operation on groups was refused.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// There is no such group, or the caller is not in it.
    #[error("there is no group \"{0}\"")]
    NotFound(String),
    /// There is no such user.
    #[error("there is no user \"{0}\"")]
    NoUser(String),
    /// The user is not in the group.
    #[error("\"{handle}\" is not in the group \"{group}\"")]
    NotMember {
        /// Who.
        handle: String,
        /// In which group.
        group: String,
    },
    /// The name is taken.
    #[error("there is a group \"{0}\" already")]
    Exists(String),
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Groups of users. Cheap to clone.
#[derive(Clone)]
pub struct Groups {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Groups {
    /// Groups kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// The groups of a user, ascending: of two, the later one counts.
    pub async fn ids_of(&self, user: UserId) -> Result<Vec<GroupId>, GroupError> {
        self.store
            .read(move |tx| Box::pin(async move { Ok::<_, GroupError>(ids_of(tx, user).await?) }))
            .await
    }

    /// A page of groups by name: every one for an administrator, the own ones for others.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<GroupView>, GroupError> {
        let request = PageRequest::<String>::check(query)?;
        let (member, user) = (caller.own(), caller.user);
        let (after, fetch) = (request.before.clone(), request.fetch);
        let (found, own) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.group_list(member, after.as_deref(), fetch).await?;
                    Ok::<_, GroupError>((found, ids_of(tx, user).await?))
                })
            })
            .await?;
        Ok(request.page(found, |group| group.slug.clone(), |group| view(group, &own)))
    }

    /// One group, by name or id.
    pub async fn get(&self, caller: &Caller, wanted: &str) -> Result<GroupView, GroupError> {
        let (caller, wanted) = (caller.clone(), wanted.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let group = find(tx, &caller, &wanted).await?;
                    let own = ids_of(tx, caller.user).await?;
                    Ok(view(group, &own))
                })
            })
            .await
    }

    /// Makes a group. Administrators only.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateGroup,
    ) -> Result<GroupView, GroupError> {
        admin(caller)?;
        let display_name = request.display_name.unwrap_or_else(|| request.name.clone());
        let new = Group {
            id: GroupId::generate(),
            slug: request.name,
            display_name: display_name.trim().to_owned(),
            created_by: Some(caller.user),
            created_at: self.clock.now(),
        };
        check(&new)?;
        let (row, by) = (new.clone(), caller.user);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.group_insert(&row).await? {
                        return Err(GroupError::Exists(row.slug));
                    }
                    let about = format!("made \"{}\"", row.slug);
                    record(tx, ("group.create", by), (row.id, about), row.created_at).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(view(new, &[]))
    }
}

/// The groups of a user, ascending: of two, the later one counts.
pub(crate) async fn ids_of(tx: &mut Tx, user: UserId) -> Result<Vec<GroupId>, cynode_store::Error> {
    tx.groups_of(user).await
}

/// Whether this is one of the caller's groups, or any that exists for an administrator.
pub(crate) async fn may_read(
    tx: &mut Tx,
    caller: &Caller,
    group: GroupId,
) -> Result<bool, cynode_store::Error> {
    if caller.is_admin {
        return Ok(tx.group_get(group).await?.is_some());
    }
    Ok(ids_of(tx, caller.user).await?.contains(&group))
}

/// A group by name or id, if the caller is in it or administers this installation.
async fn find(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<Group, GroupError> {
    let found = match wanted.parse::<GroupId>() {
        Ok(id) => tx.group_get(id).await?,
        Err(_) => tx.group_by_slug(&kept_spelling(wanted)).await?,
    };
    let unknown = || GroupError::NotFound(wanted.chars().take(100).collect());
    let found = found.ok_or_else(unknown)?;
    if may_read(tx, caller, found.id).await? { Ok(found) } else { Err(unknown()) }
}

fn admin(caller: &Caller) -> Result<(), GroupError> {
    if caller.is_admin { Ok(()) } else { Err(GroupError::NotAdmin) }
}

fn check(group: &Group) -> Result<(), GroupError> {
    let is_plain = Slug::normalise(&group.slug).is_ok_and(|slug| slug.as_str() == group.slug);
    // A name that reads as an id would be looked for as one.
    if !is_plain || group.slug.parse::<GroupId>().is_ok() {
        let rule = "a group's name holds lowercase letters, digits and single dashes";
        return Err(GroupError::Invalid(rule.to_owned()));
    }
    let shown = &group.display_name;
    if !(1..=MAX_DISPLAY_CHARS).contains(&shown.chars().count())
        || shown.chars().any(char::is_control)
    {
        let rule = format!("display_name has 1 to {MAX_DISPLAY_CHARS} visible characters");
        return Err(GroupError::Invalid(rule));
    }
    Ok(())
}

/// Puts a change on record, and has whoever decided by groups look again.
async fn record(
    tx: &mut Tx,
    (action, by): (&'static str, UserId),
    (group, reason): (GroupId, String),
    at: DateTime<Utc>,
) -> Result<(), GroupError> {
    tx.policy_touch().await?;
    let change = AccessChange {
        by: Some(by),
        action,
        resource_type: "group",
        resource: group.to_string(),
        allowed: true,
        reason: Some(reason),
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
}

fn view(group: Group, own: &[GroupId]) -> GroupView {
    GroupView {
        is_member: own.contains(&group.id),
        id: group.id,
        name: group.slug,
        display_name: group.display_name,
        created_at: group.created_at,
    }
}
