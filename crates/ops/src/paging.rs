//! Pages of lists that are ordered by id, newest first.

use std::str::FromStr;

use cynode_wire::page::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};

/// The page asked for cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCursor {
    /// The cursor is not one that a list gave out.
    #[error("cursor \"{0}\" is not one that a list gave out: leave it away for the first page")]
    Unknown(String),
    /// The page size is out of range.
    #[error("limit is {0}; allowed is 1 to {MAX_LIMIT}")]
    Limit(u32),
}

/// A page request, checked.
pub(crate) struct PageRequest<Id> {
    /// Only items older than this one.
    pub(crate) before: Option<Id>,
    /// One more than the page holds, to see whether another page follows.
    pub(crate) fetch: u32,
}

impl<Id: FromStr> PageRequest<Id> {
    pub(crate) fn check(query: &PageQuery) -> Result<Self, BadCursor> {
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(BadCursor::Limit(limit));
        }
        let before = match &query.cursor {
            Some(text) => Some(
                text.parse().map_err(|_| BadCursor::Unknown(text.chars().take(40).collect()))?,
            ),
            None => None,
        };
        Ok(Self { before, fetch: limit + 1 })
    }

    /// Cuts what was fetched to a page; `id` gives an item's place.
    pub(crate) fn page<T, V>(
        &self,
        mut items: Vec<T>,
        id: impl Fn(&T) -> String,
        view: impl FnMut(T) -> V,
    ) -> Page<V> {
        let limit = (self.fetch - 1) as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = if has_more { items.last().map(id) } else { None };
        Page { items: items.into_iter().map(view).collect(), next_cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_page_names_its_last_item_and_a_short_one_nothing() {
        let request: PageRequest<u64> =
            PageRequest::check(&PageQuery { limit: Some(2), cursor: None }).unwrap();

        let full = request.page(vec![9, 8, 7], ToString::to_string, |n| n);
        let last = request.page(vec![9], ToString::to_string, |n| n);

        assert_eq!(full, Page { items: vec![9, 8], next_cursor: Some("8".to_owned()) });
        assert_eq!(last, Page { items: vec![9], next_cursor: None });
    }

    #[test]
    fn odd_limits_and_cursors_are_refused_in_words() {
        let limit = PageRequest::<u64>::check(&PageQuery { limit: Some(0), cursor: None });
        let cursor =
            PageRequest::<u64>::check(&PageQuery { limit: None, cursor: Some("x".to_owned()) });

        assert_eq!(limit.err(), Some(BadCursor::Limit(0)));
        assert_eq!(cursor.err(), Some(BadCursor::Unknown("x".to_owned())));
    }
}
