//! `git.*`: repositories of tasks.

mod diff;
mod push;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 2] {
    [diff::TOOL, push::TOOL]
}
