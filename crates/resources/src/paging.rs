//! Pagination of lists ordered by id, newest first.

use std::str::FromStr;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_wire::page::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};

/// An invalid page request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error(
        "cursor \"{0}\" is invalid: pass `next_cursor` of the previous page, or omit it for the first page"
    )]
    InvalidCursor(String),
    #[error("limit must be between 1 and {MAX_LIMIT}, got {0}")]
    InvalidLimit(u32),
}

impl Classified for PageError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::InvalidCursor(_) | Self::InvalidLimit(_) => {
                Classification::new(ErrorClass::Invalid, self)
            }
        }
    }
}

/// A validated page request.
pub struct PageRequest<Id> {
    /// Only items before this one in list order.
    pub before: Option<Id>,
    /// Page size plus one, to detect whether another page follows.
    pub fetch: u32,
}

impl<Id: FromStr> PageRequest<Id> {
    pub fn parse(query: &PageQuery) -> Result<Self, PageError> {
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(PageError::InvalidLimit(limit));
        }
        let before = match &query.cursor {
            Some(text) => Some(
                text.parse()
                    .map_err(|_| PageError::InvalidCursor(text.chars().take(40).collect()))?,
            ),
            None => None,
        };
        Ok(Self { before, fetch: limit + 1 })
    }

    /// Truncates the fetched items to a page; `id` returns an item's cursor.
    pub fn page<T, V>(
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
            PageRequest::parse(&PageQuery { limit: Some(2), cursor: None }).unwrap();

        let full = request.page(vec![9, 8, 7], ToString::to_string, |n| n);
        let last = request.page(vec![9], ToString::to_string, |n| n);

        assert_eq!(full, Page { items: vec![9, 8], next_cursor: Some("8".to_owned()) });
        assert_eq!(last, Page { items: vec![9], next_cursor: None });
    }

    #[test]
    fn odd_limits_and_cursors_are_refused_in_words() {
        let limit = PageRequest::<u64>::parse(&PageQuery { limit: Some(0), cursor: None });
        let cursor =
            PageRequest::<u64>::parse(&PageQuery { limit: None, cursor: Some("x".to_owned()) });

        assert_eq!(limit.err(), Some(PageError::InvalidLimit(0)));
        assert_eq!(cursor.err(), Some(PageError::InvalidCursor("x".to_owned())));
    }
}
