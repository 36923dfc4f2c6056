//! `chat`: talk to the project manager, or to a model.
//!
//! With a message, or with something on standard input, it asks once; otherwise it is a
//! conversation (`talk`).

mod answer;
mod slash;
mod talk;
mod typing;
mod wrap;

use std::io::{self, IsTerminal as _, Read as _};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cynode_wire::openai::{ChatMessage, ChatRequest};

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;

/// The model that is the project manager.
const MANAGER: &str = "cynodeai.pm";
/// More than anybody types.
const MAX_INPUT_BYTES: u64 = 4 << 20;

/// What to say, to whom.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Ask this and leave; without it a conversation begins, or standard input is asked.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Whom to ask: the project manager, or a model as `cynork chat` lists with `/models`.
    #[arg(long, value_name = "MODEL", default_value = MANAGER,
        value_parser = NonEmptyStringValueParser::new())]
    model: String,
    /// In which project, by slug or id; in your default project when absent.
    #[arg(short, long, value_name = "PROJECT", value_parser = NonEmptyStringValueParser::new())]
    project: Option<String>,
    /// Begin a new thread first.
    #[arg(long)]
    new: bool,
}

/// Whom we talk to, and what was said so far.
struct Conversation {
    model: String,
    project: Option<String>,
    /// What models are told each time; the project manager remembers by itself.
    said: Vec<ChatMessage>,
}

impl Conversation {
    /// The request that asks `text`.
    fn asking(&self, text: &str) -> ChatRequest {
        let mut messages = if self.model == MANAGER { vec![] } else { self.said.clone() };
        messages.push(ChatMessage::text("user", text));
        ChatRequest { model: Some(self.model.clone()), messages, ..ChatRequest::default() }
    }

    fn keep(&mut self, question: &str, answer: &str) {
        self.said.push(ChatMessage::text("user", question));
        self.said.push(ChatMessage::text("assistant", answer));
    }
}

/// Does what the command says.
pub(crate) async fn run(args: ChatArgs, app: &mut App) -> Result<(), Failure> {
    let ChatArgs { message, model, project, new } = args;
    let mut conversation = Conversation { model, project, said: vec![] };
    if new {
        talk::begin_thread(&mut conversation, None, app).await?;
    }
    let message = match message {
        Some(message) => Some(message),
        None if io::stdin().is_terminal() => None,
        None => Some(standard_input()?),
    };
    match message {
        Some(message) => once(&conversation, &message, app).await,
        None if app.out.format == Format::Json => {
            Err(Failure::Usage("-o json asks once: add -m TEXT".to_owned()))
        }
        None => talk::talk(conversation, app).await,
    }
}

async fn once(conversation: &Conversation, message: &str, app: &mut App) -> Result<(), Failure> {
    if message.trim().is_empty() {
        return Err(Failure::Usage("there is nothing to ask".to_owned()));
    }
    let (request, project) = (conversation.asking(message), conversation.project.as_deref());
    if app.out.format == Format::Json {
        let answer = app.session.call(async |client| client.chat(project, &request).await).await?;
        return app.out.json(&answer);
    }
    match answer::print(conversation, &request, app).await? {
        answer::Ending::Whole(_) => Ok(()),
        answer::Ending::Stopped(_) => Err(Failure::Stopped),
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_INPUT_BYTES).read_to_string(&mut text);
    read.map_err(|error| Failure::Invalid(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_the_whole_conversation_and_the_project_manager_what_is_new() {
        let mut conversation =
            Conversation { model: "local/tiny".to_owned(), project: None, said: vec![] };
        conversation.keep("hello", "hi");

        let model = conversation.asking("and now?");
        MANAGER.clone_into(&mut conversation.model);
        let manager = conversation.asking("and now?");

        assert_eq!(model.messages.len(), 3);
        assert_eq!(manager.messages.len(), 1);
        assert_eq!(manager.model.as_deref(), Some(MANAGER));
    }
}
