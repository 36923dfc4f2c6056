//! Documents of the web.

mod charset;
mod fetch;
mod page;

use super::Builtin;

pub(crate) use fetch::NAME as FETCH;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 1] {
    [fetch::TOOL]
}
