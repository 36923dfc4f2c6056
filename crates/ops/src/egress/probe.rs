//! Finding out how a model is made to answer with a value of a schema.
//!
//! A model is probed once, before the first request that forces a function, with short questions that only a bound
//! model answers as demanded. Each is an ordinary call: decided, paid for and on record with purpose
//! `probe`. What was found holds until the provider's row changes, the orchestrator starts again, or the model
//! stops answering that way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::model::ProviderKind;
use cynode_llm::ProviderError;
use cynode_wire::openai::{
    ChatCompletion, ChatMessage, ChatRequest, FunctionDefinition, ToolDefinition,
};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::call::Asked;
use super::choose::Candidate;
use super::structured::{self, Structure};
use super::{Egress, EgressError, Inference};
use crate::secrets::CleanRequest;

/// The purpose of such calls on record.
const PURPOSE: &str = "probe";
/// The function that a probed model has to call.
const PROBE: &str = "cynode_probe";
/// A value that a model writes only if it is bound to.
const CODE: &str = "k7-nova";
const COUNT: u64 = 3;
/// Enough for the answer; a server that does not bind the model is cut off here.
const MAX_TOKENS: u64 = 48;

/// External providers: what their API documents comes first.
const EXTERNAL: [Structure; 3] =
    [Structure::ForcedTool, Structure::RequiredTool, Structure::JsonSchema];
/// Local providers: a schema binds by grammar and makes the shortest prompts.
const LOCAL: [Structure; 3] =
    [Structure::JsonSchema, Structure::ForcedTool, Structure::RequiredTool];

/// A model of a provider's row, as of one version of the row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Probed {
    provider: String,
    version: i64,
    model: String,
}

impl Probed {
    fn of(candidate: &Candidate) -> Self {
        let Candidate { provider, model } = candidate;
        Self { provider: provider.name.clone(), version: provider.version, model: model.clone() }
    }
}

/// What one model was found to honour. Locked while the model is probed, so that it is probed once.
type Slot = Arc<tokio::sync::Mutex<Option<Structure>>>;

/// What each model was found to honour.
#[derive(Debug, Default)]
pub(super) struct Structures {
    found: Mutex<HashMap<Probed, Slot>>,
}

impl Structures {
    fn slot(&self, model: &Probed) -> Slot {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|old, _| old.provider != model.provider || old.version >= model.version);
        Arc::clone(found.entry(model.clone()).or_default())
    }

    /// Forgets what was found: the model does not answer that way any more.
    pub(super) fn forget(&self, model: &Probed) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.remove(model);
    }
}

/// A forced function, and how this model is made to call it.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) function: FunctionDefinition,
    pub(super) structure: Structure,
    pub(super) model: Probed,
}

impl Egress {
    /// How the candidate is made to call the function that the request forces; none if it forces none.
    pub(super) async fn binding(
        &self,
        asked: &Asked<'_>,
        candidate: &Candidate,
    ) -> Option<Binding> {
        let function = structured::forced(&asked.request)?;
        let model = Probed::of(candidate);
        // Its API has forced tools, and the client translates them.
        if candidate.provider.kind == ProviderKind::Anthropic {
            return Some(Binding { function, structure: Structure::ForcedTool, model });
        }
        let slot = self.structures.slot(&model);
        let mut found = slot.lock().await;
        let structure = match *found {
            Some(structure) => structure,
            None => match self.probe(asked, candidate).await {
                Ok(structure) => *found.insert(structure),
                // The request itself says what is wrong, and the next one probes again.
                Err(error) => {
                    let (provider, model) = (&model.provider, &model.model);
                    warn!(provider, model, %error, "model {provider}/{model} could not be probed");
                    Structure::ForcedTool
                }
            },
        };
        Some(Binding { function, structure, model })
    }

    /// Tries one way after the other.
    async fn probe(
        &self,
        asked: &Asked<'_>,
        candidate: &Candidate,
    ) -> Result<Structure, EgressError> {
        let ways = if candidate.provider.is_local { LOCAL } else { EXTERNAL };
        let (provider, model) = (&candidate.provider.name, &candidate.model);
        for structure in ways {
            if self.honours(asked, candidate, structure).await? {
                let way = structure.as_str();
                info!(provider, model, way, "model {provider}/{model} honours {way}");
                return Ok(structure);
            }
        }
        info!(provider, model, "model {provider}/{model} honours no schema: it is asked for JSON");
        Ok(Structure::FencedJson)
    }

    async fn honours(
        &self,
        asked: &Asked<'_>,
        candidate: &Candidate,
        structure: Structure,
    ) -> Result<bool, EgressError> {
        let inference = Inference {
            purpose: PURPOSE.to_owned(),
            prompt_hash: None,
            tab: None,
            ..asked.inference.clone()
        };
        let mut request = question();
        let Some(function) = structured::forced(&request) else { return Ok(false) };
        match structure {
            // Without the description that a real request gets: an obedient model would follow that.
            Structure::JsonSchema => structured::bind_schema(&mut request, &function),
            Structure::ForcedTool | Structure::RequiredTool | Structure::FencedJson => {
                structured::adapt(&mut request, &function, structure);
            }
        }
        let asked = asked.about(&inference, CleanRequest::from(request.clone()));
        let ticket = self.admit(&asked, candidate).await?;
        request.model = Some(candidate.model.clone());
        match self.send_whole(ticket, request, None).await {
            Ok(answer) => Ok(fits(&answer, structure)),
            Err(EgressError::Provider { cause: ProviderError::Rejected { .. }, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A request that a model answers as demanded only if it is bound to.
fn question() -> ChatRequest {
    let schema = json!({
        "type": "object",
        "properties": {
            "code": { "enum": [CODE] },
            "count": { "type": "integer", "minimum": COUNT, "maximum": COUNT },
        },
        "required": ["code", "count"],
        "additionalProperties": false,
    });
    let tool = ToolDefinition::function(PROBE, "Gives the answer.", schema);
    ChatRequest {
        messages: vec![ChatMessage::text("user", "Say hello.")],
        tool_choice: tool.forced(),
        tools: vec![tool],
        max_tokens: Some(MAX_TOKENS),
        temperature: Some(0.0),
        ..ChatRequest::default()
    }
}

/// Whether an answer is what the probe demands, in the form that it demands.
fn fits(answer: &ChatCompletion, structure: Structure) -> bool {
    let Some(choice) = answer.choices.first() else { return false };
    let message = &choice.message;
    let text = match structure {
        Structure::ForcedTool | Structure::RequiredTool => {
            let call = message.tool_calls.first().and_then(|call| call.function.as_ref());
            call.filter(|call| call.name == PROBE).map(|call| call.arguments.as_str())
        }
        Structure::JsonSchema | Structure::FencedJson => message.content.as_deref(),
    };
    let value = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    choice.finish_reason.as_deref() != Some("length")
        && value.is_some_and(|value| value == json!({ "code": CODE, "count": COUNT }))
}
