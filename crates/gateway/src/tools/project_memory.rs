//! `project_memory.*`: what a project remembers across tasks, in one profile.

mod add;
mod delete;
mod get;
mod list;
mod search;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 5] {
    [add::TOOL, delete::TOOL, get::TOOL, list::TOOL, search::TOOL]
}
