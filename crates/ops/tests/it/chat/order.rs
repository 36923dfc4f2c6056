//! The order of a turn: dispatch, input, persistence.

use cynode_llm_wire::openai::{ChatMessage, ChatRequest, StreamOptions};
use cynode_ops::{chat::MANAGER_MODEL, chat::SECRET_MARKER};
use cynode_testkit::planted_secrets;
use futures_util::StreamExt as _;
use serde_json::json;

use super::world::{ChatWorld, MODEL, Manner, request, turn};
use crate::engines::on_each_engine;

on_each_engine! {
    the_project_manager_answers_for_its_own_name_and_for_none,
    every_other_model_is_asked_directly_and_the_project_manager_never,
    what_the_user_says_is_kept_before_the_first_word_of_the_answer,
    question_and_answer_are_kept_and_the_turn_is_on_record,
    no_secret_is_kept_or_sent_to_whoever_answers,
    the_record_names_the_sorts_of_secrets_and_nothing_else,
    what_a_client_says_beside_its_messages_reaches_the_model,
    a_line_for_the_project_manager_comes_with_what_was_said_before,
    a_model_is_told_what_the_client_sent_and_no_more,
    a_streamed_answer_comes_in_the_pieces_it_was_made_of,
    the_usage_ends_a_stream_for_those_who_ask,
    the_project_manager_streams_and_shows_its_tools,
    models_on_offer_are_the_project_manager_those_of_providers_and_hints,
    instructions_of_the_client_are_not_kept_as_said_by_the_user,
}

async fn the_project_manager_answers_for_its_own_name_and_for_none() {
    let world = ChatWorld::new(Manner::Answer).await;

    let named = world.ask(MANAGER_MODEL, "how is it going?").await.unwrap();
    let unnamed = ChatRequest { model: None, ..request("", "and now?") };
    let unnamed = world.chat.complete(world.call(), unnamed).await.unwrap();
    let empty = world.ask("", "still?").await.unwrap_err();

    assert_eq!(empty.code(), "invalid_request");
    for answer in [&named, &unnamed] {
        assert_eq!(answer.text(), "Hello there.");
        assert_eq!(answer.model, MANAGER_MODEL);
        assert!(answer.id.starts_with("chatcmpl-"));
        assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("stop"));
    }
    assert_eq!(named.usage.unwrap().total_tokens, 9);
    assert_eq!(world.manager.received_requests().len(), 2);
    assert_eq!(world.model.received_requests().len(), 0);
}

async fn every_other_model_is_asked_directly_and_the_project_manager_never() {
    let world = ChatWorld::new(Manner::Answer).await;

    let answer = world.ask(MODEL, "hello").await.unwrap();
    let close = world.ask("cynodeai.pm2", "hello").await.unwrap_err();
    let cased = world.ask("CynodeAI.PM", "hello").await.unwrap_err();

    assert_eq!(answer.text(), "Hello there.");
    assert!(answer.id.starts_with("chatcmpl-") && answer.created > 0);
    assert_eq!([close.code(), cased.code()], ["model_not_found"; 2]);
    assert_eq!(world.model.received_requests().len(), 3);
    assert_eq!(world.manager.received_requests().len(), 0);
}

async fn what_the_user_says_is_kept_before_the_first_word_of_the_answer() {
    let world = ChatWorld::new(Manner::Hang).await;

    for (said, kept) in [("first", 1), ("second", 3)] {
        let answer = world.chat.stream(world.call(), request(MODEL, said)).await.unwrap();
        let mut answer = Box::pin(answer);
        let chunk = answer.next().await.unwrap().unwrap();

        assert_eq!(chunk.text(), "Hello");
        let all = world.stored_texts().await;
        assert_eq!((all.len(), all.last()), (kept, Some(&turn("user", said))));
        drop(answer);
        while world.stored_texts().await.len() == kept {
            tokio::task::yield_now().await;
        }
    }
}

async fn question_and_answer_are_kept_and_the_turn_is_on_record() {
    let world = ChatWorld::new(Manner::Answer).await;

    world.ask(MODEL, "hello").await.unwrap();

    assert_eq!(
        world.stored_texts().await,
        [turn("user", "hello"), turn("assistant", "Hello there.")]
    );
    let kept = world.stored_messages().await;
    assert_eq!(kept[1].metadata["model_id"], MODEL);
    assert_eq!(kept[1].metadata["usage"]["prompt_tokens"], 3);
    let record = world.records().await.remove(0);
    assert_eq!(record.outcome, "success");
    assert_eq!(record.model, MODEL);
    assert_eq!(record.request_id, "trace-1");
    assert_eq!(record.thread, Some(world.threads().await[0].id));
    assert!(record.redaction_kinds.is_empty() && record.error_code.is_none());
}

async fn no_secret_is_kept_or_sent_to_whoever_answers() {
    let world = ChatWorld::new(Manner::Answer).await;
    for secret in planted_secrets() {
        for model in [MODEL, MANAGER_MODEL] {
            world.ask(model, &secret.text).await.unwrap();
        }
    }
    let request = [world.model.received_requests(), world.manager.received_requests()].concat();
    let request = serde_json::Value::from(request).to_string();

    let database = &world.world.database;
    assert!(!database.tables_containing(SECRET_MARKER).await.is_empty());
    assert!(request.contains(SECRET_MARKER));
    for secret in planted_secrets() {
        let tables = database.tables_containing(&secret.needle).await;
        assert!(tables.is_empty(), "{tables:?} hold the {}", secret.name);
        assert!(!request.contains(&secret.needle), "the {} was not redacted", secret.name);
    }
}

async fn the_record_names_the_sorts_of_secrets_and_nothing_else() {
    let world = ChatWorld::new(Manner::Answer).await;
    let key = format!("sk-proj-{}", "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6");

    world.ask(MODEL, &format!("use {key} and password=hunter22")).await.unwrap();

    let record = world.records().await.remove(0);
    assert_eq!(record.redaction_kinds, ["api_key", "password"]);
    let said = &world.stored_texts().await[0].1;
    assert_eq!(said, "use sk-SECRET_REDACTED and password=SECRET_REDACTED");
}

async fn what_a_client_says_beside_its_messages_reaches_the_model() {
    let world = ChatWorld::new(Manner::Answer).await;
    let original: ChatRequest = serde_json::from_value(json!({
        "model": MODEL, "seed": 7, "response_format": {"type": "json_object"},
        "tools": [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}],
        "tool_choice": "required",
        "messages": [
            {"role": "user", "content": "find x"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "x is here"},
        ],
    }))
    .unwrap();

    world.chat.complete(world.call(), original.clone()).await.unwrap();

    assert_eq!(world.model.received_requests(), [serde_json::to_value(&original).unwrap()]);
    assert_eq!(world.stored_texts().await[0], turn("tool", "x is here"));
}

async fn a_line_for_the_project_manager_comes_with_what_was_said_before() {
    let world = ChatWorld::new(Manner::Answer).await;
    world.ask(MANAGER_MODEL, "first").await.unwrap();

    world.ask(MANAGER_MODEL, "second").await.unwrap();

    let reported = &world.manager.received_requests()[1]["body"]["messages"];
    let texts: Vec<_> = reported.as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
    assert_eq!(texts, ["first", "Hello there.", "second"]);
}

async fn a_model_is_told_what_the_client_sent_and_no_more() {
    let world = ChatWorld::new(Manner::Answer).await;
    world.ask(MODEL, "first").await.unwrap();

    world.ask(MODEL, "second").await.unwrap();

    let reported = &world.model.received_requests()[1]["messages"];
    assert_eq!(reported, &json!([{"role": "user", "content": "second"}]));
}

async fn a_streamed_answer_comes_in_the_pieces_it_was_made_of() {
    let world = ChatWorld::new(Manner::Answer).await;

    let chunks = world.pieces(request(MODEL, "hello")).await.unwrap();

    let texts: Vec<_> = chunks.iter().map(|p| p.as_ref().unwrap().text()).collect();
    assert_eq!(texts, ["Hello", " there.", ""]);
    let ids: Vec<_> = chunks.iter().map(|p| p.as_ref().unwrap().id.clone()).collect();
    assert!(ids.iter().all(|id| id.starts_with("chatcmpl-") && *id == ids[0]));
    assert_eq!(world.stored_texts().await[1], turn("assistant", "Hello there."));
    assert_eq!(world.records().await[0].outcome, "success");
}

async fn the_usage_ends_a_stream_for_those_who_ask() {
    let world = ChatWorld::new(Manner::Answer).await;
    for (model, total) in [(MODEL, 5), (MANAGER_MODEL, 9)] {
        let stream_options = StreamOptions { include_usage: true, ..StreamOptions::default() };
        let asking =
            ChatRequest { stream_options: Some(stream_options), ..request(model, "hello") };

        let last = world.pieces(asking).await.unwrap().pop().unwrap().unwrap();

        assert!(last.choices.is_empty());
        assert_eq!(last.usage.unwrap().total_tokens, total);
    }
}

async fn the_project_manager_streams_and_shows_its_tools() {
    let world = ChatWorld::new(Manner::Answer).await;

    let chunks = world.pieces(request(MANAGER_MODEL, "hello")).await.unwrap();
    let chunks: Vec<_> = chunks.into_iter().map(Result::unwrap).collect();

    assert_eq!(chunks[0].choices[0].delta.role.as_deref(), Some("assistant"));
    assert_eq!(chunks[1].other["cynodeai"]["tool"]["name"], "task.list");
    let text: String = chunks.iter().map(|chunk| chunk.text().to_owned()).collect();
    assert_eq!(text, "Hello there.");
    assert_eq!(chunks.last().unwrap().finish_reason(), Some("stop"));
    assert!(chunks.iter().all(|chunk| chunk.model == MANAGER_MODEL));
}

async fn models_on_offer_are_the_project_manager_those_of_providers_and_hints() {
    let world = ChatWorld::new(Manner::Answer).await;

    let offered = world.chat.list_models(&world.world.bob).await.unwrap();

    let ids: Vec<_> = offered.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, [MANAGER_MODEL, MODEL, "fast"]);
}

async fn instructions_of_the_client_are_not_kept_as_said_by_the_user() {
    let world = ChatWorld::new(Manner::Answer).await;
    let mut request = request(MODEL, "hello");
    request.messages.insert(0, ChatMessage::text("system", "be brief"));

    world.chat.complete(world.call(), request).await.unwrap();

    assert_eq!(world.stored_texts().await[0], turn("user", "hello"));
}
