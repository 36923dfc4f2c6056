//! `artifact.*`: files of tasks.

mod get;
mod list;
mod put;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 3] {
    [get::TOOL, list::TOOL, put::TOOL]
}
