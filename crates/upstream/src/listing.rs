//! The lists of a server: tools, resources, templates and prompts.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ListedTool;
use super::conversation::{NullClient, UpstreamSession};
use super::message::{ResponseBody, ServerMessage};
use crate::interface::ClientDescription;
use crate::interface::Upstream as _;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;
use crate::mirrored_headers::parse_mirrored_arguments;
use crate::protocol::STATELESS;
use crate::rpc;

/// Limits per list, against servers that page without end.
const MAX_ITEMS: usize = 10_000;
const MAX_PAGES: usize = 1000;

/// Everything a server offers, in its own JSON.
#[derive(Debug, Default, Clone)]
pub struct ServerListing {
    pub tools: Vec<Box<RawValue>>,
    pub resources: Vec<Box<RawValue>>,
    pub templates: Vec<Box<RawValue>>,
    pub prompts: Vec<Box<RawValue>>,
}

impl ServerListing {
    /// Reads every list that the server announces, page by page.
    pub(super) async fn read(conversation: &UpstreamSession) -> Result<Self, UpstreamError> {
        let able: Value =
            serde_json::from_str(conversation.about().capabilities.get()).unwrap_or_default();
        let list = async |capability: &str, method: &str, member: &str| {
            if able.get(capability).is_none() {
                return Ok(vec![]);
            }
            all(conversation, method, member).await
        };
        Ok(Self {
            tools: list("tools", "tools/list", "tools").await?,
            resources: list("resources", "resources/list", "resources").await?,
            // Many servers with resources reject the templates method.
            templates: list("resources", "resources/templates/list", "resourceTemplates")
                .await
                .or_else(|error| if is_refusal(&error) { Ok(vec![]) } else { Err(error) })?,
            prompts: list("prompts", "prompts/list", "prompts").await?,
        })
    }

    /// Reads only the tools.
    pub(super) async fn read_tools(conversation: &UpstreamSession) -> Result<Self, UpstreamError> {
        Ok(Self { tools: all(conversation, "tools/list", "tools").await?, ..Self::default() })
    }

    /// The parsed tools. Skips a tool without a name or with invalid annotations, so that the
    /// others remain usable.
    pub(super) fn listed_tools(&self) -> Vec<ListedTool> {
        let read = |tool: &RawValue| {
            let definition = rpc::parse_strict(tool).ok()?;
            let name = definition.get("name")?.as_str()?.to_owned();
            if let Err(fault) =
                definition.get("inputSchema").map_or(Ok(vec![]), parse_mirrored_arguments)
            {
                tracing::warn!(tool.name = %name, %fault, "tool skipped: invalid annotations");
                return None;
            }
            Some(ListedTool { name, definition })
        };
        self.tools.iter().filter_map(|tool| read(tool)).collect()
    }
}

fn is_refusal(error: &UpstreamError) -> bool {
    matches!(error, UpstreamError::Protocol(_))
}

async fn all(
    conversation: &UpstreamSession,
    method: &str,
    member: &str,
) -> Result<Vec<Box<RawValue>>, UpstreamError> {
    let wrong = |reason: &str| UpstreamError::Protocol(format!("{method}: {reason}"));
    let mut items = vec![];
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params =
            cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut page = read_page(conversation, method, &params).await?;
        let found: Vec<Box<RawValue>> = page
            .remove(member)
            .and_then(|found| serde_json::from_str(found.get()).ok())
            .ok_or_else(|| wrong("the response contains no list"))?;
        items.extend(found);
        if items.len() > MAX_ITEMS {
            return Err(wrong("the list is too long"));
        }
        cursor = page.remove("nextCursor").and_then(|next| serde_json::from_str(next.get()).ok());
        match &cursor {
            None => return Ok(items),
            Some(cursor) if !cursors.insert(cursor.clone()) => {
                return Err(wrong("the page cursors form a circle"));
            }
            Some(_) => {}
        }
    }
    Err(wrong("the list has too many pages"))
}

async fn read_page(
    conversation: &UpstreamSession,
    method: &str,
    params: &Value,
) -> Result<std::collections::HashMap<String, Box<RawValue>>, UpstreamError> {
    let client: Arc<dyn UpstreamClient> = Arc::new(NullClient(gateway_client()));
    let request = rpc::request("0", method, &params.to_string());
    let answer = conversation.request(request, client, CancellationToken::new()).await?;
    match ServerMessage::read(&answer)? {
        ServerMessage::Response { body: ResponseBody::Result(result), .. } => {
            serde_json::from_str(result.get())
                .map_err(|error| UpstreamError::Protocol(error.to_string()))
        }
        ServerMessage::Response { .. }
        | ServerMessage::Request { .. }
        | ServerMessage::Notification { .. } => {
            Err(UpstreamError::Protocol(format!("it rejected {method}")))
        }
    }
}

/// The client description for requests that the gateway sends for itself.
pub(super) fn gateway_client() -> ClientDescription {
    let info = Some(rpc::raw(crate::protocol::server_info().to_string()));
    let capabilities = rpc::raw("{}".to_owned());
    ClientDescription { version: STATELESS.to_owned(), capabilities, info }
}
