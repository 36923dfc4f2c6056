//! What the project manager alone asks for.

mod analyst_request;

use super::Builtin;

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 1] {
    [analyst_request::TOOL]
}
