//! Turns that go on from each other by name.

use cynode_domain::ids::ChatTurnId;
use cynode_ops::Projects;
use cynode_ops::chat::{ChatCall, Link, MANAGER_MODEL};
use cynode_wire::openai::ChatMessage;
use cynode_wire::projects::CreateProject;

use super::world::{ChatWorld, MODEL, Manner, request};

impl ChatWorld {
    /// Asks after a turn, or for the first time, and says what the new turn is called.
    async fn go_on(&self, follows: Option<ChatTurnId>, model: &str, text: &str) -> ChatTurnId {
        let link = Link::after(follows);
        let call = ChatCall { link: Some(link), ..self.call() };
        self.chat.complete(call, request(model, text)).await.unwrap();
        link.id
    }

    async fn recalled(&self, turn: ChatTurnId) -> Option<Vec<String>> {
        let messages = self.chat.recall(&self.call(), turn).await.unwrap()?;
        Some(messages.iter().map(ChatMessage::plain_text).collect())
    }
}

#[tokio::test]
async fn a_chain_of_turns_is_recalled_without_what_was_said_beside_it() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    world.ask(MODEL, "beside it").await.unwrap();
    let other = world.go_on(None, MODEL, "another chain").await;
    let second = world.go_on(Some(first), MANAGER_MODEL, "two").await;

    assert_eq!(world.recalled(first).await.unwrap(), ["one", "Hello there."]);
    assert_eq!(world.recalled(other).await.unwrap(), ["another chain", "Hello there."]);
    let both = ["one", "Hello there.", "two", "Hello there."];
    assert_eq!(world.recalled(second).await.unwrap(), both);
}

#[tokio::test]
async fn a_turn_is_remembered_with_its_model_and_its_cost() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    let second = world.go_on(Some(first), MODEL, "two").await;

    let past = world.chat.past_turn(&world.call(), second).await.unwrap().unwrap();

    assert_eq!(past.follows, Some(first));
    assert_eq!(past.answer.text(), "Hello there.");
    assert_eq!(past.answer.model, MODEL);
    assert_eq!(past.answer.usage.unwrap().total_tokens, 5);
}

#[tokio::test]
async fn turns_of_others_of_other_projects_and_without_a_name_are_not_recalled() {
    let world = ChatWorld::new(Manner::Answer).await;
    let mine = world.go_on(None, MODEL, "mine").await;
    world.ask(MODEL, "not named").await.unwrap();
    let unnamed = world.records().await[0].id;
    let admins = ChatCall { caller: world.world.admin.clone(), ..world.call() };
    let projects = Projects::new(world.world.store.clone(), world.world.clock.clone());
    let loom = CreateProject { display_name: "Loom".to_owned(), description: String::new() };
    projects.create(&world.world.bob, loom).await.unwrap();
    let elsewhere = ChatCall { project: Some("loom".to_owned()), ..world.call() };

    assert_eq!(world.chat.recall(&admins, mine).await.unwrap(), None);
    assert_eq!(world.chat.recall(&elsewhere, mine).await.unwrap(), None);
    assert_eq!(world.recalled(unnamed).await, None);
    assert_eq!(world.recalled(ChatTurnId::generate()).await, None);
}

#[tokio::test]
async fn a_repeated_request_is_recalled_with_what_its_first_attempt_said() {
    let world = ChatWorld::new(Manner::Answer).await;
    let lost = Link::after(None);
    let call = ChatCall { link: Some(lost), ..world.call() };
    world.chat.complete(call, request("nobody/has-this", "one")).await.unwrap_err();
    let link = Link::after(None);
    let call = ChatCall { link: Some(link), is_repeat: true, ..world.call() };
    world.chat.complete(call, request(MODEL, "one")).await.unwrap();

    assert_eq!(world.recalled(link.id).await.unwrap(), ["one", "Hello there."]);
    assert_eq!(world.recalled(lost.id).await, None, "it has no answer");
}
