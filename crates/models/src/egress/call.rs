//! Calls the candidates in order until one answers.

use std::sync::Arc;

use cynode_domain::ids::CredentialId;
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::Effect;
use cynode_llm::resilience::ResilientProvider;
use cynode_llm::{Provider as _, ProviderCredential, ProviderError};
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest, StreamOptions};
use cynode_store::{AppendRows, EgressDecision, Entry};
use sha2::{Digest, Sha256};
use tracing::Instrument as _;

use super::access::{ProviderAccess, access_resource, decide_access, profile_denial};
use super::call_record::CallRecorder;
use super::cost_estimate::CostEstimate;
use super::probe::ForcedFunction;
use super::resolve::{ModelCandidate, parse_model_name};
use super::snapshot::CallPolicy;
use super::{
    Egress, EgressError, EgressStream, Inference, lanes, prices, redacted_stream, redaction,
    structured,
};
use cynode_resources::secrets::RedactedRequest;

/// A request with the candidates that may serve it.
pub(super) struct EgressCall<'a> {
    pub(super) inference: &'a Inference,
    pub(super) request: RedactedRequest,
    prompt_hash: String,
    policy: Arc<CallPolicy>,
    candidates: Vec<ModelCandidate>,
}

impl EgressCall<'_> {
    /// Returns another request of the same caller, decided by the same policy.
    pub(super) fn with_request<'b>(
        &self,
        inference: &'b Inference,
        request: RedactedRequest,
    ) -> EgressCall<'b> {
        let (prompt_hash, policy) = (hash_prompt(&request), Arc::clone(&self.policy));
        EgressCall { inference, request, prompt_hash, policy, candidates: vec![] }
    }
}

/// An admitted call: access granted, cost reserved.
pub(super) struct AdmittedCall {
    record: CallRecorder,
    provider: String,
    lane: Arc<ResilientProvider>,
    secret: Option<ProviderCredential>,
    decision: EgressDecision,
}

impl Egress {
    /// Calls a model and returns the complete answer. Redacts the request if it was not redacted
    /// yet.
    pub async fn chat(
        &self,
        inference: &Inference,
        request: impl Into<RedactedRequest>,
    ) -> Result<ChatCompletion, EgressError> {
        let call = self.prepare(inference, request.into()).await?;
        self.call_candidates(&call, |ticket, request, bound| {
            self.send_unstreamed(ticket, request, bound)
        })
        .await
    }

    /// Calls a model with a streamed answer. Failures before the first chunk are returned here,
    /// after trying every candidate; later failures are items of the stream.
    pub async fn stream(
        &self,
        inference: &Inference,
        request: impl Into<RedactedRequest>,
    ) -> Result<EgressStream, EgressError> {
        let call = self.prepare(inference, request.into()).await?;
        self.call_candidates(&call, |ticket, request, bound| {
            self.send_streamed(ticket, request, bound)
        })
        .await
    }

    async fn prepare<'a>(
        &self,
        inference: &'a Inference,
        request: RedactedRequest,
    ) -> Result<EgressCall<'a>, EgressError> {
        let policy = self.load_call_policy(inference).await?;
        let candidates = self.load_candidates(inference, &policy, request.model.as_deref()).await?;
        let given = inference.prompt_hash.as_ref();
        let prompt_hash =
            given.map_or_else(|| hash_prompt(&request), |hash| hash.chars().take(128).collect());
        let policy = Arc::new(policy);
        Ok(EgressCall { inference, request, prompt_hash, policy, candidates })
    }

    /// Tries the candidates in order until one answers, or one fails for a reason that is not the
    /// provider's.
    async fn call_candidates<T, F>(
        &self,
        call: &EgressCall<'_>,
        send: impl Fn(AdmittedCall, ChatRequest, Option<ForcedFunction>) -> F,
    ) -> Result<T, EgressError>
    where
        F: Future<Output = Result<T, EgressError>>,
    {
        let mut refused = None;
        let mut failed = None;
        for candidate in &call.candidates {
            let mut ticket = match self.admit(call, candidate).await {
                Ok(ticket) => ticket,
                Err(error) if error.may_try_next_provider() => {
                    refused.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut request = ChatRequest::clone(&call.request);
            request.model = Some(candidate.model.clone());
            // Metadata is for this installation only and is not sent to providers.
            request.metadata = None;
            let binding = self.resolve_forced_function(call, candidate).await;
            if let Some(ForcedFunction { function, structure, .. }) = &binding {
                structured::adapt_request(&mut request, function, *structure);
                ticket.record.restart_clock();
            }
            match send(ticket, request, binding).await {
                Err(error) if error.may_try_next_provider() => {
                    let name = &candidate.provider.name;
                    tracing::warn!(provider = %name, %error, "provider failed, trying the next");
                    failed.get_or_insert(error);
                }
                answer => return answer,
            }
        }
        Err(failed.or(refused).unwrap_or(EgressError::NoProvider))
    }

    /// Decides whether this candidate may be called. Rejections are recorded.
    pub(super) async fn admit(
        &self,
        call: &EgressCall<'_>,
        candidate: &ModelCandidate,
    ) -> Result<AdmittedCall, EgressError> {
        let EgressCall { inference, policy, .. } = call;
        let ModelCandidate { provider, model } = candidate;
        let known = &policy.snapshot;
        let price = prices::find_price(provider, model, &known.settings);
        let tariff = CostEstimate::new(price, &call.request);
        let hash = &call.prompt_hash;
        let record = CallRecorder::begin(self, inference, hash, &provider.name, model, tariff);
        let asked = parse_model_name(call.request.model.as_deref(), &known.providers);
        let profile = known.profile_of(inference);
        let (reason, is_allowed) = match profile_denial(profile, &provider.name, model, &asked) {
            Some(reason) => (reason, false),
            None => match decide_access(
                inference,
                policy.groups(inference),
                policy.is_admin,
                provider,
                &known.rules,
            ) {
                ProviderAccess::Allow(reason) => (reason, true),
                ProviderAccess::Deny(reason) => (reason, false),
            },
        };
        let mut decision = self.access_decision(inference, &record, &provider.name, &reason);
        if !is_allowed {
            decision.decision = Effect::Deny;
            self.persist_decision(decision).await?;
            record.finish(InferenceOutcome::Denied, Some(reason.clone())).await?;
            let name = &provider.name;
            return Err(EgressError::Denied(format!(
                "provider \"{name}\" is not allowed: {reason}"
            )));
        }
        let credential = self.select_credential(inference, policy, candidate);
        let (credential, secret) = match credential {
            Ok(found) => found,
            Err(error) => {
                record.finish(InferenceOutcome::Failed, Some(error.to_string())).await?;
                return Err(error);
            }
        };
        decision.credential = credential;
        let lane = match self.lanes.lane(provider, &known.settings) {
            Ok(lane) => lane,
            Err(error) => {
                let cause = lanes::invalid_address_error(&error);
                return Err(record_failure(record, provider.name.clone(), cause).await?);
            }
        };
        // Reserve last: nothing is reserved for a call that cannot be made.
        if let Some(fault) = self.reserve_cost(&policy.budget, &record).await? {
            record.finish(InferenceOutcome::OverBudget, Some(fault.clone())).await?;
            return Err(EgressError::OverBudget(fault));
        }
        Ok(AdmittedCall { record, provider: provider.name.clone(), lane, secret, decision })
    }

    /// Selects the credential for a call to this candidate.
    fn select_credential(
        &self,
        inference: &Inference,
        policy: &CallPolicy,
        candidate: &ModelCandidate,
    ) -> Result<(Option<CredentialId>, Option<ProviderCredential>), EgressError> {
        let provider = &candidate.provider;
        let (user, groups) = (inference.caller.user, policy.groups(inference));
        let rows = &policy.snapshot.credentials;
        match self.credentials.select(rows, &provider.name, user, groups)? {
            Some((id, secret)) => Ok((Some(id), Some(secret))),
            None if provider.is_local => Ok((None, None)),
            None => Err(EgressError::NoCredential {
                provider: provider.name.clone(),
                kind: provider.kind,
            }),
        }
    }

    fn access_decision(
        &self,
        inference: &Inference,
        record: &CallRecorder,
        provider: &str,
        reason: &str,
    ) -> EgressDecision {
        EgressDecision {
            call: record.id(),
            at: self.clock.now(),
            agent: inference.agent,
            user: inference.caller.user,
            task: inference.task,
            resource: access_resource(provider),
            decision: Effect::Allow,
            reason: reason.to_owned(),
            credential: None,
            trace_id: inference.trace_id.clone(),
        }
    }

    async fn persist_decision(&self, decision: EgressDecision) -> Result<(), EgressError> {
        Ok(self.store.batch(AppendRows(vec![Entry::EgressDecision(decision)])).await?)
    }

    pub(super) async fn send_unstreamed(
        &self,
        ticket: AdmittedCall,
        request: ChatRequest,
        binding: Option<ForcedFunction>,
    ) -> Result<ChatCompletion, EgressError> {
        let AdmittedCall { mut record, provider, lane, secret, decision } = ticket;
        let span = record.mark_sent_unstreamed();
        let asked = lane.chat(&request, secret.as_ref()).instrument(span);
        let (noted, answer) = tokio::join!(self.persist_decision(decision), asked);
        noted?;
        match answer {
            Ok(mut answer) => {
                record.record_answer(&answer);
                if let Some(ForcedFunction { function, model, .. }) = &binding
                    && !structured::restore_call(&mut answer, function)
                {
                    self.probe_results.forget(model);
                }
                redaction::redact_completion(&mut answer);
                record.finish(InferenceOutcome::Success, None).await?;
                Ok(answer)
            }
            Err(cause) => Err(record_failure(record, provider, cause).await?),
        }
    }

    async fn send_streamed(
        &self,
        ticket: AdmittedCall,
        mut request: ChatRequest,
        binding: Option<ForcedFunction>,
    ) -> Result<EgressStream, EgressError> {
        let AdmittedCall { mut record, provider, lane, secret, decision } = ticket;
        let span = record.mark_sent_streamed();
        let options = request.stream_options.take().unwrap_or_default();
        let wants_usage = options.include_usage;
        // Set here, so that callers need not clone the request to set it.
        request.stream_options = Some(StreamOptions { include_usage: true, ..options });
        request.stream = true;
        let asked = lane.stream(&request, secret.as_ref()).instrument(span);
        let (noted, begun) = tokio::join!(self.persist_decision(decision), asked);
        noted?;
        match begun {
            Ok(chunks) => {
                let chunks = match binding {
                    Some(ForcedFunction { function, model, .. }) => {
                        let structures = Arc::clone(&self.probe_results);
                        structured::restore_call_stream(chunks, function, move || {
                            structures.forget(&model);
                        })
                    }
                    None => chunks,
                };
                Ok(redacted_stream::redact_stream(chunks, record, provider, wants_usage))
            }
            Err(cause) => Err(record_failure(record, provider, cause).await?),
        }
    }
}

/// Records a provider failure.
pub(super) async fn record_failure(
    mut record: CallRecorder,
    provider: String,
    cause: ProviderError,
) -> Result<EgressError, cynode_store::Error> {
    record.mark_failed(&cause);
    record.finish(InferenceOutcome::Failed, Some(cause.to_string())).await?;
    Ok(EgressError::Provider { provider, cause })
}

/// Returns the SHA-256 of messages and tools in hex, independent of the provider.
fn hash_prompt(request: &ChatRequest) -> String {
    let call = serde_json::to_vec(&(&request.messages, &request.tools)).unwrap_or_default();
    hex::encode(Sha256::digest(&call))
}
