//! What a server offers: its tools, resources, templates and prompts.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::SeenTool;
use super::conversation::{Conversation, Nobody};
use super::message::{Body, Incoming};
use crate::mirror::declared;
use crate::protocol::STATELESS;
use crate::rpc;
use crate::seams::{ClientAbout, ClientSide, Upstream as _, UpstreamError};

/// How much a server may offer of each kind.
const ITEMS: usize = 10_000;
const PAGES: usize = 1000;

/// Everything a server offers, as it describes it.
#[derive(Debug, Default, Clone)]
pub struct Listing {
    /// Its tools.
    pub tools: Vec<Box<RawValue>>,
    /// Its resources.
    pub resources: Vec<Box<RawValue>>,
    /// Its resource templates.
    pub templates: Vec<Box<RawValue>>,
    /// Its prompts.
    pub prompts: Vec<Box<RawValue>>,
}

impl Listing {
    /// Reads every list that the server says it has, page by page.
    pub(super) async fn read(conversation: &Conversation) -> Result<Self, UpstreamError> {
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
            // Many servers with resources know no templates, and say so with an error.
            templates: list("resources", "resources/templates/list", "resourceTemplates")
                .await
                .or_else(|error| if is_refusal(&error) { Ok(vec![]) } else { Err(error) })?,
            prompts: list("prompts", "prompts/list", "prompts").await?,
        })
    }

    /// Reads the tools alone.
    pub(super) async fn read_tools(conversation: &Conversation) -> Result<Self, UpstreamError> {
        Ok(Self { tools: all(conversation, "tools/list", "tools").await?, ..Self::default() })
    }

    /// The tools, read. One that has no name is no tool; one whose annotations cannot be followed
    /// is left out, so that the others can be used.
    pub(super) fn seen_tools(&self) -> Vec<SeenTool> {
        let read = |tool: &RawValue| {
            let definition = rpc::read_strictly(tool).ok()?;
            let name = definition.get("name")?.as_str()?.to_owned();
            if let Err(fault) = definition.get("inputSchema").map_or(Ok(vec![]), declared) {
                tracing::warn!(tool.name = %name, %fault, "the tool {name} is left out: {fault}");
                return None;
            }
            Some(SeenTool { name, definition })
        };
        self.tools.iter().filter_map(|tool| read(tool)).collect()
    }
}

fn is_refusal(error: &UpstreamError) -> bool {
    matches!(error, UpstreamError::Protocol(_))
}

async fn all(
    conversation: &Conversation,
    method: &str,
    member: &str,
) -> Result<Vec<Box<RawValue>>, UpstreamError> {
    let wrong = |reason: &str| UpstreamError::Protocol(format!("{method}: {reason}"));
    let mut items = vec![];
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params =
            cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut page = page(conversation, method, &params).await?;
        let found: Vec<Box<RawValue>> = page
            .remove(member)
            .and_then(|found| serde_json::from_str(found.get()).ok())
            .ok_or_else(|| wrong("there is no list in the answer"))?;
        items.extend(found);
        if items.len() > ITEMS {
            return Err(wrong("the list is too long"));
        }
        cursor = page.remove("nextCursor").and_then(|next| serde_json::from_str(next.get()).ok());
        match &cursor {
            None => return Ok(items),
            Some(cursor) if !cursors.insert(cursor.clone()) => {
                return Err(wrong("the pages go in a circle"));
            }
            Some(_) => {}
        }
    }
    Err(wrong("the list has too many pages"))
}

async fn page(
    conversation: &Conversation,
    method: &str,
    params: &Value,
) -> Result<std::collections::HashMap<String, Box<RawValue>>, UpstreamError> {
    let client: Arc<dyn ClientSide> = Arc::new(Nobody(ourselves()));
    let request = rpc::request("0", method, &params.to_string());
    let answer = conversation.request(request, client, CancellationToken::new()).await?;
    match Incoming::read(&answer)? {
        Incoming::Response { body: Body::Result(result), .. } => serde_json::from_str(result.get())
            .map_err(|error| UpstreamError::Protocol(error.to_string())),
        Incoming::Response { .. } | Incoming::Request { .. } | Incoming::Notification { .. } => {
            Err(UpstreamError::Protocol(format!("{method} is refused")))
        }
    }
}

/// How we introduce ourselves when we ask on nobody's behalf.
pub(super) fn ourselves() -> ClientAbout {
    let info = Some(rpc::raw(crate::protocol::server_info().to_string()));
    let capabilities = rpc::raw("{}".to_owned());
    ClientAbout { version: STATELESS.to_owned(), capabilities, info }
}
