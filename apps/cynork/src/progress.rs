//! Live progress on standard error: a spinner on a terminal, plain lines anywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::out::{Out, Style, Talk};

/// Live progress. Dropping it clears the spinner.
pub(crate) struct Progress {
    out: Out,
    spinner: Option<ProgressBar>,
}

impl Progress {
    /// Starts to show progress, if talk is wanted.
    pub(crate) fn start(out: Out, doing: &str) -> Self {
        let animated = out.talk == Talk::Normal && out.style != Style::Lines;
        let spinner = animated.then(|| spinner(out, doing));
        Self { out, spinner }
    }

    /// Something that is done and stays on the screen.
    pub(crate) fn line(&self, text: &str) {
        match &self.spinner {
            Some(spinner) => spinner.println(text),
            None => self.out.say(text),
        }
    }

    /// Whether a spinner is shown, which anything else that writes to the terminal has to hide.
    pub(crate) fn is_animated(&self) -> bool {
        self.spinner.is_some()
    }

    /// Runs `write` while the spinner is hidden.
    pub(crate) fn hidden_while<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.spinner {
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    /// What is going on now; shown only where it can be replaced later.
    pub(crate) fn doing(&self, text: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(text.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

fn spinner(out: Out, doing: &str) -> ProgressBar {
    let template = match out.style {
        Style::Colour => "{spinner:.cyan} {msg} {elapsed:.dim}",
        Style::Plain | Style::Lines => "{spinner} {msg} {elapsed}",
    };
    let bar = ProgressBar::new_spinner().with_message(doing.to_owned());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
