//! An interactive conversation.

use cynode_domain::ids::ThreadId;
use cynode_wire::page::PageQuery;
use cynode_wire::threads::{CreateThread, ThreadMessageView, ThreadQuery, ThreadView};

use super::answer_stream::{self, StreamedAnswer};
use super::line_editor::{InputLine, LineEditor};
use super::slash_command::{self, ChatInput, HELP};
use super::word_wrap::WordWrap;
use super::{CliConversation, MANAGER};
use crate::profile_args::DEFAULT_PROJECT;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// The role of user messages.
const USER: &str = "user";
/// Reads lines and answers them until the user leaves.
pub(super) async fn run_conversation(
    mut conversation: CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let whom =
        if conversation.model == MANAGER { "the project manager" } else { &conversation.model };
    app.out.print_message(&format!("Chatting with {whom}. Type /help for commands."));
    let mut typing = LineEditor::open()?;
    let prompt = app.out.paint(36, "you> ");
    loop {
        let line = match typing.read_line(&prompt).await {
            InputLine::Text(line) => line,
            InputLine::Interrupted => {
                app.out.print_message("type /quit or press Ctrl-D to leave");
                continue;
            }
            InputLine::End => return Ok(()),
        };
        let typed = slash_command::parse_input(&line);
        if typed == ChatInput::Quit {
            return Ok(());
        }
        // A failed request does not end the conversation.
        if let Err(failure) = execute_input(typed, &mut conversation, app).await {
            if failure.is_closed_pipe() {
                return Err(failure);
            }
            app.out.write_stderr(&format!("{} {failure}\n", app.out.paint(31, "error:")));
        }
    }
}

async fn execute_input(
    typed: ChatInput,
    conversation: &mut CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    match typed {
        ChatInput::Empty | ChatInput::Quit => {}
        ChatInput::Message(words) => send_message(&words, conversation, app).await?,
        ChatInput::Help => app.out.print_message(HELP),
        ChatInput::Model(Some(model)) => change_model(model, conversation, app).await?,
        ChatInput::Model(None) => app.out.print_message(&format!("model: {}", conversation.model)),
        ChatInput::Models => list_models(app).await?,
        ChatInput::Project(Some(project)) => change_project(project, conversation, app).await?,
        ChatInput::Project(None) => {
            let project = conversation.project.as_deref().unwrap_or("your default project");
            app.out.print_message(&format!("project: {project}"));
        }
        ChatInput::New(title) => start_thread(conversation, title, app).await?,
        ChatInput::Threads => list_threads(conversation, app).await?,
        ChatInput::Thread(None) => app.out.print_message("give a thread id; /threads lists them"),
        ChatInput::Thread(Some(id)) => match id.parse() {
            Ok(thread) => print_thread(thread, app).await?,
            Err(_) => {
                app.out.print_message(&format!("\"{id}\" is not a thread id; /threads lists them"));
            }
        },
        ChatInput::History => match load_threads(conversation, 1, app).await?.into_iter().next() {
            Some(thread) => print_thread(thread.id, app).await?,
            None => app.out.print_message("no messages yet"),
        },
        ChatInput::Unknown(name) => {
            app.out.print_message(&format!("unknown command /{name}; /help lists the commands"));
        }
    }
    Ok(())
}

async fn send_message(
    words: &str,
    conversation: &mut CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let request = conversation.build_request(words);
    match answer_stream::stream_answer(conversation, &request, app).await? {
        StreamedAnswer::Complete(text) => conversation.append_turn(words, &text),
        StreamedAnswer::Interrupted(text) => {
            app.out.print_message(&app.out.paint(2, "(stopped)"));
            conversation.append_turn(words, &text);
        }
    }
    Ok(())
}

/// Changes the model. Aliases are accepted although `/models` does not list them.
async fn change_model(
    model: String,
    conversation: &mut CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let offered = app.session.call(async |client| client.chat_models().await).await?;
    let is_listed = offered.data.iter().any(|known| known.id == model);
    let doubt = if is_listed { "" } else { "; /models does not list it" };
    app.out.print_message(&format!("model: {model}{doubt}"));
    conversation.model = model;
    Ok(())
}

async fn list_models(app: &mut CliContext) -> Result<(), CliFailure> {
    let offered = app.session.call(async |client| client.chat_models().await).await?;
    let rows = offered.data.into_iter().map(|model| vec![model.id, model.owned_by]);
    app.out.data(table::render_table(&["MODEL", "OWNER"], rows, app.out.render_context()) + "\n")
}

async fn change_project(
    project: String,
    conversation: &mut CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let found = app.session.call(async |client| client.project_get(&project).await).await?;
    app.out.print_message(&format!("project: {}", found.slug));
    conversation.project = Some(found.slug);
    conversation.messages.clear();
    Ok(())
}

/// Starts a thread and clears the conversation.
pub(super) async fn start_thread(
    conversation: &mut CliConversation,
    title: Option<String>,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let body = CreateThread { project: conversation.project.clone(), title };
    app.session.call(async |client| client.thread_create(&body).await).await?;
    conversation.messages.clear();
    app.out.print_message("new thread started");
    Ok(())
}

/// Lists threads of the conversation's project, newest first.
async fn load_threads(
    conversation: &CliConversation,
    limit: u32,
    app: &mut CliContext,
) -> Result<Vec<ThreadView>, CliFailure> {
    let project = conversation.project.clone().or_else(|| Some(DEFAULT_PROJECT.to_owned()));
    let query = ThreadQuery { project, limit: Some(limit), cursor: None };
    match app.session.call(async |client| client.thread_list(&query).await).await {
        Ok(page) => Ok(page.items),
        // The default project is created on first use.
        Err(CliFailure::Rejected(problem))
            if problem.status == 404 && conversation.project.is_none() =>
        {
            Ok(vec![])
        }
        Err(failure) => Err(failure),
    }
}

async fn list_threads(
    conversation: &CliConversation,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let ctx = app.out.render_context();
    let rows = load_threads(conversation, 20, app).await?.into_iter().map(|thread| {
        let title = thread.title.unwrap_or_default();
        vec![
            thread.id.to_string(),
            table::truncate(&title, 40),
            relative_time::format_relative(ctx.now, thread.updated_at),
        ]
    });
    app.out.data(table::render_table(&["THREAD", "TITLE", "LAST MESSAGE"], rows, ctx) + "\n")
}

/// Prints all messages of a thread, oldest first.
async fn print_thread(thread: ThreadId, app: &mut CliContext) -> Result<(), CliFailure> {
    let mut query = PageQuery { limit: Some(200), cursor: None };
    let mut messages: Vec<ThreadMessageView> = vec![];
    loop {
        let page =
            app.session.call(async |client| client.thread_messages(thread, &query).await).await?;
        messages.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    if messages.is_empty() {
        app.out.print_message("no messages in this thread yet");
    }
    let ctx = app.out.render_context();
    for (index, message) in messages.iter().enumerate() {
        let mut wrap = WordWrap::new(ctx.width);
        let text =
            wrap.push(&format_message(message, messages.get(index + 1), ctx)) + &wrap.finish();
        app.out.untrusted_stdout().write(&text)?;
    }
    Ok(())
}

/// Formats one message with its header. A user message followed by another one was not answered.
fn format_message(
    message: &ThreadMessageView,
    next: Option<&ThreadMessageView>,
    ctx: RenderContext,
) -> String {
    let is_question = message.role == USER;
    let note = match next {
        _ if message.is_partial => " (cut off)",
        Some(next) if is_question && next.role == USER => " (not answered)",
        None if is_question => " (no answer yet)",
        Some(_) | None => "",
    };
    let when = relative_time::format_relative(ctx.now, message.created_at);
    format!("{}{note}, {when}:\n{}\n\n", message.role, message.content.trim_end())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;

    fn message(role: &str) -> ThreadMessageView {
        serde_json::from_value(json!({
            "id": "0193a4b2-0000-7000-8000-000000000001", "role": role, "content": "hi",
            "is_partial": false, "metadata": {}, "created_at": "1970-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn a_question_that_was_not_answered_is_marked() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };
        let (user, assistant) = (message("user"), message("assistant"));
        let head = |next| format_message(&user, next, ctx).lines().next().unwrap().to_owned();

        assert!(head(Some(&user)).starts_with("user (not answered), "));
        assert!(head(None).starts_with("user (no answer yet), "));
        assert!(head(Some(&assistant)).starts_with("user, "));
        assert!(format_message(&assistant, None, ctx).starts_with("assistant, "));
    }
}
