//! The upstream server behind the gateway under test.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_upstream::interface::ServerDescription;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::Upstream;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::interface::UpstreamError;
use cynode_upstream::interface::Upstreams;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::FuzzCounts;

/// Counts requests, and answers each of them.
#[derive(Clone)]
pub(crate) struct FuzzServer {
    counts: Arc<FuzzCounts>,
    about: ServerDescription,
}

impl FuzzServer {
    pub(crate) fn new(counts: Arc<FuzzCounts>) -> Self {
        Self { counts, about: about() }
    }
}

fn about() -> ServerDescription {
    let raw = |value: Value| RawValue::from_string(value.to_string()).unwrap();
    ServerDescription {
        capabilities: raw(json!({ "tools": {}, "resources": {}, "prompts": {} })),
        info: raw(json!({ "name": "fz", "version": "1" })),
        instructions: None,
    }
}

/// Whether this is the permitted call for every parser: one that takes the first of two equal
/// members and one that takes the last see the same.
fn is_allowed_call(message: &str) -> bool {
    let Some(params) = only(message, "params") else { return false };
    let text = only(params, "arguments").and_then(|arguments| only(arguments, "text"));
    only(message, "method").is_some()
        && only(params, "name").is_some_and(|name| {
            serde_json::from_str::<String>(name).is_ok_and(|name| name == "echo")
        })
        && text.is_some_and(|text| text.starts_with('"'))
}

/// The member with this name, if there is exactly one.
fn only<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let DuplicateMembers(members) = serde_json::from_str(object).ok()?;
    let mut found = members.into_iter().filter(|(own, _)| own == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value.get()),
        _ => None,
    }
}

/// All members of an object, duplicates included.
struct DuplicateMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for DuplicateMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DuplicateMembersVisitor;
        impl<'de> Visitor<'de> for DuplicateMembersVisitor {
            type Value = DuplicateMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(DuplicateMembers(members))
            }
        }
        deserializer.deserialize_map(DuplicateMembersVisitor)
    }
}

#[async_trait]
impl Upstream for FuzzServer {
    fn about(&self) -> &ServerDescription {
        &self.about
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        _: Arc<dyn UpstreamClient>,
        _: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let value: Value = serde_json::from_str(message.get()).unwrap_or_default();
        if value["method"] == "tools/call" {
            self.counts.reached.fetch_add(1, Ordering::SeqCst);
            if !is_allowed_call(message.get()) {
                self.counts.forbidden.fetch_add(1, Ordering::SeqCst);
            }
        }
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        let answer = json!({ "jsonrpc": "2.0", "id": value["id"], "result": result });
        Ok(RawValue::from_string(answer.to_string()).unwrap())
    }

    async fn notify(&self, _: Box<RawValue>) -> Result<(), UpstreamError> {
        Ok(())
    }
}

#[async_trait]
impl Upstreams for FuzzServer {
    async fn open(
        &self,
        _: ServerId,
        _: &SessionKey,
        _: Arc<dyn UpstreamClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Ok(Arc::new(self.clone()))
    }

    async fn close(&self, _: &SessionKey) {}

    async fn drop_connections(&self, _: ServerId) {}
}
