//! `node.*`: worker nodes.

mod get;
mod list;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 2] {
    [get::TOOL, list::TOOL]
}
