//! `pm.*`: tools of the project manager alone.

mod analyst_request;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 1] {
    [analyst_request::TOOL]
}
