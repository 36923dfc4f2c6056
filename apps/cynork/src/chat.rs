//! `chat`: chat with the project manager, or with a model.
//!
//! Sends one message if `-m` or standard input gives it; otherwise starts an interactive conversation (`run_conversation`).

mod answer_stream;
mod interactive;
mod line_editor;
mod slash_command;
mod word_wrap;

use std::io::{self, IsTerminal as _, Read as _};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cynode_llm_wire::openai::{ChatMessage, ChatRequest};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;

/// Model id of the project manager.
const MANAGER: &str = "cynodeai.pm";
const MAX_INPUT_BYTES: u64 = 4 << 20;

/// Arguments of `chat`.
#[derive(Debug, Args)]
pub struct ChatCommandArgs {
    /// Send this message and exit [default: standard input, or an interactive conversation on a terminal].
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// The project manager, or a model that `/models` lists.
    #[arg(long, value_name = "MODEL", default_value = MANAGER,
        value_parser = NonEmptyStringValueParser::new())]
    model: String,
    /// The project, by slug or id [default: your default project].
    #[arg(short, long, value_name = "PROJECT", value_parser = NonEmptyStringValueParser::new())]
    project: Option<String>,
    /// Start a new thread.
    #[arg(long)]
    new: bool,
}

/// State of one conversation.
struct CliConversation {
    model: String,
    project: Option<String>,
    /// Messages so far. Sent with each request to a model; the project manager loads its own thread.
    messages: Vec<ChatMessage>,
}

impl CliConversation {
    fn build_request(&self, text: &str) -> ChatRequest {
        let mut messages = if self.model == MANAGER { vec![] } else { self.messages.clone() };
        messages.push(ChatMessage::text("user", text));
        ChatRequest { model: Some(self.model.clone()), messages, ..ChatRequest::default() }
    }

    fn append_turn(&mut self, question: &str, answer: &str) {
        self.messages.push(ChatMessage::text("user", question));
        self.messages.push(ChatMessage::text("assistant", answer));
    }
}

pub(crate) async fn run(args: ChatCommandArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let ChatCommandArgs { message, model, project, new } = args;
    let mut conversation = CliConversation { model, project, messages: vec![] };
    if new {
        interactive::start_thread(&mut conversation, None, app).await?;
    }
    let message = match message {
        Some(message) => Some(message),
        None if io::stdin().is_terminal() => None,
        None => Some(read_stdin()?),
    };
    match message {
        Some(message) => send_once(&conversation, &message, app).await,
        None if app.out.format == Format::Json => {
            Err(CliFailure::Usage("-o json needs a message: add -m TEXT".to_owned()))
        }
        None => interactive::run_conversation(conversation, app).await,
    }
}

async fn send_once(
    conversation: &CliConversation,
    message: &str,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    if message.trim().is_empty() {
        return Err(CliFailure::Usage("the message is empty".to_owned()));
    }
    let (request, project) = (conversation.build_request(message), conversation.project.as_deref());
    if app.out.format == Format::Json {
        let answer = app.session.call(async |client| client.chat(project, &request).await).await?;
        return app.out.print_json(&answer);
    }
    match answer_stream::stream_answer(conversation, &request, app).await? {
        answer_stream::StreamedAnswer::Complete(_) => Ok(()),
        answer_stream::StreamedAnswer::Interrupted(_) => Err(CliFailure::AnswerInterrupted),
    }
}

fn read_stdin() -> Result<String, CliFailure> {
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_INPUT_BYTES).read_to_string(&mut text);
    read.map_err(|error| CliFailure::Invalid(format!("cannot read standard input: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_the_whole_conversation_and_the_project_manager_what_is_new() {
        let mut conversation =
            CliConversation { model: "local/tiny".to_owned(), project: None, messages: vec![] };
        conversation.append_turn("hello", "hi");

        let model = conversation.build_request("and now?");
        MANAGER.clone_into(&mut conversation.model);
        let manager = conversation.build_request("and now?");

        assert_eq!(model.messages.len(), 3);
        assert_eq!(manager.messages.len(), 1);
        assert_eq!(manager.model.as_deref(), Some(MANAGER));
    }
}
