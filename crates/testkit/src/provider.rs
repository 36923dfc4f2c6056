//! A provider of models that answers as it is told, for tests.
//!
//! Start at [`ScriptedProvider`]: a real server on a port of this machine that speaks the APIs of OpenAI,
//! Anthropic and Ollama, streamed and not. [`Answer`] is what it says, faults included.
//!
//! ```no_run
//! use cynode_testkit::provider::{Answer, ScriptedProvider};
//!
//! let provider = ScriptedProvider::start();
//! provider.script([
//!     Answer::call("look_up", serde_json::json!({ "city": "Rome" })),
//!     Answer::text("It is warm in Rome."),
//! ]);
//! // … point a client at provider.openai_url() …
//! assert!(!provider.saw("sk-my-secret"));
//! ```

mod answer;
mod anthropic;
mod contract;
mod openai;
mod reply;
mod serve;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

pub use answer::Answer;
pub use contract::Contract;
use serve::Server;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request that the provider saw.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRequest {
    /// Its path, such as `/v1/chat/completions`.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body as it came.
    pub text: String,
    /// Its body as JSON; null if it is none.
    pub body: Value,
}

impl SeenRequest {
    /// The value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// The text of the last message, as the OpenAI wire writes it.
    pub fn last_message(&self) -> &str {
        let messages = self.body["messages"].as_array();
        messages.and_then(|it| it.last()?["content"].as_str()).unwrap_or_default()
    }
}

/// A provider that answers as it is told. Dropping it closes its port.
#[derive(Debug)]
pub struct ScriptedProvider {
    server: Server,
    state: Arc<State>,
}

/// What server and test share.
#[derive(Debug)]
struct State {
    inner: Mutex<Inner>,
    /// How many answers nobody read to their end.
    abandoned: watch::Sender<usize>,
    /// How many requests have come in.
    arrived: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Inner {
    script: VecDeque<Answer>,
    rules: Vec<(String, Answer)>,
    otherwise: Option<Answer>,
    models: Vec<String>,
    seen: Vec<SeenRequest>,
    /// Requests that try out what binds the model; they are answered by the contract.
    probes: Vec<SeenRequest>,
    contract: Contract,
    /// How many of the next probes are answered with status 401.
    rejected_probes: usize,
    forgets: bool,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said to a request: by rule, by the script, or what is said otherwise.
    fn answer(&self, seen: &SeenRequest) -> Answer {
        let mut inner = self.lock();
        let contract = inner.contract;
        if contract::is_probe(&seen.body) {
            if inner.rejected_probes > 0 {
                inner.rejected_probes -= 1;
                return Answer::unauthorized("nobody");
            }
            return contract.probed(&seen.body);
        }
        contract.enforced(&seen.body, inner.next(&seen.text))
    }

    fn note(&self, request: SeenRequest) {
        let mut inner = self.lock();
        if contract::is_probe(&request.body) {
            inner.probes.push(request);
            return;
        }
        if !inner.forgets {
            inner.seen.push(request);
        }
        drop(inner);
        self.arrived.send_modify(|count| *count += 1);
    }
}

impl Inner {
    /// By rule, by the script, or what is said otherwise.
    fn next(&mut self, body: &str) -> Answer {
        if let Some((_, answer)) = self.rules.iter().find(|(text, _)| body.contains(text)) {
            return answer.clone();
        }
        let next = self.script.pop_front().or_else(|| self.otherwise.clone());
        next.unwrap_or_else(|| Answer::status(400, "the script of this provider is over"))
    }
}

impl ScriptedProvider {
    /// A provider without a script: every request is told so (400), until [`Self::script`],
    /// [`Self::when`] or [`Self::otherwise`] says more.
    ///
    /// # Panics
    /// If this machine gives it no port.
    pub fn start() -> Self {
        let state = Arc::new(State {
            inner: Mutex::new(Inner {
                models: vec!["scripted-model".to_owned()],
                ..Inner::default()
            }),
            abandoned: watch::Sender::new(0),
            arrived: watch::Sender::new(0),
        });
        let server = serve::start(Arc::clone(&state));
        Self { server, state }
    }

    /// A provider that says the same to everybody.
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
        self.state.lock().rules.push((text.to_owned(), answer));
    }

    /// The answer to every request after the script.
    pub fn otherwise(&self, answer: Answer) {
        self.state.lock().otherwise = Some(answer);
    }

    /// The models that it offers, instead of `scripted-model`.
    pub fn offer(&self, models: &[&str]) {
        self.state.lock().models = models.iter().map(|&name| name.to_owned()).collect();
    }

    /// What it does with a request for a value of a schema, instead of [`Contract::ForcedTools`].
    pub fn behave_as(&self, contract: Contract) {
        self.state.lock().contract = contract;
    }

    /// Answers the next probes with status 401, so that nothing is learned from them.
    pub fn reject_probes(&self, count: usize) {
        self.state.lock().rejected_probes = count;
    }

    /// Every probe so far, oldest first; [`Self::requests`] has none of them.
    pub fn probes(&self) -> Vec<SeenRequest> {
        self.state.lock().probes.clone()
    }

    /// Keeps no requests from now on: for measurements.
    pub fn forget_requests(&self) {
        self.state.lock().forgets = true;
    }

    /// Where OpenAI clients find it.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.server.address)
    }

    /// Where Anthropic and Ollama clients find it.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state.lock().seen.clone()
    }

    /// Whether `text` was in any header or body that came here.
    pub fn saw(&self, text: &str) -> bool {
        let inner = self.state.lock();
        inner.seen.iter().any(|request| {
            request.text.contains(text) || request.headers.iter().any(|(_, it)| it.contains(text))
        })
    }

    /// How many answers of the script nobody has asked for.
    pub fn unread(&self) -> usize {
        self.state.lock().script.len()
    }

    /// Waits until `count` requests have come in.
    ///
    /// # Panics
    /// If they do not come within half a minute.
    pub async fn until_asked(&self, count: usize) {
        until(&self.state.arrived, count).await;
    }

    /// Waits until `count` answers were left before their end.
    ///
    /// # Panics
    /// If they are not within half a minute.
    pub async fn until_abandoned(&self, count: usize) {
        until(&self.state.abandoned, count).await;
    }
}

async fn until(counter: &watch::Sender<usize>, count: usize) {
    let mut counter = counter.subscribe();
    let reached = tokio::time::timeout(PATIENCE, counter.wait_for(|now| *now >= count)).await;
    assert!(matches!(reached, Ok(Ok(_))), "the scripted provider waited in vain");
}
