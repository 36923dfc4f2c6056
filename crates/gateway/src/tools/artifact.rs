//! Files of tasks.

mod get;
mod list;
mod put;

use super::Builtin;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 3] {
    [get::TOOL, list::TOOL, put::TOOL]
}
