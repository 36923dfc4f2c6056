//! `web.*`: documents from the web.

mod charset;
mod fetch;
mod page;

use super::BuiltinToolSpec;

pub(super) fn all() -> [BuiltinToolSpec; 1] {
    [fetch::TOOL]
}
