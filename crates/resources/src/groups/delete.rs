//! Deleting a group and the resources scoped to it.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::model::CredentialOwner;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::rules::RuleSubject;
use cynode_domain::preference::Scope;
use cynode_store::{Preference, PreferenceChange, Tx};

use super::{GroupError, Groups, find_group, record_change, require_admin};
use crate::Caller;
use crate::signals::Topic;

impl Groups {
    /// Deletes a group with its preferences, credentials and access rules; its skills revert to their
    /// owners. Administrators only.
    pub async fn remove(
        &self,
        caller: &Caller,
        name_or_id: &NameOrId<GroupId>,
    ) -> Result<(), GroupError> {
        require_admin(caller)?;
        let (caller, name_or_id, now) = (caller.clone(), name_or_id.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let group = find_group(tx, &caller, &name_or_id).await?;
                    let preferences = delete_preferences(tx, group.id, caller.user, now).await?;
                    let credentials = delete_credentials(tx, group.id).await?;
                    // No rule is added for it meanwhile. Changes of credentials lock their row before the policy, too.
                    tx.policy_lock().await?;
                    let rules = delete_rules(tx, group.id).await?;
                    if !tx.group_delete(group.id).await? {
                        return Err(GroupError::NotFound(group.slug));
                    }
                    let about = format!(
                        "removed \"{}\", {preferences} preferences, {credentials} credentials and \
                         {rules} rules",
                        group.slug
                    );
                    record_change(tx, "group.delete", caller.user, group.id, about, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

/// Deletes the group's preferences with a change record for each; returns their number.
async fn delete_preferences(
    tx: &mut Tx,
    group: GroupId,
    by: UserId,
    at: DateTime<Utc>,
) -> Result<usize, GroupError> {
    let entries = tx.preference_list_scopes(&[Scope::Group(group)]).await?;
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

/// Deletes the group's credentials; returns their number.
async fn delete_credentials(tx: &mut Tx, group: GroupId) -> Result<usize, GroupError> {
    let mut all = tx.credential_list().await?;
    let of_group = (CredentialOwner::Group, Some(group.as_uuid()));
    all.retain(|credential| (credential.owner, credential.owner_id) == of_group);
    for credential in &all {
        tx.credential_delete(credential.id).await?;
    }
    Ok(all.len())
}

/// Deletes the access rules with the group as subject; returns their number.
async fn delete_rules(tx: &mut Tx, group: GroupId) -> Result<usize, GroupError> {
    let mut all = tx.rule_list().await?;
    all.retain(|stored| stored.rule.subject == RuleSubject::Group(group));
    for stored in &all {
        tx.rule_delete(stored.rule.id).await?;
    }
    Ok(all.len())
}
