//! Removing a group, with all that was kept for it.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::model::CredentialOwner;
use cynode_domain::policy::rules::Subject;
use cynode_domain::preference::Scope;
use cynode_store::{
    CredentialStore, GroupStore, Preference, PreferenceChange, PreferenceStore, RuleStore, Tx,
};

use super::{GroupError, Groups, admin, find, record};
use crate::Caller;
use crate::signals::Topic;

impl Groups {
    /// Removes a group: its preferences, credentials and access rules go with it, its skills go back
    /// to their owners. Administrators only.
    pub async fn remove(&self, caller: &Caller, wanted: &str) -> Result<(), GroupError> {
        admin(caller)?;
        let (caller, wanted, now) = (caller.clone(), wanted.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find(tx, &caller, &wanted).await?;
                    let preferences = forget(tx, group.id, caller.user, now).await?;
                    let credentials = burn(tx, group.id).await?;
                    let rules = repeal(tx, group.id).await?;
                    if !tx.group_delete(group.id).await? {
                        return Err(GroupError::NotFound(group.slug));
                    }
                    let about = format!(
                        "removed \"{}\", {preferences} preferences, {credentials} credentials and \
                         {rules} rules",
                        group.slug
                    );
                    record(tx, ("group.delete", caller.user), (group.id, about), now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

/// Removes the group's preferences, each on record; how many they were.
async fn forget(
    tx: &mut Tx,
    group: GroupId,
    by: UserId,
    at: DateTime<Utc>,
) -> Result<usize, GroupError> {
    let entries = tx.preference_list_of(&[Scope::Group(group)]).await?;
    let count = entries.len();
    for Preference { id, scope, key, value, version, .. } in entries {
        tx.preference_delete(id, version).await?;
        let change = PreferenceChange {
            entry: id,
            scope,
            key,
            old: Some(value),
            new: None,
            by: Some(by),
            at,
            reason: Some("the group was removed".to_owned()),
        };
        tx.preference_change_append(&change).await?;
    }
    Ok(count)
}

/// Removes the group's credentials; how many they were.
async fn burn(tx: &mut Tx, group: GroupId) -> Result<usize, GroupError> {
    let mut all = tx.credential_list().await?;
    let of_group = (CredentialOwner::Group, Some(group.as_uuid()));
    all.retain(|credential| (credential.owner, credential.owner_id) == of_group);
    for credential in &all {
        tx.credential_delete(credential.id).await?;
    }
    Ok(all.len())
}

/// Removes the rules about the group; how many they were.
async fn repeal(tx: &mut Tx, group: GroupId) -> Result<usize, GroupError> {
    let mut all = tx.rule_list().await?;
    all.retain(|stored| stored.rule.subject == Subject::Group(group));
    for stored in &all {
        tx.rule_delete(stored.rule.id).await?;
    }
    Ok(all.len())
}
