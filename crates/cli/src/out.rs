//! Output: data to standard output, messages to standard error.

use std::io::{self, IsTerminal as _, Write};

use chrono::{DateTime, Utc};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::env;
use cynode_wire::page::Page;
use serde::Serialize;

use crate::failure::CliFailure;
use crate::global_args::{Format, GlobalArgs};
use crate::untrusted_stream::UntrustedStream;

/// What a renderer needs to know about the terminal.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext {
    /// Current time, for relative times.
    pub now: DateTime<Utc>,
    /// Terminal columns; `None` if standard output is not a terminal.
    pub width: Option<u16>,
}

/// Verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Progress, hints and confirmations.
    Normal,
    /// Data and errors only.
    Quiet,
}

/// What standard error supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalStyle {
    /// A terminal with colours.
    Colour,
    /// A terminal without colours.
    Plain,
    /// Not a terminal: whole lines, no animation.
    Lines,
}

/// Output settings of this process.
#[derive(Debug, Clone, Copy)]
pub struct CommandOutput {
    pub format: Format,
    pub verbosity: Verbosity,
    pub style: TerminalStyle,
    /// Whether escape sequences of jobs and models reach a terminal.
    pub is_raw: bool,
}

impl CommandOutput {
    /// Detects what the streams of this process support.
    pub fn detect(global: &GlobalArgs) -> Self {
        let set = |name| env::var(name).is_some_and(|value| !value.is_empty());
        let style = if !io::stderr().is_terminal() || env::var("TERM").as_deref() == Some("dumb") {
            TerminalStyle::Lines
        } else if global.no_color || set("NO_COLOR") {
            TerminalStyle::Plain
        } else {
            TerminalStyle::Colour
        };
        let verbosity = if global.quiet { Verbosity::Quiet } else { Verbosity::Normal };
        Self { format: global.output.unwrap_or_default(), verbosity, style, is_raw: global.raw }
    }

    /// Prints one value: as JSON, or formatted by `render`.
    pub fn show<T: Serialize>(
        self,
        value: &T,
        render: impl FnOnce(&T, RenderContext) -> String,
    ) -> Result<(), CliFailure> {
        match self.format {
            Format::Json => self.print_json(value),
            Format::Table => self.data(&(render(value, self.render_context()) + "\n")),
        }
    }

    /// Prints a list: as a JSON page, or formatted by `render`.
    pub fn list<T: Serialize>(
        self,
        items: Vec<T>,
        render: impl FnOnce(&[T], RenderContext) -> String,
    ) -> Result<(), CliFailure> {
        let page = Page { items, next_cursor: None };
        self.show(&page, |page, ctx| render(&page.items, ctx))
    }

    /// Prints a value as JSON.
    pub fn print_json(self, value: &impl Serialize) -> Result<(), CliFailure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.data(&(text + "\n"))
    }

    /// Writes to standard output unchanged.
    pub fn data(self, text: impl AsRef<[u8]>) -> Result<(), CliFailure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_ref())?;
        stdout.flush()?;
        Ok(())
    }

    /// Standard output for text of jobs and models.
    pub fn untrusted_stdout(self) -> UntrustedStream {
        UntrustedStream::stdout(self.is_raw)
    }

    /// Standard error for text of jobs.
    pub fn untrusted_stderr(self) -> UntrustedStream {
        UntrustedStream::stderr(self.is_raw)
    }

    /// Writes a message line to standard error, unless quiet.
    pub fn print_message(self, line: &str) {
        if self.verbosity == Verbosity::Normal {
            self.write_stderr(&format!("{line}\n"));
        }
    }

    /// Writes to standard error unchanged; errors are ignored.
    pub fn write_stderr(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Colours `text` with the ANSI `code`, if colours are enabled.
    pub fn paint(self, code: u8, text: &str) -> String {
        match self.style {
            TerminalStyle::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
            TerminalStyle::Plain | TerminalStyle::Lines => text.to_owned(),
        }
    }

    /// What a renderer needs to know about the terminal.
    pub fn render_context(self) -> RenderContext {
        let width = if io::stdout().is_terminal() {
            terminal_size::terminal_size().map(|(width, _)| width.0)
        } else {
            None
        };
        RenderContext { now: SystemClock.now(), width }
    }
}
