//! Cursor pagination, the same for every list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default page size.
pub const DEFAULT_LIMIT: u32 = 50;
/// Maximum page size.
pub const MAX_LIMIT: u32 = 200;
/// The longest cursor.
pub const MAX_CURSOR_CHARS: usize = 200;

/// Paging parameters.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[schemars(length(min = 1, max = MAX_CURSOR_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Cursor of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
