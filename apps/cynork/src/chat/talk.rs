//! A conversation at a terminal.

use cynode_domain::ids::ThreadId;
use cynode_wire::page::PageQuery;
use cynode_wire::threads::{CreateThread, ThreadMessageView, ThreadQuery, ThreadView};

use super::answer::{self, Ending};
use super::slash::{self, HELP, Typed};
use super::typing::{Line, Typing};
use super::wrap::Wrap;
use super::{Conversation, MANAGER};
use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// The role of whoever asks.
const USER: &str = "user";
/// What everybody calls their own default project.
const DEFAULT_PROJECT: &str = "default";

/// Talks until the person leaves.
pub(super) async fn talk(mut conversation: Conversation, app: &mut App) -> Result<(), Failure> {
    let whom =
        if conversation.model == MANAGER { "the project manager" } else { &conversation.model };
    app.out.say(&format!("You talk to {whom}. /help says what else you can type."));
    let mut typing = Typing::begin()?;
    let prompt = app.out.paint(36, "you> ");
    loop {
        let line = match typing.next(&prompt).await {
            Line::Text(line) => line,
            Line::Interrupted => {
                app.out.say("/quit or Ctrl-D leaves");
                continue;
            }
            Line::End => return Ok(()),
        };
        let typed = slash::read(&line);
        if typed == Typed::Quit {
            return Ok(());
        }
        // What goes wrong ends the answer, not the conversation.
        if let Err(failure) = obey(typed, &mut conversation, app).await {
            if failure.is_closed_pipe() {
                return Err(failure);
            }
            app.out.tell(&format!("{} {failure}\n", app.out.paint(31, "error:")));
        }
    }
}

async fn obey(typed: Typed, conversation: &mut Conversation, app: &mut App) -> Result<(), Failure> {
    match typed {
        Typed::Nothing | Typed::Quit => {}
        Typed::Words(words) => ask(&words, conversation, app).await?,
        Typed::Help => app.out.say(HELP),
        Typed::Model(Some(model)) => turn_to(model, conversation, app).await?,
        Typed::Model(None) => app.out.say(&format!("you talk to {}", conversation.model)),
        Typed::Models => models(app).await?,
        Typed::Project(Some(project)) => enter(project, conversation, app).await?,
        Typed::Project(None) => {
            let project = conversation.project.as_deref().unwrap_or("your default project");
            app.out.say(&format!("you are in {project}"));
        }
        Typed::New(title) => begin_thread(conversation, title, app).await?,
        Typed::Threads => threads(conversation, app).await?,
        Typed::Thread(None) => app.out.say("which one? /threads lists their ids"),
        Typed::Thread(Some(id)) => match id.parse() {
            Ok(thread) => history(thread, app).await?,
            Err(_) => app.out.say(&format!("\"{id}\" is no id of a thread; /threads lists them")),
        },
        Typed::History => match list(conversation, 1, app).await?.into_iter().next() {
            Some(thread) => history(thread.id, app).await?,
            None => app.out.say("nothing was said yet"),
        },
        Typed::Unknown(name) => {
            app.out.say(&format!("there is no /{name}; /help lists what there is"));
        }
    }
    Ok(())
}

async fn ask(words: &str, conversation: &mut Conversation, app: &mut App) -> Result<(), Failure> {
    let request = conversation.asking(words);
    match answer::print(conversation, &request, app).await? {
        Ending::Whole(text) => conversation.keep(words, &text),
        Ending::Stopped(text) => {
            app.out.say(&app.out.paint(2, "(stopped)"));
            conversation.keep(words, &text);
        }
    }
    Ok(())
}

/// Talks to somebody else from now on. Some names stand for models without being listed.
async fn turn_to(
    model: String,
    conversation: &mut Conversation,
    app: &mut App,
) -> Result<(), Failure> {
    let offered = app.session.call(async |client| client.chat_models().await).await?;
    let is_listed = offered.data.iter().any(|known| known.id == model);
    let doubt = if is_listed { "" } else { "; /models does not list it" };
    app.out.say(&format!("you talk to {model} now{doubt}"));
    conversation.model = model;
    Ok(())
}

async fn models(app: &mut App) -> Result<(), Failure> {
    let offered = app.session.call(async |client| client.chat_models().await).await?;
    let rows = offered.data.into_iter().map(|model| vec![model.id, model.owned_by]);
    app.out.data(table::rows(&["MODEL", "OF"], rows, app.out.look()) + "\n")
}

async fn enter(
    project: String,
    conversation: &mut Conversation,
    app: &mut App,
) -> Result<(), Failure> {
    let found = app.session.call(async |client| client.project_get(&project).await).await?;
    app.out.say(&format!("you are in {} now", found.slug));
    conversation.project = Some(found.slug);
    conversation.said.clear();
    Ok(())
}

/// Begins a thread, and forgets what was said before.
pub(super) async fn begin_thread(
    conversation: &mut Conversation,
    title: Option<String>,
    app: &mut App,
) -> Result<(), Failure> {
    let body = CreateThread { project: conversation.project.clone(), title };
    app.session.call(async |client| client.thread_create(&body).await).await?;
    conversation.said.clear();
    app.out.say("a new thread begins");
    Ok(())
}

/// Threads of the project that the conversation is in.
async fn list(
    conversation: &Conversation,
    limit: u32,
    app: &mut App,
) -> Result<Vec<ThreadView>, Failure> {
    let project = conversation.project.clone().or_else(|| Some(DEFAULT_PROJECT.to_owned()));
    let query = ThreadQuery { project, limit: Some(limit), cursor: None };
    match app.session.call(async |client| client.thread_list(&query).await).await {
        Ok(page) => Ok(page.items),
        // The default project is made when something is first done in it.
        Err(Failure::Refused(problem))
            if problem.status == 404 && conversation.project.is_none() =>
        {
            Ok(vec![])
        }
        Err(failure) => Err(failure),
    }
}

async fn threads(conversation: &Conversation, app: &mut App) -> Result<(), Failure> {
    let look = app.out.look();
    let rows = list(conversation, 20, app).await?.into_iter().map(|thread| {
        let title = thread.title.unwrap_or_default();
        vec![thread.id.to_string(), table::short(&title, 40), age::ago(look.now, thread.updated_at)]
    });
    app.out.data(table::rows(&["THREAD", "TITLE", "LAST SAID"], rows, look) + "\n")
}

/// Shows what was said in a thread, oldest first.
async fn history(thread: ThreadId, app: &mut App) -> Result<(), Failure> {
    let mut query = PageQuery { limit: Some(200), cursor: None };
    let mut said: Vec<ThreadMessageView> = vec![];
    loop {
        let page =
            app.session.call(async |client| client.thread_messages(thread, &query).await).await?;
        said.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    if said.is_empty() {
        app.out.say("nothing was said in this thread yet");
    }
    let look = app.out.look();
    for (index, message) in said.iter().enumerate() {
        let mut wrap = Wrap::new(look.width);
        let text = wrap.push(&line(message, said.get(index + 1), look)) + &wrap.finish();
        app.out.prose(&text)?;
    }
    Ok(())
}

/// One message with its head. A question after which nobody else spoke was not answered.
fn line(message: &ThreadMessageView, next: Option<&ThreadMessageView>, look: Look) -> String {
    let is_question = message.role == USER;
    let note = match next {
        _ if message.is_partial => " (cut off)",
        Some(next) if is_question && next.role == USER => " (not answered)",
        None if is_question => " (no answer yet)",
        Some(_) | None => "",
    };
    let when = age::ago(look.now, message.created_at);
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
        let look = Look { now: DateTime::UNIX_EPOCH, width: None };
        let (user, assistant) = (message("user"), message("assistant"));
        let head = |next| line(&user, next, look).lines().next().unwrap().to_owned();

        assert!(head(Some(&user)).starts_with("user (not answered), "));
        assert!(head(None).starts_with("user (no answer yet), "));
        assert!(head(Some(&assistant)).starts_with("user, "));
        assert!(line(&assistant, None, look).starts_with("assistant, "));
    }
}
