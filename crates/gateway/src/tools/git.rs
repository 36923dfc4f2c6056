//! `git.*`: repositories of tasks.

mod diff;
mod pr_create;
mod push;
mod repo_validate;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 4] {
    [diff::TOOL, pr_create::TOOL, push::TOOL, repo_validate::TOOL]
}
