//! `node.*`: worker nodes.

mod get;
mod lease_create;
mod list;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 3] {
    [get::TOOL, lease_create::TOOL, list::TOOL]
}
