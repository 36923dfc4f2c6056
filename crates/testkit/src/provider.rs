//! A scripted model provider for tests.
//!
//! Start at [`ScriptedProvider`]: a real HTTP server on a local port that implements the APIs of OpenAI,
//! Anthropic and Ollama, with and without streaming. [`Answer`] is one scripted response or fault.
//!
//! ```no_run
//! use cynode_testkit::provider::{Answer, ScriptedProvider};
//!
//! let provider = ScriptedProvider::start();
//! provider.script([
//!     Answer::tool_call("look_up", serde_json::json!({ "city": "Rome" })),
//!     Answer::text("It is warm in Rome."),
//! ]);
//! // … point a client at provider.openai_url() …
//! assert!(!provider.has_received("sk-my-secret"));
//! ```

mod anthropic;
mod contract;
mod http_response;
mod http_server;
mod openai;
mod scripted_response;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

pub use contract::StructuredOutputContract;
use http_server::ProviderServer;
pub use scripted_response::Answer;

/// How long a test waits for an expected event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// A request that the provider received.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedProviderRequest {
    /// For example `/v1/chat/completions`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The raw body.
    pub text: String,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
}

impl ScriptedProviderRequest {
    /// The value of a header; `name` must be lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// The text of the last message of an OpenAI request.
    pub fn last_message(&self) -> &str {
        let messages = self.body["messages"].as_array();
        messages.and_then(|it| it.last()?["content"].as_str()).unwrap_or_default()
    }
}

/// A scripted provider. Dropping it closes its port.
#[derive(Debug)]
pub struct ScriptedProvider {
    server: ProviderServer,
    state: Arc<ScriptedProviderState>,
}

/// State shared by server and test.
#[derive(Debug)]
struct ScriptedProviderState {
    inner: Mutex<ProviderScript>,
    /// Number of responses that the client did not read to their end.
    abandoned: watch::Sender<usize>,
    /// Number of received requests.
    arrived: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct ProviderScript {
    script: VecDeque<Answer>,
    /// Answers to requests that contain each of some texts.
    rules: Vec<(Vec<String>, Answer)>,
    /// Answers in turn to requests that contain a text.
    turns: Vec<(String, VecDeque<Answer>)>,
    fallback: Option<Answer>,
    models: Vec<String>,
    requests: Vec<ScriptedProviderRequest>,
    /// Capability probes, answered by the contract.
    probes: Vec<ScriptedProviderRequest>,
    contract: StructuredOutputContract,
    /// Number of coming probes to answer with status 401.
    rejected_probes: usize,
    is_recording_off: bool,
}

impl ScriptedProviderState {
    fn lock(&self) -> MutexGuard<'_, ProviderScript> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses the response: by rule, by the script, or the fallback.
    fn choose_response(&self, seen: &ScriptedProviderRequest) -> Answer {
        let mut inner = self.lock();
        let contract = inner.contract;
        if contract::is_probe(&seen.body) {
            if inner.rejected_probes > 0 {
                inner.rejected_probes -= 1;
                return Answer::unauthorized("nobody");
            }
            return contract.probe_response(&seen.body);
        }
        contract.enforce(&seen.body, inner.next_response(&seen.text))
    }

    fn record_request(&self, request: ScriptedProviderRequest) {
        let mut inner = self.lock();
        if contract::is_probe(&request.body) {
            inner.probes.push(request);
            return;
        }
        if !inner.is_recording_off {
            inner.requests.push(request);
        }
        drop(inner);
        self.arrived.send_modify(|count| *count += 1);
    }
}

impl ProviderScript {
    /// By rule, by the script, or the fallback.
    fn next_response(&mut self, body: &str) -> Answer {
        let is_met = |texts: &[String]| texts.iter().all(|text| body.contains(text));
        if let Some((_, answer)) = self.rules.iter().find(|(texts, _)| is_met(texts)) {
            return answer.clone();
        }
        let turn = self
            .turns
            .iter_mut()
            .find(|(text, left)| body.contains(text.as_str()) && !left.is_empty());
        if let Some(answer) = turn.and_then(|(_, left)| left.pop_front()) {
            return answer;
        }
        let next = self.script.pop_front().or_else(|| self.fallback.clone());
        next.unwrap_or_else(|| Answer::status(400, "the script of this provider has ended"))
    }
}

impl ScriptedProvider {
    /// Starts a provider without a script: every request fails with 400 until [`Self::script`],
    /// [`Self::when`] or [`Self::otherwise`] is called.
    ///
    /// # Panics
    /// If no port can be bound.
    pub fn start() -> Self {
        let state = Arc::new(ScriptedProviderState {
            inner: Mutex::new(ProviderScript {
                models: vec!["scripted-model".to_owned()],
                ..ProviderScript::default()
            }),
            abandoned: watch::Sender::new(0),
            arrived: watch::Sender::new(0),
        });
        let server = http_server::start_server(Arc::clone(&state));
        Self { server, state }
    }

    /// Starts a provider that returns the same text to every request.
    pub fn saying(text: &str) -> Self {
        let provider = Self::start();
        provider.otherwise(Answer::text(text));
        provider
    }

    /// Answers to the next requests, in order.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state.lock().script.extend(answers);
    }

    /// The answer to every request whose body contains `text`, before the script.
    pub fn when(&self, text: &str, answer: Answer) {
        self.when_each(&[text], answer);
    }

    /// The answer to every request whose body contains each of the texts, unless an earlier rule answers it. A script of
    /// such rules depends on no order: a client that is killed and begins again gets the same answers.
    pub fn when_each(&self, texts: &[&str], answer: Answer) {
        let texts = texts.iter().map(|&text| text.to_owned()).collect();
        self.state.lock().rules.push((texts, answer));
    }

    /// Answers in turn to the requests whose body contains `text`, before the script.
    pub fn when_in_turn(&self, text: &str, answers: impl IntoIterator<Item = Answer>) {
        self.state.lock().turns.push((text.to_owned(), answers.into_iter().collect()));
    }

    /// The answer to every request after the script.
    pub fn otherwise(&self, answer: Answer) {
        self.state.lock().fallback = Some(answer);
    }

    /// Sets the offered models, instead of `scripted-model`.
    pub fn set_models(&self, models: &[&str]) {
        self.state.lock().models = models.iter().map(|&name| name.to_owned()).collect();
    }

    /// Sets how structured-output requests are handled, instead of [`StructuredOutputContract::ForcedTools`].
    pub fn set_contract(&self, contract: StructuredOutputContract) {
        self.state.lock().contract = contract;
    }

    /// Answers the next probes with status 401, so that they are inconclusive.
    pub fn reject_probes(&self, count: usize) {
        self.state.lock().rejected_probes = count;
    }

    /// Every probe so far, oldest first; not included in [`Self::requests`].
    pub fn probes(&self) -> Vec<ScriptedProviderRequest> {
        self.state.lock().probes.clone()
    }

    /// Stops recording requests: for benchmarks.
    pub fn forget_requests(&self) {
        self.state.lock().is_recording_off = true;
    }

    /// Base URL for OpenAI clients.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.server.address)
    }

    /// Base URL for Anthropic and Ollama clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<ScriptedProviderRequest> {
        self.state.lock().requests.clone()
    }

    /// Whether `text` was in any received header or body.
    pub fn has_received(&self, text: &str) -> bool {
        let inner = self.state.lock();
        inner.requests.iter().any(|request| {
            request.text.contains(text) || request.headers.iter().any(|(_, it)| it.contains(text))
        })
    }

    /// Number of scripted responses that were not requested yet.
    pub fn remaining_responses(&self) -> usize {
        self.state.lock().script.len()
    }

    /// Waits until `count` requests were received.
    ///
    /// # Panics
    /// After half a minute.
    pub async fn wait_for_requests(&self, count: usize) {
        wait_for_count(&self.state.arrived, count).await;
    }

    /// Waits until `count` responses were abandoned before their end.
    ///
    /// # Panics
    /// After half a minute.
    pub async fn wait_for_abandoned(&self, count: usize) {
        wait_for_count(&self.state.abandoned, count).await;
    }
}

async fn wait_for_count(counter: &watch::Sender<usize>, count: usize) {
    let mut counter = counter.subscribe();
    let reached = tokio::time::timeout(EVENT_TIMEOUT, counter.wait_for(|now| *now >= count)).await;
    assert!(matches!(reached, Ok(Ok(_))), "the scripted provider timed out");
}
