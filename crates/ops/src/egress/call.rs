//! Asking: each candidate in turn until one answers.

use std::sync::Arc;

use cynode_domain::ids::CredentialId;
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::Effect;
use cynode_llm::lane::Lane;
use cynode_llm::{Key, Provider as _, ProviderError};
use cynode_store::{EgressDecision, Entry};
use cynode_wire::openai::{ChatCompletion, ChatRequest, StreamOptions};
use sha2::{Digest, Sha256};

use super::choose::Candidate;
use super::decide::{Decision, decide, resource};
use super::probe::Binding;
use super::record::Record;
use super::snapshot::Standing;
use super::tariff::Tariff;
use super::{
    Egress, EgressError, EgressStream, Inference, lanes, pieces, prices, scan, structured,
};
use crate::secrets::CleanRequest;

/// A question, and who could answer it.
pub(super) struct Asked<'a> {
    pub(super) inference: &'a Inference,
    pub(super) request: CleanRequest,
    prompt_hash: String,
    standing: Arc<Standing>,
    candidates: Vec<Candidate>,
}

impl Asked<'_> {
    /// Another question of the same caller, decided by the same.
    pub(super) fn about<'b>(&self, inference: &'b Inference, request: CleanRequest) -> Asked<'b> {
        let (prompt_hash, standing) = (hash(&request), Arc::clone(&self.standing));
        Asked { inference, request, prompt_hash, standing, candidates: vec![] }
    }
}

/// The right to ask one provider, decided and counted.
pub(super) struct Ticket {
    record: Record,
    provider: String,
    lane: Arc<Lane>,
    secret: Option<Key>,
    decision: EgressDecision,
}

impl Egress {
    /// Asks a model and waits for the whole answer. A request that was not cleaned is, here.
    pub async fn chat(
        &self,
        inference: &Inference,
        request: impl Into<CleanRequest>,
    ) -> Result<ChatCompletion, EgressError> {
        let asked = self.prepare(inference, request.into()).await?;
        self.first(&asked, |ticket, request, bound| self.send_whole(ticket, request, bound)).await
    }

    /// Asks a model for an answer in pieces. What fails before the first piece is an error here and
    /// may have been tried at several providers; what fails later is an item of the stream.
    pub async fn stream(
        &self,
        inference: &Inference,
        request: impl Into<CleanRequest>,
    ) -> Result<EgressStream, EgressError> {
        let asked = self.prepare(inference, request.into()).await?;
        self.first(&asked, |ticket, request, bound| self.send_pieces(ticket, request, bound)).await
    }

    async fn prepare<'a>(
        &self,
        inference: &'a Inference,
        request: CleanRequest,
    ) -> Result<Asked<'a>, EgressError> {
        let standing = self.standing(inference).await?;
        let candidates = self.candidates(inference, &standing, request.model.as_deref()).await?;
        let given = inference.prompt_hash.as_ref();
        let prompt_hash =
            given.map_or_else(|| hash(&request), |hash| hash.chars().take(128).collect());
        let standing = Arc::new(standing);
        Ok(Asked { inference, request, prompt_hash, standing, candidates })
    }

    /// Asks one after the other until one answers, or fails in a way that is not its own fault.
    async fn first<T, F>(
        &self,
        asked: &Asked<'_>,
        send: impl Fn(Ticket, ChatRequest, Option<Binding>) -> F,
    ) -> Result<T, EgressError>
    where
        F: Future<Output = Result<T, EgressError>>,
    {
        let mut refused = None;
        let mut failed = None;
        for candidate in &asked.candidates {
            let mut ticket = match self.admit(asked, candidate).await {
                Ok(ticket) => ticket,
                Err(error) if error.is_about_the_provider() => {
                    refused.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut request = ChatRequest::clone(&asked.request);
            request.model = Some(candidate.model.clone());
            // What the caller notes for us is nobody else's business.
            request.metadata = None;
            let binding = self.binding(asked, candidate).await;
            if let Some(Binding { function, structure, .. }) = &binding {
                structured::adapt(&mut request, function, *structure);
                ticket.record.begins_now();
            }
            match send(ticket, request, binding).await {
                Err(error) if error.is_about_the_provider() => {
                    let name = &candidate.provider.name;
                    tracing::warn!(provider = %name, %error, "provider {name} did not answer");
                    failed.get_or_insert(error);
                }
                answer => return answer,
            }
        }
        Err(failed.or(refused).unwrap_or(EgressError::NoProvider))
    }

    /// Decides whether this candidate may be asked; refusals are on record.
    pub(super) async fn admit(
        &self,
        asked: &Asked<'_>,
        candidate: &Candidate,
    ) -> Result<Ticket, EgressError> {
        let Asked { inference, standing, .. } = asked;
        let Candidate { provider, model } = candidate;
        let known = &standing.known;
        let price = prices::price(provider, model, &known.settings);
        let tariff = Tariff::new(price, &asked.request);
        let named = (&*provider.name, &**model);
        let record = Record::begin(self, inference, &asked.prompt_hash, named, tariff);
        let (reason, is_allowed) =
            match decide(inference, standing.powers(inference), provider, &known.rules) {
                Decision::Allow(reason) => (reason, true),
                Decision::Deny(reason) => (reason, false),
            };
        let mut decision = self.decision(inference, &record, &provider.name, &reason);
        if !is_allowed {
            decision.decision = Effect::Deny;
            self.note(decision).await?;
            record.finish(InferenceOutcome::Denied, Some(reason.clone())).await?;
            let name = &provider.name;
            return Err(EgressError::Denied(format!(
                "provider \"{name}\" may not be used: {reason}"
            )));
        }
        let credential = self.credential(inference, standing, candidate);
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
                let cause = lanes::unreachable(&error);
                return Err(failed(record, provider.name.clone(), cause).await?);
            }
        };
        // Last, so that nothing is set aside for a call that cannot be made.
        if let Some(fault) = self.afford(&standing.budget, &record).await? {
            record.finish(InferenceOutcome::OverBudget, Some(fault.clone())).await?;
            return Err(EgressError::OverBudget(fault));
        }
        Ok(Ticket { record, provider: provider.name.clone(), lane, secret, decision })
    }

    /// What a call to this candidate sends to prove who asks.
    fn credential(
        &self,
        inference: &Inference,
        standing: &Standing,
        candidate: &Candidate,
    ) -> Result<(Option<CredentialId>, Option<Key>), EgressError> {
        let provider = &candidate.provider;
        let who = standing.who(inference);
        let rows = &standing.known.credentials;
        match self.credentials.pick(rows, &provider.name, who)? {
            Some((id, secret)) => Ok((Some(id), Some(secret))),
            None if provider.is_local => Ok((None, None)),
            None => Err(EgressError::NoCredential {
                provider: provider.name.clone(),
                kind: provider.kind,
            }),
        }
    }

    fn decision(
        &self,
        inference: &Inference,
        record: &Record,
        provider: &str,
        reason: &str,
    ) -> EgressDecision {
        EgressDecision {
            call: record.id(),
            at: self.clock.now(),
            agent: inference.agent,
            user: inference.caller.user,
            task: inference.task,
            resource: resource(provider),
            decision: Effect::Allow,
            reason: reason.to_owned(),
            credential: None,
            trace_id: inference.trace_id.clone(),
        }
    }

    async fn note(&self, decision: EgressDecision) -> Result<(), EgressError> {
        Ok(self.store.enter(vec![Entry::Decision(decision)]).await?)
    }

    pub(super) async fn send_whole(
        &self,
        ticket: Ticket,
        request: ChatRequest,
        binding: Option<Binding>,
    ) -> Result<ChatCompletion, EgressError> {
        let Ticket { mut record, provider, lane, secret, decision } = ticket;
        record.asks_whole();
        let (noted, answer) =
            tokio::join!(self.note(decision), lane.chat(&request, secret.as_ref()));
        noted?;
        match answer {
            Ok(mut answer) => {
                record.hear(&answer);
                if let Some(Binding { function, model, .. }) = &binding
                    && !structured::restore(&mut answer, function)
                {
                    self.structures.forget(model);
                }
                scan::clean_completion(&mut answer);
                record.finish(InferenceOutcome::Success, None).await?;
                Ok(answer)
            }
            Err(cause) => Err(failed(record, provider, cause).await?),
        }
    }

    async fn send_pieces(
        &self,
        ticket: Ticket,
        mut request: ChatRequest,
        binding: Option<Binding>,
    ) -> Result<EgressStream, EgressError> {
        let Ticket { mut record, provider, lane, secret, decision } = ticket;
        record.asks_pieces();
        let options = request.stream_options.take().unwrap_or_default();
        let wants_usage = options.include_usage;
        // Said here, so that nobody has to copy the conversation to say it.
        request.stream_options = Some(StreamOptions { include_usage: true, ..options });
        request.stream = true;
        let (noted, begun) =
            tokio::join!(self.note(decision), lane.stream(&request, secret.as_ref()));
        noted?;
        match begun {
            Ok(chunks) => {
                let chunks = match binding {
                    Some(Binding { function, model, .. }) => {
                        let structures = Arc::clone(&self.structures);
                        structured::restored(chunks, function, move || structures.forget(&model))
                    }
                    None => chunks,
                };
                Ok(pieces::pieces(chunks, record, provider, wants_usage))
            }
            Err(cause) => Err(failed(record, provider, cause).await?),
        }
    }
}

/// Puts a failure of a provider on record.
pub(super) async fn failed(
    mut record: Record,
    provider: String,
    cause: ProviderError,
) -> Result<EgressError, cynode_store::Error> {
    if cause.is_without_charge() {
        record.turned_away();
    }
    record.finish(InferenceOutcome::Failed, Some(cause.to_string())).await?;
    Ok(EgressError::Provider { provider, cause })
}

/// The SHA-256 of what is asked, in hex: messages and tools, whoever answers.
fn hash(request: &ChatRequest) -> String {
    let asked = serde_json::to_vec(&(&request.messages, &request.tools)).unwrap_or_default();
    hex::encode(Sha256::digest(&asked))
}
