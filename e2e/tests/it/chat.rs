//! Chat with the whole system: people at a terminal, programs, and what is stored.

use std::fs;
use std::path::Path;

use cynode_llm_wire::openai::{ChatMessage, ChatRequest};
use cynode_testkit::planted_secrets;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use serde_json::json;

use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::wait_until_closed;

const MANAGER: &str = "cynodeai.pm";
pub(crate) const MODEL: &str = "scripted/scripted-model";

fn chat_request(model: &str, text: &str) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![ChatMessage::text("user", text)],
        ..ChatRequest::default()
    }
}

pub(crate) async fn add_provider(system: &System, provider: &ScriptedProvider) {
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"],
    });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
}

#[tokio::test]
async fn a_task_asked_for_in_chat_is_created_and_runs_to_its_end() {
    request_task_in_chat(&System::new().await).await;
}

#[tokio::test]
async fn on_a_postgres_server_the_project_manager_answers_and_remembers_the_conversation() {
    let system = System::with(SystemDatabase::Postgres, "").await;
    let provider = ScriptedProvider::saying("It is warm in Rome.");
    request_task_in_chat(&system).await;
    add_provider(&system, &provider).await;

    let first = system.cynork(&["chat", "--new", "-m", "How warm is it in Rome?"]).expect_success();
    let stream = system.client.chat_stream(None, &chat_request(MANAGER, "And why is that?")).await;
    let mut chunks = stream.unwrap();
    let mut second = String::new();
    while let Some(chunk) = chunks.next().await.unwrap() {
        second.push_str(chunk.text());
    }

    assert_eq!((first.stdout.trim_end(), &*second), ("It is warm in Rome.", "It is warm in Rome."));
    let reported = provider.requests().pop().unwrap().body;
    let reported = reported["messages"].as_array().unwrap();
    let reported: Vec<&str> =
        reported[1..].iter().filter_map(|said| said["content"].as_str()).collect();
    assert_eq!(reported, ["How warm is it in Rome?", "It is warm in Rome.", "And why is that?"]);
}

#[tokio::test]
async fn who_hangs_up_ends_the_model_call_of_the_project_manager() {
    let system = System::new().await;
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::no_response());
    add_provider(&system, &provider).await;
    let (whole, streamed) =
        (chat_request(MANAGER, "Say something"), chat_request(MANAGER, "Say more"));

    tokio::select! {
        answer = system.client.chat(None, &whole) => panic!("{answer:?}"),
        () = provider.wait_for_requests(1) => {}
    }
    provider.wait_for_abandoned(1).await;
    let chunks = async {
        let mut chunks = system.client.chat_stream(None, &streamed).await.unwrap();
        while chunks.next().await.unwrap().is_some() {}
    };
    tokio::select! {
        () = chunks => panic!("the stream ended"),
        () = provider.wait_for_requests(2) => {}
    }
    provider.wait_for_abandoned(2).await;
}

async fn request_task_in_chat(system: &System) {
    let request = system.cynork(&["chat", "-m", "run: echo hello"]).expect_success();
    let tasks = system.cynork(&["task", "list", "-o", "json"]).expect_success().json();
    let name = tasks["items"][0]["task_name"].as_str().unwrap().to_owned();
    let id = tasks["items"][0]["id"].as_str().unwrap().parse().unwrap();
    let view = wait_until_closed(&system.client, id, PATIENCE).await;
    let reported = system.cynork(&["chat", "-m", &format!("status of {name}")]).expect_success();

    assert!(request.stdout.contains(&name), "{request:?}");
    assert_eq!(view.status.as_str(), "completed");
    assert!(reported.stdout.contains("completed"), "{reported:?}");
}

#[tokio::test]
async fn a_model_is_asked_once_from_the_command_line_as_text_and_as_json() {
    let system = System::new().await;
    let provider = ScriptedProvider::saying("It is warm in Rome.");
    add_provider(&system, &provider).await;

    let text = system.cynork(&["chat", "--model", MODEL, "-m", "How warm is it?"]).expect_success();
    let json = ["chat", "--model", MODEL, "-m", "How warm is it?", "-o", "json"];
    let json = system.cynork(&json).expect_success().json();
    let unknown = system.cynork(&["chat", "--model", "gpt-9", "-m", "hi"]);

    assert_eq!(text.stdout, "It is warm in Rome.\n");
    assert_eq!(json["choices"][0]["message"]["content"], "It is warm in Rome.");
    assert_eq!(unknown.code, 4, "{unknown:?}");
}

#[tokio::test]
async fn no_secret_said_in_chat_is_in_any_file_of_the_system_or_told_to_a_model() {
    let system = System::new().await;
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::text("Do not paste secrets."));
    add_provider(&system, &provider).await;
    for secret in planted_secrets() {
        for model in [MODEL, MANAGER] {
            system.client.chat(None, &chat_request(model, &secret.text)).await.unwrap();
        }
        // Errors and their logs contain none either.
        let unknown = chat_request("nobody/none", &secret.text);
        system.client.chat(None, &unknown).await.unwrap_err();
    }

    let files = read_files_below(system.data_dir());
    assert!(files.iter().any(|(_, text)| text.contains("SECRET_REDACTED")));
    for secret in planted_secrets() {
        assert!(!provider.has_received(&secret.needle), "a model was told the {}", secret.name);
        for (path, text) in &files {
            assert!(!text.contains(&secret.needle), "the {} is in {path}", secret.name);
        }
    }
}

/// Every file of a system, including the database and all logs, with what is no text replaced.
fn read_files_below(dir: &Path) -> Vec<(String, String)> {
    let mut files = vec![];
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(read_files_below(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            files.push((path.display().to_string(), text));
        }
    }
    files
}
