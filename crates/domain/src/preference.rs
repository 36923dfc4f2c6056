//! Preferences by scope, and their precedence.
//!
//! Start at [`resolve_preferences`]. The order of [`Scope`] is the precedence: task over project over user over group
//! over system; of two groups the later id wins.
//!
//! Invariant: an entry whose value does not match its declared type neither wins nor hides another.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use crate::ids::{GroupId, ProjectId, TaskId, UserId};

words! {
    /// The kinds of scopes, lowest precedence first.
    ScopeKind("preference scope") {
        /// The whole installation.
        System = "system",
        /// The members of a group.
        Group = "group",
        /// One user.
        User = "user",
        /// One project.
        Project = "project",
        /// One task.
        Task = "task",
    }

    /// The declared type of a value.
    ValueType("value type") {
        String = "string",
        Number = "number",
        Boolean = "boolean",
        Object = "object",
        Array = "array",
    }
}

impl ValueType {
    /// The type of a value; `String` for null, which matches every type.
    pub const fn type_of(value: &Value) -> Self {
        match value {
            Value::Null | Value::String(_) => Self::String,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether `value` has this type. Null matches every type: it hides the values of lower-precedence scopes.
    pub fn fits(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(_) => self == Self::Boolean,
            Value::Number(_) => self == Self::Number,
            Value::String(_) => self == Self::String,
            Value::Array(_) => self == Self::Array,
            Value::Object(_) => self == Self::Object,
        }
    }
}

/// The scope of a preference, lowest precedence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    System,
    Group(GroupId),
    User(UserId),
    Project(ProjectId),
    Task(TaskId),
}

/// An invalid scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScope {
    #[error("a {0} preference needs scope_id")]
    MissingId(ScopeKind),
    #[error("a system preference must not have scope_id")]
    UnexpectedId,
}

impl Scope {
    pub fn new(kind: ScopeKind, id: Option<Uuid>) -> Result<Self, InvalidScope> {
        let Some(id) = id else {
            return match kind {
                ScopeKind::System => Ok(Self::System),
                ScopeKind::Group | ScopeKind::User | ScopeKind::Project | ScopeKind::Task => {
                    Err(InvalidScope::MissingId(kind))
                }
            };
        };
        match kind {
            ScopeKind::System => Err(InvalidScope::UnexpectedId),
            ScopeKind::Group => Ok(Self::Group(id.into())),
            ScopeKind::User => Ok(Self::User(id.into())),
            ScopeKind::Project => Ok(Self::Project(id.into())),
            ScopeKind::Task => Ok(Self::Task(id.into())),
        }
    }

    pub const fn kind(self) -> ScopeKind {
        match self {
            Self::System => ScopeKind::System,
            Self::Group(_) => ScopeKind::Group,
            Self::User(_) => ScopeKind::User,
            Self::Project(_) => ScopeKind::Project,
            Self::Task(_) => ScopeKind::Task,
        }
    }

    /// The id of the scope; `None` for the system.
    pub fn id(self) -> Option<Uuid> {
        match self {
            Self::System => None,
            Self::Group(id) => Some(id.into()),
            Self::User(id) => Some(id.into()),
            Self::Project(id) => Some(id.into()),
            Self::Task(id) => Some(id.into()),
        }
    }
}

/// A preference in a resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct PreferenceCandidate {
    pub scope: Scope,
    /// Case-sensitive.
    pub key: String,
    pub value: Value,
    /// The declared type, as stored.
    pub value_type: String,
    /// Incremented with every write.
    pub version: i64,
}

/// A preference that was skipped, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedCandidate {
    pub scope: Scope,
    pub key: String,
    pub reason: String,
}

/// The effective preferences.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EffectivePreferences {
    /// By key. A value may be null.
    pub effective: BTreeMap<String, PreferenceCandidate>,
    pub skipped: Vec<SkippedCandidate>,
}

/// Selects for each key the valid candidate of the highest-precedence scope.
pub fn resolve_preferences(mut candidates: Vec<PreferenceCandidate>) -> EffectivePreferences {
    if !cynode_fault::fault!("PMA-13") {
        candidates.sort_by_key(|candidate| candidate.scope);
    }
    let mut resolved = EffectivePreferences::default();
    for candidate in candidates {
        match validation_error(&candidate) {
            Some(reason) => {
                let PreferenceCandidate { scope, key, .. } = candidate;
                resolved.skipped.push(SkippedCandidate { scope, key, reason });
            }
            None => drop(resolved.effective.insert(candidate.key.clone(), candidate)),
        }
    }
    resolved
}

fn validation_error(candidate: &PreferenceCandidate) -> Option<String> {
    match candidate.value_type.parse::<ValueType>() {
        Err(unknown) => Some(unknown.to_string()),
        Ok(wanted) if !wanted.fits(&candidate.value) => {
            Some(format!("its value is not of type {wanted}"))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    fn group(n: u128) -> Scope {
        Scope::Group(Uuid::from_u128(n).into())
    }

    fn user() -> Scope {
        Scope::User(Uuid::from_u128(1).into())
    }

    fn project() -> Scope {
        Scope::Project(Uuid::from_u128(1).into())
    }

    fn task() -> Scope {
        Scope::Task(Uuid::from_u128(1).into())
    }

    fn text(scope: Scope, value: Value) -> PreferenceCandidate {
        let (key, value_type) = ("k".to_owned(), "string".to_owned());
        PreferenceCandidate { scope, key, value, value_type, version: 1 }
    }

    fn winner(candidates: Vec<PreferenceCandidate>) -> Option<Value> {
        resolve_preferences(candidates).effective.remove("k").map(|winner| winner.value)
    }

    #[test]
    fn each_scope_wins_over_every_weaker_one() {
        let order = [Scope::System, group(1), group(2), user(), project(), task()];
        for (index, scope) in order.into_iter().enumerate() {
            // Highest precedence first: the input order must not matter.
            let present = order[..=index].iter().rev();
            let all = present.map(|scope| text(*scope, json!(format!("{scope:?}")))).collect();

            assert_eq!(winner(all), Some(json!(format!("{scope:?}"))));
        }
    }

    #[test]
    fn null_hides_what_weaker_scopes_say() {
        let all = vec![text(Scope::System, json!("loud")), text(task(), Value::Null)];

        assert_eq!(winner(all), Some(Value::Null));
    }

    #[test]
    fn an_invalid_entry_is_passed_over_reported_and_hides_nothing() {
        let mut odd = text(project(), json!("x"));
        odd.value_type = "colour".to_owned();
        let all = vec![text(Scope::System, json!("loud")), text(task(), json!(7)), odd];

        let resolved = resolve_preferences(all);

        assert_eq!(resolved.effective["k"].value, json!("loud"));
        let said: Vec<_> =
            resolved.skipped.iter().map(|skipped| (skipped.scope, &*skipped.reason)).collect();
        let unknown = "\"colour\" is not a valid value type; use one of: string, number, boolean, object, array";
        assert_eq!(said, [(project(), unknown), (task(), "its value is not of type string")]);
    }

    #[test]
    fn a_scope_has_an_id_unless_it_is_the_system() {
        let id = Uuid::from_u128(7);
        for kind in ScopeKind::ALL {
            let made = Scope::new(*kind, Some(id));
            if *kind == ScopeKind::System {
                assert_eq!(made, Err(InvalidScope::UnexpectedId));
                continue;
            }
            let scope = made.unwrap();
            assert_eq!((scope.kind(), scope.id()), (*kind, Some(id)));
            assert_eq!(Scope::new(*kind, None), Err(InvalidScope::MissingId(*kind)));
        }
        assert_eq!(Scope::new(ScopeKind::System, None), Ok(Scope::System));
    }

    fn candidate() -> impl Strategy<Value = PreferenceCandidate> {
        let scope = select(vec![Scope::System, group(1), group(2), user(), project(), task()]);
        let value =
            select(vec![json!(null), json!("x"), json!(1), json!(true), json!([]), json!({})]);
        let types = vec!["string", "number", "boolean", "object", "array", "null"];
        (scope, select(vec!["a", "b", "A"]), value, select(types), 1..9_i64).prop_map(
            |(scope, key, value, value_type, version)| PreferenceCandidate {
                scope,
                key: key.to_owned(),
                value,
                value_type: value_type.to_owned(),
                version,
            },
        )
    }

    /// Entries in any order, one for each key of a scope.
    fn entries() -> impl Strategy<Value = Vec<PreferenceCandidate>> {
        let unique = prop::collection::vec(candidate(), 0..30).prop_map(|mut all| {
            all.sort_by_key(|one| (one.scope, one.key.clone()));
            all.dedup_by_key(|one| (one.scope, one.key.clone()));
            all
        });
        unique.prop_shuffle()
    }

    /// Reference implementation: the highest-precedence scope with a valid entry, null included.
    fn reference_winner(all: &[PreferenceCandidate], key: &str) -> Option<PreferenceCandidate> {
        let strongest_first = [task(), project(), user(), group(2), group(1), Scope::System];
        let is_valid = |one: &PreferenceCandidate| {
            one.value.is_null() && ValueType::ALL.iter().any(|ty| ty.as_str() == one.value_type)
                || ValueType::type_of(&one.value).as_str() == one.value_type
        };
        strongest_first.iter().find_map(|scope| {
            let here = |one: &&PreferenceCandidate| one.scope == *scope && one.key == key;
            all.iter().find(here).filter(|one| is_valid(one)).cloned()
        })
    }

    proptest! {
        #[test]
        fn what_holds_is_what_the_rules_say_whatever_order_entries_come_in(all in entries()) {
            let resolved = resolve_preferences(all.clone());

            for key in ["a", "b", "A"] {
                let expected = reference_winner(&all, key);
                prop_assert_eq!(resolved.effective.get(key), expected.as_ref());
            }
            let mut sorted = all.clone();
            sorted.sort_by_key(|one| (one.scope, one.key.clone()));
            let again = resolve_preferences(sorted);
            prop_assert_eq!(&again.effective, &resolved.effective);
            prop_assert_eq!(again.skipped.len(), resolved.skipped.len());
        }

        #[test]
        fn every_candidate_wins_is_beaten_by_a_valid_one_or_is_reported(
            mut all in prop::collection::vec(candidate(), 0..30)
        ) {
            // One entry for each key of a scope, as the database has it.
            all.sort_by_key(|one| (one.scope, one.key.clone()));
            all.dedup_by_key(|one| (one.scope, one.key.clone()));
            let resolved = resolve_preferences(all.clone());
            for one in &all {
                let is_valid = one.value_type.parse::<ValueType>().is_ok_and(|ty| ty.fits(&one.value));
                let is_reported = resolved
                    .skipped
                    .iter()
                    .any(|skipped| (skipped.scope, &skipped.key) == (one.scope, &one.key));
                prop_assert_eq!(is_reported, !is_valid);
                if is_valid {
                    prop_assert!(resolved.effective[&one.key].scope >= one.scope);
                }
            }
        }
    }
}
