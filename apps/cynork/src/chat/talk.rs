//! A conversation at a terminal.

use std::io::{self, BufRead as _};

use cynode_wire::page::PageQuery;
use cynode_wire::threads::{CreateThread, ThreadMessageView, ThreadQuery, ThreadView};
use tokio::sync::mpsc;

use super::answer::{self, Ending};
use super::slash::{self, HELP, Typed};
use super::{Conversation, MANAGER};
use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// What everybody calls their own default project.
const DEFAULT_PROJECT: &str = "default";

/// Talks until the person leaves.
pub(super) async fn talk(mut conversation: Conversation, app: &mut App) -> Result<(), Failure> {
    let whom =
        if conversation.model == MANAGER { "the project manager" } else { &conversation.model };
    app.out.say(&format!("You talk to {whom}. /help says what else you can type."));
    let mut lines = typed_lines();
    loop {
        app.out.tell(&app.out.paint(36, "you> "));
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = tokio::signal::ctrl_c() => {
                app.out.tell("\n");
                app.out.say("/quit or Ctrl-D leaves");
                continue;
            }
        };
        let Some(line) = line else {
            app.out.tell("\n");
            return Ok(());
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
        Typed::History => history(conversation, app).await?,
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

async fn history(conversation: &Conversation, app: &mut App) -> Result<(), Failure> {
    let Some(thread) = list(conversation, 1, app).await?.into_iter().next() else {
        app.out.say("nothing was said yet");
        return Ok(());
    };
    let mut query = PageQuery { limit: Some(200), cursor: None };
    loop {
        let page = app
            .session
            .call(async |client| client.thread_messages(thread.id, &query).await)
            .await?;
        if page.items.is_empty() && query.cursor.is_none() {
            app.out.say("nothing was said in this thread yet");
        }
        for message in &page.items {
            app.out.prose(&line(message, app.out.look()))?;
        }
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(());
        }
    }
}

fn line(message: &ThreadMessageView, look: Look) -> String {
    let cut = if message.is_partial { " (cut off)" } else { "" };
    let when = age::ago(look.now, message.created_at);
    format!("{}{cut}, {when}:\n{}\n\n", message.role, message.content.trim_end())
}

/// Lines as they are typed, read beside everything else: nothing can be awaited on a terminal.
fn typed_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut lines = io::stdin().lock().lines();
        let mut text = String::new();
        while let Some(Ok(line)) = lines.next() {
            text.push_str(&line);
            if text.ends_with('\\') {
                text.pop();
                text.push('\n');
            } else if sender.blocking_send(std::mem::take(&mut text)).is_err() {
                return;
            }
        }
    });
    receiver
}
