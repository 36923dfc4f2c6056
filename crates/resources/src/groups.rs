//! Groups of users, and their precedence.
//!
//! Administrators manage groups and members; users see their own groups. Preferences,
//! credentials, access rules and skills can be scoped to a group. Start at `load_group_ids`: every decision for a
//! user uses these groups, loaded at that moment or with the policy revision, which every change here
//! increments.

mod delete;
mod members;

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::name::{Slug, lookup_name};
use cynode_domain::name_or_id::NameOrId;
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, Group, Store, Tx};
use cynode_wire::groups::{CreateGroup, GroupView};
use cynode_wire::page::{Page, PageQuery};

use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::{Caller, PageError, Signals};

const MAX_DISPLAY_CHARS: usize = 100;

/// Errors of group operations.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// There is no such group, or the caller is not a member.
    #[error("there is no group \"{0}\"")]
    NotFound(String),
    #[error("there is no user \"{0}\"")]
    NoUser(String),
    #[error("\"{handle}\" is not in the group \"{group}\"")]
    NotMember { handle: String, group: String },
    #[error("group \"{0}\" already exists")]
    Exists(String),
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for GroupError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::NoUser(_) | Self::NotMember { .. } => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Exists(_) => Classification::new(ErrorClass::Conflict, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Groups of users. Cheap to clone.
#[derive(Clone)]
pub struct Groups {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Groups {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// The groups of a user, ascending by precedence: a later group overrides an earlier one.
    pub async fn load_group_ids(&self, user: UserId) -> Result<Vec<GroupId>, GroupError> {
        self.store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, GroupError>(load_group_ids(tx, user).await?) })
            })
            .await
    }

    /// Lists groups by name: all for administrators, their own for other users.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<GroupView>, GroupError> {
        let request = PageRequest::<String>::parse(query)?;
        let (member, user) = (caller.own(), caller.user);
        let (after, fetch) = (request.before.clone(), request.fetch);
        let (found, own) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.group_list(member, after.as_deref(), fetch).await?;
                    Ok::<_, GroupError>((found, load_group_ids(tx, user).await?))
                })
            })
            .await?;
        Ok(request.page(found, |group| group.slug.clone(), |group| group_view(group, &own)))
    }

    /// One group, by name or id.
    pub async fn get(
        &self,
        caller: &Caller,
        name_or_id: &NameOrId<GroupId>,
    ) -> Result<GroupView, GroupError> {
        let (caller, name_or_id) = (caller.clone(), name_or_id.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let group = find_group(tx, &caller, &name_or_id).await?;
                    let own = load_group_ids(tx, caller.user).await?;
                    Ok(group_view(group, &own))
                })
            })
            .await
    }

    /// Creates a group. Administrators only.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateGroup,
    ) -> Result<GroupView, GroupError> {
        require_admin(caller)?;
        let display_name = request.display_name.unwrap_or_else(|| request.name.clone());
        let new = Group {
            id: GroupId::generate(),
            slug: request.name,
            display_name: display_name.trim().to_owned(),
            created_by: Some(caller.user),
            created_at: self.clock.now(),
        };
        validate_group(&new)?;
        let (row, by) = (new.clone(), caller.user);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.group_insert(&row).await? {
                        return Err(GroupError::Exists(row.slug));
                    }
                    let about = format!("made \"{}\"", row.slug);
                    record_change(tx, "group.create", by, row.id, about, row.created_at).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(group_view(new, &[]))
    }
}

/// The groups of a user, ascending by precedence: a later group overrides an earlier one.
pub async fn load_group_ids(
    tx: &mut Tx,
    user: UserId,
) -> Result<Vec<GroupId>, cynode_store::Error> {
    tx.groups_of(user).await
}

/// Whether the caller is a member of the group; for an administrator, whether the group exists.
pub async fn may_read(
    tx: &mut Tx,
    caller: &Caller,
    group: GroupId,
) -> Result<bool, cynode_store::Error> {
    if caller.is_admin {
        return Ok(tx.group_get(group).await?.is_some());
    }
    Ok(load_group_ids(tx, caller.user).await?.contains(&group))
}

/// Finds a group by name or id, if the caller is a member or an administrator.
pub(crate) async fn find_group(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<GroupId>,
) -> Result<Group, GroupError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.group_get(*id).await?,
        NameOrId::Name(name) => tx.group_by_slug(&lookup_name(name)).await?,
    };
    let unknown = || GroupError::NotFound(name_or_id.excerpt());
    let found = found.ok_or_else(unknown)?;
    if may_read(tx, caller, found.id).await? { Ok(found) } else { Err(unknown()) }
}

fn require_admin(caller: &Caller) -> Result<(), GroupError> {
    if caller.is_admin { Ok(()) } else { Err(GroupError::NotAdmin) }
}

fn validate_group(group: &Group) -> Result<(), GroupError> {
    let is_plain = Slug::normalise(&group.slug).is_ok_and(|slug| slug.as_str() == group.slug);
    // `find_group` would parse such a name as an id.
    if !is_plain || group.slug.parse::<GroupId>().is_ok() {
        let rule = "a group's name may contain only lowercase letters, digits and single dashes";
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

/// Appends an access change and increments the policy revision.
async fn record_change(
    tx: &mut Tx,
    action: &'static str,
    by: UserId,
    group: GroupId,
    reason: String,
    at: DateTime<Utc>,
) -> Result<(), GroupError> {
    tx.policy_bump_revision().await?;
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

fn group_view(group: Group, own: &[GroupId]) -> GroupView {
    GroupView {
        is_member: own.contains(&group.id),
        id: group.id,
        name: group.slug,
        display_name: group.display_name,
        created_at: group.created_at,
    }
}
