//! The profiles whose tasks a list has.

/// The profiles whose tasks, or what belongs to them, a list contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListedProfiles {
    #[default]
    All,
    /// The default profile of each project.
    Default,
}

impl ListedProfiles {
    /// The condition of a statement in which the table `tasks` has the name `tasks_name`: with a leading `AND`, empty for all
    /// profiles. A task without a profile has the default one.
    pub(crate) fn and_condition(self, tasks_name: &str) -> String {
        match self {
            Self::All => String::new(),
            Self::Default => format!(" AND {tasks_name}.profile_id IS NULL"),
        }
    }
}
