//! Live progress on standard error: a spinner on a terminal, plain lines elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::out::{CommandOutput, TerminalStyle, Verbosity};

/// Live progress. Dropping it clears the spinner.
pub struct CommandProgress {
    out: CommandOutput,
    spinner: Option<ProgressBar>,
}

impl CommandProgress {
    /// Starts to show progress, unless quiet.
    pub fn start(out: CommandOutput, doing: &str) -> Self {
        let animated = out.verbosity == Verbosity::Normal && out.style != TerminalStyle::Lines;
        let spinner = animated.then(|| new_spinner(out, doing));
        Self { out, spinner }
    }

    /// Prints a line that stays on the screen.
    pub fn line(&self, text: &str) {
        match &self.spinner {
            Some(spinner) => spinner.println(text),
            None => self.out.print_message(text),
        }
    }

    /// Whether a spinner is active; other output to the terminal must hide it.
    pub fn is_animated(&self) -> bool {
        self.spinner.is_some()
    }

    /// Runs `write` while the spinner is hidden.
    pub fn with_spinner_hidden<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.spinner {
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    /// Sets the current activity; shown by the spinner only.
    pub fn set_activity(&self, text: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(text.to_owned());
        }
    }
}

impl Drop for CommandProgress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

fn new_spinner(out: CommandOutput, doing: &str) -> ProgressBar {
    let template = match out.style {
        TerminalStyle::Colour => "{spinner:.cyan} {msg} {elapsed:.dim}",
        TerminalStyle::Plain | TerminalStyle::Lines => "{spinner} {msg} {elapsed}",
    };
    let bar = ProgressBar::new_spinner().with_message(doing.to_owned());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
