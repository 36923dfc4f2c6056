//! Worker nodes.

mod get;
mod list;

use super::Builtin;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 2] {
    [get::TOOL, list::TOOL]
}
