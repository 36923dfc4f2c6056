//! Recording, replay and redaction.

use std::sync::atomic::{AtomicUsize, Ordering};

use cynode_llm_wire::openai::{ChatMessage, ChatRequest, Choice};
use cynode_wire::handoff::DecidedBy;
use serde_json::{Value, json};

use super::*;
use crate::brain::decisions::HandleFailure;
use crate::brain::{Brain, BrainOptions};

/// A model with a constant answer that counts its requests.
#[derive(Default)]
struct Steady {
    request_count: AtomicUsize,
}

#[async_trait]
impl ChatModel for Steady {
    async fn complete(&self, _: &ModelExchange) -> Result<ChatCompletion, ModelError> {
        self.request_count.fetch_add(1, Ordering::Relaxed);
        let arguments = json!({ "action": "retry", "reason": "password=hunter2hunter2 was wrong" });
        let call = ToolCall::function("call_1", "respond", arguments.to_string());
        let message = AssistantMessage { tool_calls: vec![call], ..Default::default() };
        let choice = Choice { message, ..Choice::default() };
        let model = "steady".to_owned();
        Ok(ChatCompletion { model, choices: vec![choice], ..ChatCompletion::default() })
    }

    async fn stream(&self, _: &ModelExchange) -> Result<ModelStream, ModelError> {
        let chunks = ["Hel", "lo"].map(|text| Ok(ChatChunk::new(Delta::text(text), None)));
        Ok(stream::iter(chunks).boxed())
    }
}

fn question(error: &str) -> HandleFailure {
    HandleFailure {
        role: "developer".to_owned(),
        failures: 1,
        max_failures: 3,
        error: error.to_owned(),
        checkpoint: None,
    }
}

fn brain(model: Option<Arc<dyn ChatModel>>, mode: &CassetteMode) -> Brain {
    Brain::new(wrap_model(model, mode), BrainOptions::default(), "SYSTEM".to_owned())
}

const SECRET: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";

#[tokio::test]
async fn a_recorded_decision_is_replayed_without_a_model_and_a_miss_is_loud() {
    let folder = tempfile::tempdir().unwrap();
    let record = CassetteMode::Record(folder.path().to_owned());
    let replay = CassetteMode::Replay(folder.path().to_owned());
    let error = format!("run 0193a4b2-0000-7000-8000-000000000001 failed with {SECRET}");
    let model = Arc::new(Steady::default());
    let recording = brain(Some(model.clone()), &record);
    let recorded = recording.decide(&question(&error)).await.unwrap();

    let player = brain(None, &replay);
    let again = player.decide(&question(&error.replace("0001", "0002"))).await.unwrap();
    let missed = player.decide(&question("another failure")).await.unwrap_err();

    assert_eq!(recorded.record.by, DecidedBy::Model);
    assert_eq!(again.answer.action, recorded.answer.action);
    assert_eq!(model.request_count.load(Ordering::Relaxed), 1);
    assert_eq!(missed.purpose, "handle_failure");
    assert!(missed.to_string().contains(&missed.key));
}

#[tokio::test]
async fn a_record_is_readable_and_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mode = CassetteMode::Record(folder.path().to_owned());
    let recording = brain(Some(Arc::new(Steady::default())), &mode);
    recording.decide(&question(&format!("failed with {SECRET}"))).await.unwrap();

    let [replayed] = &replay(folder.path()).await.unwrap()[..] else { panic!("one record") };
    let text = std::fs::read_to_string(&replayed.path).unwrap();

    assert!(!text.contains(SECRET) && !text.contains("hunter2"), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["purpose"], "handle_failure");
    assert_eq!(value["messages"][0]["content"], "SYSTEM");
    assert!(text.lines().count() > 20, "one value a line: {text}");
    assert_eq!(replayed.model, "steady");
    assert!(replayed.verdict.holds(), "{:?}", replayed.verdict);
}

#[tokio::test]
async fn a_replay_tells_what_changed_since() {
    let folder = tempfile::tempdir().unwrap();
    let mode = CassetteMode::Record(folder.path().to_owned());
    let recording = brain(Some(Arc::new(Steady::default())), &mode);
    recording.decide(&question("x")).await.unwrap();
    let [replayed] = &replay(folder.path()).await.unwrap()[..] else { panic!("one record") };
    let original = Recording::load(&replayed.path).await.unwrap();
    let verdict = async |changed: &Recording| {
        std::fs::write(&replayed.path, serde_json::to_string(changed).unwrap()).unwrap();
        replay(&replayed.path).await.unwrap().remove(0).verdict
    };

    let mut reworded = original.clone();
    reworded.key = "another".to_owned();
    let mut refused = original.clone();
    refused.input["error"] = 3.into();
    let mut chat = original.clone();
    chat.purpose = "chat".to_owned();

    assert!(matches!(verdict(&reworded).await, ReplayVerdict::Drifted { .. }));
    assert!(matches!(verdict(&refused).await, ReplayVerdict::Refused { .. }));
    let no_decision = verdict(&chat).await;
    assert_eq!(no_decision, ReplayVerdict::NoDecision);
    assert!(!no_decision.holds() && !no_decision.is_checked());
    assert!(matches!(verdict(&original).await, ReplayVerdict::Same { .. }));
}

#[tokio::test]
async fn a_conversation_is_recorded_whole_and_replayed_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let messages = vec![ChatMessage::text("user", "Hi")];
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let exchange = ModelExchange::new("chat", Value::Null, request);
    let record = CassetteMode::Record(folder.path().to_owned());
    let recorder = wrap_model(Some(Arc::new(Steady::default())), &record).unwrap();
    let live: Vec<_> = recorder.stream(&exchange).await.unwrap().collect().await;
    assert_eq!(live.len(), 2);

    let player = wrap_model(None, &CassetteMode::Replay(folder.path().to_owned())).unwrap();
    let chunks: Vec<_> = player.stream(&exchange).await.unwrap().collect().await;

    let text: String = chunks.iter().map(|chunk| chunk.as_ref().unwrap().text()).collect();
    assert_eq!(text, "Hello");
}

#[tokio::test]
async fn what_is_no_record_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan").join("x.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "{}").unwrap();

    let refused = replay(folder.path()).await.unwrap_err();

    assert!(refused.to_string().contains("x.json is not a recorded exchange"), "{refused}");
    assert!(replay(&folder.path().join("none")).await.is_err());
}
