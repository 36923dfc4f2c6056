//! What a person types at a terminal, with editing, and the lines of this conversation to go back to.
//!
//! Invariant: nothing that is typed is written to a file; it may hold secrets.

use std::sync::mpsc as wishes;

use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use tokio::sync::mpsc;

use crate::failure::Failure;

const MORE: &str = "...> ";

/// What came of asking for a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// What was typed.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// A person at a terminal. Lines are read beside everything else: nothing can be awaited on a terminal.
pub(super) struct Typing {
    prompts: wishes::Sender<String>,
    lines: mpsc::Receiver<Line>,
}

impl Typing {
    /// Prepares the terminal; nothing is read before [`Typing::next`].
    pub(super) fn begin() -> Result<Self, Failure> {
        // Prompts are talk: they go to the terminal, also where the answers go to a file.
        let config = Config::builder().behavior(Behavior::PreferTerm).build();
        let editor = Editor::with_history(config, MemHistory::new())
            .map_err(|error| Failure::Internal(format!("the terminal cannot be used: {error}")))?;
        let (prompts, asked) = wishes::channel();
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || read(editor, &asked, &sender));
        Ok(Self { prompts, lines })
    }

    /// Asks for the next line.
    pub(super) async fn next(&mut self, prompt: &str) -> Line {
        if self.prompts.send(prompt.to_owned()).is_err() {
            return Line::End;
        }
        self.lines.recv().await.unwrap_or(Line::End)
    }
}

fn read(
    mut editor: Editor<(), MemHistory>,
    prompts: &wishes::Receiver<String>,
    lines: &mpsc::Sender<Line>,
) {
    while let Ok(prompt) = prompts.recv() {
        let line = whole_line(&prompt, |prompt| editor.readline(prompt));
        if let Line::Text(text) = &line
            && !text.trim().is_empty()
        {
            // A line that cannot be kept cannot be gone back to, which is no reason to stop.
            let _ = editor.add_history_entry(text);
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// A line with those that it goes on in: each but the last ends with a backslash.
fn whole_line(
    prompt: &str,
    mut readline: impl FnMut(&str) -> Result<String, ReadlineError>,
) -> Line {
    let (mut text, mut prompt) = (String::new(), prompt);
    loop {
        match readline(prompt) {
            Ok(line) => text.push_str(&line),
            Err(ReadlineError::Interrupted) => return Line::Interrupted,
            Err(_) => return Line::End,
        }
        if !text.ends_with('\\') {
            return Line::Text(text);
        }
        text.pop();
        text.push('\n');
        prompt = MORE;
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
            let line = whole_line("you> ", |prompt| {
                prompts.push(prompt.to_owned());
                lines.next().map(|line| (*line).to_owned()).ok_or(ReadlineError::Interrupted)
            });
            (line, prompts.len())
        };

        assert_eq!(typed(&["one\\", "two"]), (Line::Text("one\ntwo".to_owned()), 2));
        assert_eq!(typed(&["one\\"]), (Line::Interrupted, 2));
    }
}
