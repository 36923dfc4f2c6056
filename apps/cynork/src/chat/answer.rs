//! Printing an answer as it comes.

use cynode_client::ChatPieces;
use cynode_wire::openai::{ChatChunk, ChatRequest};

use super::Conversation;
use super::wrap::Wrap;
use crate::app::App;
use crate::failure::Failure;
use crate::out::Out;
use crate::session::Session;
use crate::table;

/// How an answer ended, and what it said.
pub(super) enum Ending {
    /// By itself.
    Whole(String),
    /// The person stopped it.
    Stopped(String),
}

/// Asks, and prints the answer as it comes. Ctrl-C stops the answer.
pub(super) async fn print(
    conversation: &Conversation,
    request: &ChatRequest,
    app: &mut App,
) -> Result<Ending, Failure> {
    let project = conversation.project.as_deref();
    let out = app.out;
    let mut text = String::new();
    let mut wrap = Wrap::new(out.look().width);
    let outcome = tokio::select! {
        outcome = async {
            let mut pieces =
                app.session.call(async |client| client.chat_stream(project, request).await).await?;
            relay(&mut pieces, &app.session, (&mut text, &mut wrap), out).await
        } => outcome.map(|()| true),
        _ = tokio::signal::ctrl_c() => Ok(false),
    };
    out.prose(&wrap.finish())?;
    // What follows begins on a line of its own, also after an answer that broke off.
    if !text.is_empty() && !text.ends_with('\n') {
        out.data("\n")?;
    }
    Ok(if outcome? { Ending::Whole(text) } else { Ending::Stopped(text) })
}

async fn relay(
    pieces: &mut ChatPieces,
    session: &Session,
    (text, wrap): (&mut String, &mut Wrap),
    out: Out,
) -> Result<(), Failure> {
    while let Some(piece) = pieces.next().await.map_err(|error| session.fault(error))? {
        if let Some(tool) = tool_of(&piece) {
            out.prose(&wrap.finish())?;
            out.say(&out.paint(2, &table::harmless(&tool)));
        }
        text.push_str(piece.text());
        out.prose(&wrap.push(piece.text()))?;
    }
    Ok(())
}

/// What the project manager did, if a piece tells of it.
fn tool_of(piece: &ChatChunk) -> Option<String> {
    let tool = piece.other.get("cynodeai")?.get("tool")?;
    let word = |key: &str| tool.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let mark = match tool.get("succeeded").and_then(serde_json::Value::as_bool) {
        None => "…",
        Some(true) => "✓",
        Some(false) => "✗",
    };
    Some(format!("{mark} {} {}", word("name"), word("summary")).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_project_manager_did_is_told_in_a_line() {
        let mut piece = ChatChunk::default();
        assert_eq!(tool_of(&piece), None);
        let tool = json!({"name": "task.list", "succeeded": true, "summary": "2 tasks"});
        piece.other.insert("cynodeai".to_owned(), json!({ "tool": tool }));

        assert_eq!(tool_of(&piece).unwrap(), "✓ task.list 2 tasks");
    }
}
