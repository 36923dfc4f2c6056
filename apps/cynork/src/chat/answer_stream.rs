//! Streams an answer to the terminal.

use cynode_client::ChatChunkStream;
use cynode_llm_wire::openai::{ChatChunk, ChatRequest};

use super::CliConversation;
use super::word_wrap::WordWrap;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::CommandOutput;
use cynode_cli::session::ApiSession;
use cynode_cli::table;
use cynode_cli::untrusted_stream::UntrustedStream;

/// How a streamed answer ended, with its text.
pub(super) enum StreamedAnswer {
    Complete(String),
    /// Stopped with Ctrl-C.
    Interrupted(String),
}

/// Sends the request and streams the answer to standard output. Ctrl-C stops the answer.
pub(super) async fn stream_answer(
    conversation: &CliConversation,
    request: &ChatRequest,
    app: &mut CliContext,
) -> Result<StreamedAnswer, CliFailure> {
    let project = conversation.project.as_deref();
    let out = app.out;
    let mut text = String::new();
    let mut wrap = WordWrap::new(out.render_context().width);
    let mut terminal = out.untrusted_stdout();
    let outcome = tokio::select! {
        outcome = async {
            let mut chunks =
                app.session.call(async |client| client.chat_stream(project, request).await).await?;
            print_chunks(&mut chunks, &app.session, &mut text, &mut wrap, &mut terminal, out).await
        } => outcome.map(|()| true),
        _ = tokio::signal::ctrl_c() => Ok(false),
    };
    terminal.write(&wrap.finish())?;
    // Later output starts on its own line, even if the answer was cut off.
    if !text.is_empty() && !text.ends_with('\n') {
        out.data("\n")?;
    }
    Ok(if outcome? { StreamedAnswer::Complete(text) } else { StreamedAnswer::Interrupted(text) })
}

async fn print_chunks(
    chunks: &mut ChatChunkStream,
    session: &ApiSession,
    text: &mut String,
    wrap: &mut WordWrap,
    terminal: &mut UntrustedStream,
    out: CommandOutput,
) -> Result<(), CliFailure> {
    while let Some(chunk) = chunks.next().await.map_err(|error| session.convert_error(error))? {
        if let Some(tool) = format_tool_call(&chunk) {
            terminal.write(&wrap.finish())?;
            out.print_message(&out.paint(2, &table::sanitize(&tool)));
        }
        text.push_str(chunk.text());
        terminal.write(&wrap.push(chunk.text()))?;
    }
    Ok(())
}

/// The tool call that a chunk reports, as one line.
fn format_tool_call(chunk: &ChatChunk) -> Option<String> {
    let tool = chunk.other.get("cynodeai")?.get("tool")?;
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
        let mut chunk = ChatChunk::default();
        assert_eq!(format_tool_call(&chunk), None);
        let tool = json!({"name": "task.list", "succeeded": true, "summary": "2 tasks"});
        chunk.other.insert("cynodeai".to_owned(), json!({ "tool": tool }));

        assert_eq!(format_tool_call(&chunk).unwrap(), "✓ task.list 2 tasks");
    }
}
