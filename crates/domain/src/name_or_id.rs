//! References to a resource by its name or its id, parsed once at the edge.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A longer reference is truncated in messages.
const MAX_SHOWN_CHARS: usize = 100;

/// A resource as callers refer to it. A text that is a UUID is an id: no name has that form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NameOrId<Id> {
    Id(Id),
    /// As given: not normalised, and not checked to exist.
    Name(String),
}

impl<Id: fmt::Display> NameOrId<Id> {
    /// The reference for error messages, of limited length.
    pub fn excerpt(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Name(name) => name.chars().take(MAX_SHOWN_CHARS).collect(),
        }
    }
}

impl<Id: Copy + Into<Uuid>> NameOrId<Id> {
    /// The same text as a reference to another kind of resource.
    pub fn retype<Other: From<Uuid>>(&self) -> NameOrId<Other> {
        match self {
            Self::Id(id) => NameOrId::Id(Other::from((*id).into())),
            Self::Name(name) => NameOrId::Name(name.clone()),
        }
    }
}

impl<Id: FromStr> From<String> for NameOrId<Id> {
    fn from(text: String) -> Self {
        text.parse().map_or(Self::Name(text), Self::Id)
    }
}

impl<Id: FromStr> From<&str> for NameOrId<Id> {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }
}

impl<Id: FromStr> From<&String> for NameOrId<Id> {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl<Id: FromStr> FromStr for NameOrId<Id> {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl<Id: fmt::Display> fmt::Display for NameOrId<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl<Id: fmt::Display> Serialize for NameOrId<Id> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, Id: FromStr> Deserialize<'de> for NameOrId<Id> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{RunId, TaskId};

    #[test]
    fn a_uuid_is_an_id_and_every_other_text_a_name() {
        let id = TaskId::generate();

        assert_eq!(NameOrId::from(id.to_string()), NameOrId::Id(id));
        let named: NameOrId<TaskId> = "Fix-Login".parse().unwrap();
        assert_eq!(named, NameOrId::Name("Fix-Login".to_owned()));
    }

    #[test]
    fn on_the_wire_it_is_the_text() {
        let id: NameOrId<TaskId> = TaskId::generate().into();
        for reference in [id, NameOrId::from("fix-login")] {
            let json = serde_json::to_value(&reference).unwrap();

            assert_eq!(json, reference.to_string());
            assert_eq!(serde_json::from_value::<NameOrId<TaskId>>(json).unwrap(), reference);
        }
    }

    #[test]
    fn a_long_name_is_truncated_in_messages() {
        assert_eq!(NameOrId::<TaskId>::from("é".repeat(200)).excerpt(), "é".repeat(100));
    }

    #[test]
    fn an_id_can_refer_to_another_kind_of_resource() {
        let run = RunId::generate();

        let task: NameOrId<TaskId> = NameOrId::from(run).retype();
        assert_eq!(task, NameOrId::Id(TaskId::from(run.as_uuid())));
    }
}
