//! What an agent notes while its job runs.

mod add;
mod delete;
mod list;
mod retrieve;

use super::Builtin;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 4] {
    [add::TOOL, delete::TOOL, list::TOOL, retrieve::TOOL]
}
