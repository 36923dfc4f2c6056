//! One request to the API of a forge.

use http::Method;
use reqwest::Url;
use serde_json::Value;

use crate::error::ForgeError;

/// A request, relative to the URL of the API.
#[derive(Debug, Clone)]
pub(crate) struct ForgeRequest {
    pub(crate) method: Method,
    /// Segments of the path; a slash in one of them is encoded.
    segments: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
    /// What is requested, for messages.
    pub(crate) what: String,
    is_beside_rest: bool,
}

impl ForgeRequest {
    pub(crate) fn get<'s>(
        what: impl Into<String>,
        segments: impl IntoIterator<Item = &'s str>,
    ) -> Self {
        Self {
            method: Method::GET,
            segments: segments.into_iter().map(str::to_owned).collect(),
            query: Vec::new(),
            body: None,
            what: what.into(),
            is_beside_rest: false,
        }
    }

    /// The same with a method that writes.
    pub(crate) fn write<'s>(
        method: Method,
        what: impl Into<String>,
        segments: impl IntoIterator<Item = &'s str>,
        body: Value,
    ) -> Self {
        Self { method, body: Some(body), ..Self::get(what, segments) }
    }

    pub(crate) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    /// GraphQL of GitHub is beside the version of the REST API: `/api/graphql`, not `/api/v3/graphql`.
    pub(crate) fn beside_rest(self) -> Self {
        Self { is_beside_rest: true, ..self }
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// The URL of the request. A segment that would change the path is rejected.
    pub(super) fn url(&self, api_url: &Url) -> Result<Url, ForgeError> {
        let not_found = || ForgeError::NotFound { what: self.what.clone() };
        let is_odd = |segment: &String| {
            matches!(segment.as_str(), "" | "." | "..") || segment.contains(char::is_control)
        };
        if self.segments.iter().any(is_odd) {
            return Err(not_found());
        }
        let mut url = api_url.clone();
        let is_versioned = url.path().ends_with("/v3");
        let mut path = url.path_segments_mut().map_err(|()| not_found())?;
        path.pop_if_empty();
        if self.is_beside_rest && is_versioned {
            path.pop();
        }
        path.extend(&self.segments);
        drop(path);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(segments: &[&str]) -> Result<String, ForgeError> {
        let api = Url::parse("https://lab.example/sub/api/v4").unwrap();
        let request = ForgeRequest::get("it", segments.iter().copied()).query("head", "a:b&c/d");
        request.url(&api).map(|url| url.to_string())
    }

    #[test]
    fn segments_and_queries_are_encoded() {
        assert_eq!(
            url(&["projects", "g/s/p", "members", "50% ?#"]).unwrap(),
            "https://lab.example/sub/api/v4/projects/g%2Fs%2Fp/members/50%25%20%3F%23?head=a%3Ab%26c%2Fd"
        );
    }

    #[test]
    fn a_name_cannot_change_the_path() {
        for segment in ["", ".", "..", "a\nb"] {
            assert!(url(&["users", segment, "x"]).is_err(), "{segment:?}");
        }
    }
}
