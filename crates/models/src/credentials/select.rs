//! Selects the credential that a call uses.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, GroupId, UserId};
use cynode_domain::model::CredentialOwner;
use cynode_llm::ProviderCredential;
use cynode_store::Credential;

use super::{CredentialError, CredentialManager};

impl CredentialManager {
    /// Returns the secret that a call of this user sends to `provider`; `None` if no credential
    /// applies. A user's own credential wins over a group's, and that over the installation's; ties
    /// are broken by name.
    pub fn select(
        &self,
        all: &[Credential],
        provider: &str,
        user: UserId,
        groups: &[GroupId],
    ) -> Result<Option<(CredentialId, ProviderCredential)>, CredentialError> {
        self.select_row(all, provider, user, groups)
            .map(|row| Ok((row.id, ProviderCredential::new(row.kind, self.decrypt(row)?))))
            .transpose()
    }

    /// Like [`Self::select`], but still sealed.
    pub(super) fn select_row<'r>(
        &self,
        all: &'r [Credential],
        provider: &str,
        user: UserId,
        groups: &[GroupId],
    ) -> Option<&'r Credential> {
        select_best(all, provider, user, groups, self.clock.now())
    }
}

fn select_best<'r>(
    all: &'r [Credential],
    provider: &str,
    user: UserId,
    groups: &[GroupId],
    now: DateTime<Utc>,
) -> Option<&'r Credential> {
    let rank = |row: &Credential| match (row.owner, row.owner_id) {
        (CredentialOwner::User, Some(id)) if id == user.as_uuid() => Some(0),
        (CredentialOwner::Group, Some(id)) if groups.contains(&id.into()) => Some(1),
        (CredentialOwner::System, None) => Some(2),
        (CredentialOwner::User | CredentialOwner::Group | CredentialOwner::System, _) => None,
    };
    all.iter()
        .filter(|row| row.provider == provider && row.is_active)
        .filter(|row| row.expires_at.is_none_or(|end| end > now))
        .filter_map(|row| Some((rank(row)?, row)))
        .min_by(|(a, left), (b, right)| {
            (a, left.owner_id, &left.name).cmp(&(b, right.owner_id, &right.name))
        })
        .map(|(_, row)| row)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use cynode_domain::model::CredentialKind;
    use uuid::Uuid;

    use super::*;

    fn row(owner: CredentialOwner, owner_id: Option<Uuid>, name: &str) -> Credential {
        Credential {
            id: CredentialId::generate(),
            owner,
            owner_id,
            provider: "here".to_owned(),
            kind: CredentialKind::ApiKey,
            name: name.to_owned(),
            sealed: vec![],
            key: "k".to_owned(),
            is_active: true,
            expires_at: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
        }
    }

    fn name_of(all: &[Credential]) -> Option<&str> {
        let user = UserId::from(Uuid::from_u128(1));
        let groups = [GroupId::from(Uuid::from_u128(2))];
        select_best(all, "here", user, &groups, DateTime::UNIX_EPOCH).map(|row| &*row.name)
    }

    #[test]
    fn a_users_own_credential_comes_before_a_groups_and_that_before_the_installations() {
        let id = |n| Some(Uuid::from_u128(n));
        let mut all = vec![
            row(CredentialOwner::System, None, "system"),
            row(CredentialOwner::Group, id(2), "group"),
            row(CredentialOwner::User, id(1), "own b"),
            row(CredentialOwner::User, id(1), "own a"),
            row(CredentialOwner::User, id(9), "another's"),
            row(CredentialOwner::Group, id(9), "another group's"),
        ];

        assert_eq!(name_of(&all), Some("own a"));
        all.retain(|row| row.owner_id != id(1));
        assert_eq!(name_of(&all), Some("group"));
        all.retain(|row| row.owner_id != id(2));
        assert_eq!(name_of(&all), Some("system"));
        all.retain(|row| row.owner_id.is_some());
        assert_eq!(name_of(&all), None);
    }

    #[test]
    fn neither_an_expired_nor_an_inactive_credential_is_used_nor_one_for_another_provider() {
        let now = DateTime::UNIX_EPOCH;
        let good = row(CredentialOwner::System, None, "good");
        let unfit = [
            Credential { is_active: false, ..good.clone() },
            Credential { expires_at: Some(now), ..good.clone() },
            Credential { provider: "there".to_owned(), ..good.clone() },
        ];
        assert_eq!(name_of(&unfit), None);
        let later = Some(now + TimeDelta::seconds(1));
        assert_eq!(name_of(&[Credential { expires_at: later, ..good }]), Some("good"));
    }
}
