//! `git.*`: repositories of tasks.

mod diff;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 1] {
    [diff::TOOL]
}
