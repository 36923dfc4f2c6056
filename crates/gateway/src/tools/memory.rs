//! `memory.*`: notes of an agent during its job.

mod add;
mod delete;
mod list;
mod retrieve;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 4] {
    [add::TOOL, delete::TOOL, list::TOOL, retrieve::TOOL]
}
