//! The upstream server behind the gateway under test.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_gateway::seams::{
    ClientSide, ServerAbout, SessionKey, Upstream, UpstreamError, Upstreams,
};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::Counts;

/// The upstream server: it counts, and answers everything.
#[derive(Clone)]
pub(crate) struct Server {
    counts: Arc<Counts>,
    about: ServerAbout,
}

impl Server {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        Self { counts, about: about() }
    }
}

fn about() -> ServerAbout {
    let raw = |value: Value| RawValue::from_string(value.to_string()).unwrap();
    ServerAbout {
        capabilities: raw(json!({ "tools": {}, "resources": {}, "prompts": {} })),
        info: raw(json!({ "name": "fz", "version": "1" })),
        instructions: None,
    }
}

/// Whether a call is the one that may reach the server, for every reader: one that takes the first of
/// two equal members and one that takes the last see the same.
fn is_allowed_call(message: &str) -> bool {
    let Some(params) = only(message, "params") else { return false };
    let text = only(params, "arguments").and_then(|arguments| only(arguments, "text"));
    only(message, "method").is_some()
        && only(params, "name").is_some_and(|name| {
            serde_json::from_str::<String>(name).is_ok_and(|name| name == "echo")
        })
        && text.is_some_and(|text| text.starts_with('"'))
}

/// The member of an object that has this name, if exactly one has.
fn only<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let Members(members) = serde_json::from_str(object).ok()?;
    let mut found = members.into_iter().filter(|(own, _)| own == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value.get()),
        _ => None,
    }
}

/// All members of an object, equal names and all.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[async_trait]
impl Upstream for Server {
    fn about(&self) -> &ServerAbout {
        &self.about
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        _: Arc<dyn ClientSide>,
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
impl Upstreams for Server {
    async fn open(
        &self,
        _: ServerId,
        _: &SessionKey,
        _: Arc<dyn ClientSide>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Ok(Arc::new(self.clone()))
    }

    async fn close(&self, _: &SessionKey) {}

    async fn forget(&self, _: ServerId) {}
}
