//! Detects how a model is made to return a value of a schema.
//!
//! A model is probed once, before the first request that forces a function, with short prompts that
//! only a constrained model answers as required. Each probe is an ordinary call: authorised,
//! charged and recorded with purpose `probe`. The result is cached until the provider's row
//! changes, the orchestrator restarts, or the model stops answering that way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::model::ProviderKind;
use cynode_llm::ProviderError;
use cynode_llm_wire::openai::{
    ChatCompletion, ChatMessage, ChatRequest, FunctionDefinition, ToolDefinition,
};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::call::EgressCall;
use super::resolve::ModelCandidate;
use super::structured::{self, AnswerStructure};
use super::{Egress, EgressError, Inference};
use cynode_resources::secrets::RedactedRequest;

/// Purpose of probe calls in the record.
const PURPOSE: &str = "probe";
/// The function that a probe forces.
const PROBE: &str = "cynode_probe";
/// A value that a model writes only if it is constrained to.
const CODE: &str = "k7-nova";
const COUNT: u64 = 3;
/// Enough for the answer; cuts off a server that does not constrain the model.
const MAX_TOKENS: u64 = 48;

/// External providers: the documented API first.
const EXTERNAL: [AnswerStructure; 3] =
    [AnswerStructure::ForcedTool, AnswerStructure::RequiredTool, AnswerStructure::JsonSchema];
/// Local providers: a schema constrains by grammar and makes the shortest prompts.
const LOCAL: [AnswerStructure; 3] =
    [AnswerStructure::JsonSchema, AnswerStructure::ForcedTool, AnswerStructure::RequiredTool];

/// A model of one version of a provider's row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProbedModel {
    provider: String,
    version: i64,
    model: String,
}

impl ProbedModel {
    fn new(candidate: &ModelCandidate) -> Self {
        let ModelCandidate { provider, model } = candidate;
        Self { provider: provider.name.clone(), version: provider.version, model: model.clone() }
    }
}

/// The result for one model. Locked during the probe, so that it runs once.
type ProbeSlot = Arc<tokio::sync::Mutex<Option<AnswerStructure>>>;

/// Probe results by model.
#[derive(Debug, Default)]
pub(super) struct ProbeResults {
    found: Mutex<HashMap<ProbedModel, ProbeSlot>>,
}

impl ProbeResults {
    fn slot(&self, model: &ProbedModel) -> ProbeSlot {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|old, _| old.provider != model.provider || old.version >= model.version);
        Arc::clone(found.entry(model.clone()).or_default())
    }

    /// Discards the result: the model no longer answers that way.
    pub(super) fn forget(&self, model: &ProbedModel) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.remove(model);
    }
}

/// A forced function and how this model is made to call it.
#[derive(Debug, Clone)]
pub(super) struct ForcedFunction {
    pub(super) function: FunctionDefinition,
    pub(super) structure: AnswerStructure,
    pub(super) model: ProbedModel,
}

impl Egress {
    /// Returns how the candidate is made to call the forced function; `None` if the request forces
    /// none.
    pub(super) async fn resolve_forced_function(
        &self,
        call: &EgressCall<'_>,
        candidate: &ModelCandidate,
    ) -> Option<ForcedFunction> {
        let function = structured::forced_function(&call.request)?;
        let model = ProbedModel::new(candidate);
        // The API supports forced tools; the client translates them.
        if candidate.provider.kind == ProviderKind::Anthropic {
            return Some(ForcedFunction {
                function,
                structure: AnswerStructure::ForcedTool,
                model,
            });
        }
        let slot = self.probe_results.slot(&model);
        let mut found = slot.lock().await;
        let structure = match *found {
            Some(structure) => structure,
            None => match self.probe(call, candidate).await {
                Ok(structure) => *found.insert(structure),
                // The request itself reports the failure, and the next one probes again.
                Err(error) => {
                    let (provider, model) = (&model.provider, &model.model);
                    warn!(provider, model, %error, "model probe failed");
                    AnswerStructure::ForcedTool
                }
            },
        };
        Some(ForcedFunction { function, structure, model })
    }

    /// Tries the structures in order.
    async fn probe(
        &self,
        call: &EgressCall<'_>,
        candidate: &ModelCandidate,
    ) -> Result<AnswerStructure, EgressError> {
        let ways = if candidate.provider.is_local { LOCAL } else { EXTERNAL };
        let (provider, model) = (&candidate.provider.name, &candidate.model);
        for structure in ways {
            if self.probe_structure(call, candidate, structure).await? {
                let way = structure.as_str();
                info!(provider, model, way, "model probed");
                return Ok(structure);
            }
        }
        info!(provider, model, "model ignores schemas, using JSON in the prompt");
        Ok(AnswerStructure::FencedJson)
    }

    async fn probe_structure(
        &self,
        call: &EgressCall<'_>,
        candidate: &ModelCandidate,
        structure: AnswerStructure,
    ) -> Result<bool, EgressError> {
        let inference = Inference {
            purpose: PURPOSE.to_owned(),
            prompt_hash: None,
            record_buffer: None,
            ..call.inference.clone()
        };
        let mut request = probe_request();
        let Some(function) = structured::forced_function(&request) else { return Ok(false) };
        match structure {
            // Without the prompt description of a real request: an unconstrained model could follow
            // that.
            AnswerStructure::JsonSchema => structured::bind_schema(&mut request, &function),
            AnswerStructure::ForcedTool
            | AnswerStructure::RequiredTool
            | AnswerStructure::FencedJson => {
                structured::adapt_request(&mut request, &function, structure);
            }
        }
        let call = call.with_request(&inference, RedactedRequest::from(request.clone()));
        let ticket = self.admit(&call, candidate).await?;
        request.model = Some(candidate.model.clone());
        match self.send_unstreamed(ticket, request, None).await {
            Ok(answer) => Ok(is_expected_answer(&answer, structure)),
            Err(EgressError::Provider { cause: ProviderError::Rejected { .. }, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Builds a request that a model answers as required only if it is constrained to.
fn probe_request() -> ChatRequest {
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

/// Returns whether the answer has the required value in the required form.
fn is_expected_answer(answer: &ChatCompletion, structure: AnswerStructure) -> bool {
    let Some(choice) = answer.choices.first() else { return false };
    let message = &choice.message;
    let text = match structure {
        AnswerStructure::ForcedTool | AnswerStructure::RequiredTool => {
            let call = message.tool_calls.first().and_then(|call| call.function.as_ref());
            call.filter(|call| call.name == PROBE).map(|call| call.arguments.as_str())
        }
        AnswerStructure::JsonSchema | AnswerStructure::FencedJson => message.content.as_deref(),
    };
    let value = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    choice.finish_reason.as_deref() != Some("length")
        && value.is_some_and(|value| value == json!({ "code": CODE, "count": COUNT }))
}
