//! Line editor of the interactive conversation, with in-memory history.
//!
//! Invariant: input is never written to a file, because it may contain secrets.

use std::sync::mpsc as wishes;

use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use tokio::sync::mpsc;

use cynode_cli::failure::CliFailure;

const CONTINUATION_PROMPT: &str = "...> ";

/// Result of reading one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// A line editor. Reads on its own thread, because reading a terminal blocks.
pub(super) struct LineEditor {
    prompts: wishes::Sender<String>,
    lines: mpsc::Receiver<InputLine>,
}

impl LineEditor {
    /// Prepares the terminal; reads nothing before [`LineEditor::read_line`].
    pub(super) fn open() -> Result<Self, CliFailure> {
        // Prompts go to the terminal even if standard output is a file.
        let config = Config::builder().behavior(Behavior::PreferTerm).build();
        let editor = Editor::with_history(config, MemHistory::new())
            .map_err(|error| CliFailure::Internal(format!("cannot use the terminal: {error}")))?;
        let (prompts, request) = wishes::channel();
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || run_editor(editor, &request, &sender));
        Ok(Self { prompts, lines })
    }

    /// Prompts for the next line and reads it.
    pub(super) async fn read_line(&mut self, prompt: &str) -> InputLine {
        if self.prompts.send(prompt.to_owned()).is_err() {
            return InputLine::End;
        }
        self.lines.recv().await.unwrap_or(InputLine::End)
    }
}

fn run_editor(
    mut editor: Editor<(), MemHistory>,
    prompts: &wishes::Receiver<String>,
    lines: &mpsc::Sender<InputLine>,
) {
    while let Ok(prompt) = prompts.recv() {
        let line = read_continued(&prompt, |prompt| editor.readline(prompt));
        if let InputLine::Text(text) = &line
            && !text.trim().is_empty()
        {
            // A line that cannot be added to the history is not an error.
            let _ = editor.add_history_entry(text);
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads a line and its continuations: a trailing backslash continues on the next line.
fn read_continued(
    prompt: &str,
    mut readline: impl FnMut(&str) -> Result<String, ReadlineError>,
) -> InputLine {
    let (mut text, mut prompt) = (String::new(), prompt);
    loop {
        match readline(prompt) {
            Ok(line) => text.push_str(&line),
            Err(ReadlineError::Interrupted) => return InputLine::Interrupted,
            Err(_) => return InputLine::End,
        }
        if !text.ends_with('\\') {
            return InputLine::Text(text);
        }
        text.pop();
        text.push('\n');
        prompt = CONTINUATION_PROMPT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_after_a_backslash_and_ctrl_c_drops_it() {
        let typed = |lines: &[&str]| {
            let mut lines = lines.iter();
            let mut prompts = vec![];
            let line = read_continued("you> ", |prompt| {
                prompts.push(prompt.to_owned());
                lines.next().map(|line| (*line).to_owned()).ok_or(ReadlineError::Interrupted)
            });
            (line, prompts.len())
        };

        assert_eq!(typed(&["one\\", "two"]), (InputLine::Text("one\ntwo".to_owned()), 2));
        assert_eq!(typed(&["one\\"]), (InputLine::Interrupted, 2));
    }
}
