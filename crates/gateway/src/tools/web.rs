//! `web.*`: documents from the web.

mod charset;
pub(super) mod fetch;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 1] {
    [fetch::TOOL]
}
