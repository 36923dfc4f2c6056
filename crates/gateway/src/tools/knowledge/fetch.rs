//! `knowledge.fetch`

use cynode_domain::knowledge::DocumentKind;
use cynode_domain::policy::ErrorKind;
use cynode_domain::policy::ToolScope;
use cynode_retrieval::DocumentContent;
use cynode_wire::tool_calls::{KnowledgeFetch, ToolCall as _};
use reqwest::Url;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::handlers::may_use_network;
use crate::tools::profile_access::profile_access;
use crate::tools::schema::result_schema;
use crate::tools::to_json;
use crate::tools::web::fetch::{WebDocument, fetch_document, read_text};

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: KnowledgeFetch::NAME,
    title: "Add a web document to the knowledge of the project",
    description: "Adds the document at a URL to the knowledge of the project. Only hosts that web.fetch may reach are reachable.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: KnowledgeFetch::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["profile_id", "items"])
}

async fn run(context: ToolContext, arguments: KnowledgeFetch) -> Result<Value, ToolFault> {
    let KnowledgeFetch { project_id, profile, source, url } = arguments;
    if !may_use_network(&context) {
        let fault = "the caller may not use web.fetch, and so adds no web documents";
        return Err(ToolFault::new(ErrorKind::PolicyViolation, fault));
    }
    let url = Url::parse(&url).map_err(|_| ToolFault::invalid("url is not a URL"))?;
    let fetched = fetch_document(&context, url).await?;
    if !fetched.status.is_success() {
        let fault = format!("the server answered {}", fetched.status);
        return Err(ToolFault::new(ErrorKind::FetchFailed, fault));
    }
    if fetched.is_truncated {
        return Err(ToolFault::new(ErrorKind::FetchFailed, "the document is too large"));
    }
    let (path, host) = (document_path(&fetched.url), fetched.url.host_str().unwrap_or("web"));
    let source = source.unwrap_or_else(|| host.to_owned());
    let document = match read_text(&fetched)? {
        WebDocument::Page(html) => {
            DocumentContent { path, content: html, kind: Some(DocumentKind::Html) }
        }
        WebDocument::Text(text) => DocumentContent { path, content: text, kind: None },
    };
    let access = profile_access(&context, project_id, profile);
    to_json(context.services.knowledge.ingest(access, &source, vec![document]).await?)
}

/// The path of a document: host and path of its URL, without empty parts.
fn document_path(url: &Url) -> String {
    let parts = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
    let mut path: Vec<&str> = url.host_str().into_iter().chain(parts).collect();
    if path.len() == 1 {
        path.push("index.html");
    }
    let mut path = path.join("/");
    if let Some(query) = url.query() {
        path = format!("{path}?{query}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_document_is_its_url_without_scheme_and_empty_parts() {
        let path = |url: &str| document_path(&Url::parse(url).unwrap());

        assert_eq!(path("https://docs.example/"), "docs.example/index.html");
        assert_eq!(path("https://docs.example/a//b/?q=1#x"), "docs.example/a/b?q=1");
        assert_eq!(path("https://docs.example/../a"), "docs.example/a");
    }
}
