//! Lists of several pages, within the limit of pages.
//!
//! GitHub and GitLab link the next page; Gitea links it on some lists and counts the entries on others.

use http::HeaderMap;
use http::header::LINK;
use serde::de::DeserializeOwned;

use super::{ForgeHttp, ForgeRequest, parse};
use crate::error::ForgeError;
use crate::item::BoundedList;

/// Headers with the number of entries of all pages: Gitea, GitLab.
const TOTAL_HEADERS: [&str; 2] = ["x-total-count", "x-total"];

impl ForgeHttp {
    /// Reads a list of entries.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        request: &ForgeRequest,
    ) -> Result<BoundedList<T>, ForgeError> {
        self.list_until(request, |page: Vec<T>| page, |_| false).await
    }

    /// The same for pages with another form, and only until an entry for which `is_last` holds.
    pub(crate) async fn list_until<P: DeserializeOwned, T>(
        &self,
        request: &ForgeRequest,
        entries_of_page: impl Fn(P) -> Vec<T>,
        is_last: impl Fn(&T) -> bool,
    ) -> Result<BoundedList<T>, ForgeError> {
        let mut list = BoundedList::default();
        for page in 1..=self.limits.max_pages.max(1) {
            let size = self.limits.page_size.clamp(1, 100).to_string();
            let request = request
                .clone()
                .query(self.profile.page_size_key, size)
                .query("page", page.to_string());
            let response = self.send(&request).await?;
            let entries = entries_of_page(parse(&response.body, &request)?);
            let is_empty = entries.is_empty();
            let is_found = entries.iter().any(&is_last);
            list.entries.extend(entries);
            if is_found || is_empty || !has_next(&response.headers, list.entries.len()) {
                return Ok(list);
            }
        }
        list.is_truncated = true;
        Ok(list)
    }
}

/// Whether there is another page after `count` entries.
fn has_next(headers: &HeaderMap, count: usize) -> bool {
    let is_linked = headers
        .get_all(LINK)
        .iter()
        .filter_map(|link| link.to_str().ok())
        .flat_map(|link| link.split(','))
        .any(|link| link.contains("rel=\"next\"") || link.contains("rel=next"));
    let total = TOTAL_HEADERS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    let total = total.and_then(|total| total.parse::<usize>().ok());
    is_linked || total.is_some_and(|total| count < total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn the_next_page_is_linked_or_counted() {
        let link = r#"<https://x/?page=1>; rel="prev", <https://x/?page=3>; rel="next""#;

        assert!(has_next(&headers("link", link), 9));
        assert!(!has_next(&headers("link", r#"<https://x/?page=1>; rel="first""#), 9));
        assert!(has_next(&headers("x-total-count", "10"), 9));
        assert!(!has_next(&headers("x-total-count", "10"), 10));
        assert!(!has_next(&HeaderMap::new(), 9));
    }
}
