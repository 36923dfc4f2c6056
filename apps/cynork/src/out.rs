//! Where output goes: data to standard output, talk to standard error.

use std::io::{self, IsTerminal as _, Write};

use chrono::{DateTime, Utc};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::env;
use cynode_wire::page::Page;
use serde::Serialize;

use crate::cli::Format;
use crate::failure::Failure;
use crate::table;

/// What a rendering needs to know about its reader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// The present, for ages.
    pub(crate) now: DateTime<Utc>,
    /// Columns of the terminal; unlimited when standard output is none.
    pub(crate) width: Option<u16>,
}

/// Whether talk is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Progress, advice, confirmations.
    Normal,
    /// Data and errors only.
    Quiet,
}

/// Whether standard error may be coloured and animated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A terminal that likes colours.
    Colour,
    /// A terminal without colours.
    Plain,
    /// Not a terminal: whole lines only.
    Lines,
}

/// Where output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    /// How data is printed.
    pub(crate) format: Format,
    /// Whether talk is wanted.
    pub(crate) talk: Talk,
    /// What standard error can show.
    pub(crate) style: Style,
}

impl Out {
    /// The output of this process.
    pub(crate) fn of_process(format: Format, talk: Talk, no_color: bool) -> Self {
        let set = |name| env::var(name).is_some_and(|value| !value.is_empty());
        let style = if !io::stderr().is_terminal() || env::var("TERM").as_deref() == Some("dumb") {
            Style::Lines
        } else if no_color || set("NO_COLOR") {
            Style::Plain
        } else {
            Style::Colour
        };
        Self { format, talk, style }
    }

    /// Shows one value: as JSON, or through `render` for people.
    pub(crate) fn show<T: Serialize>(
        self,
        value: &T,
        render: impl FnOnce(&T, Look) -> String,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(value),
            Format::Table => self.data(&(render(value, self.look()) + "\n")),
        }
    }

    /// Shows a list: as JSON the way every list is, or through `render` for people.
    pub(crate) fn list<T: Serialize>(
        self,
        items: Vec<T>,
        render: impl FnOnce(&[T], Look) -> String,
    ) -> Result<(), Failure> {
        let page = Page { items, next_cursor: None };
        self.show(&page, |page, look| render(&page.items, look))
    }

    /// Prints the one JSON value of a command.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.data(&(text + "\n"))
    }

    /// Writes to standard output as it is.
    #[expect(clippy::unused_self, reason = "all output goes through one value")]
    pub(crate) fn data(self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_ref())?;
        stdout.flush()?;
        Ok(())
    }

    /// Writes what somebody else said: to a terminal without what could rewrite it, to anything else
    /// as it is.
    pub(crate) fn prose(self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() { self.data(table::prose(text)) } else { self.data(text) }
    }

    /// Writes a line of talk, unless it is unwanted.
    pub(crate) fn say(self, line: &str) {
        if self.talk == Talk::Normal {
            self.tell(&format!("{line}\n"));
        }
    }

    /// Writes to standard error as it is. Nobody is left to be told when that fails.
    #[expect(clippy::unused_self, reason = "all output goes through one value")]
    pub(crate) fn tell(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// `text` in the colour of the ANSI `code`, where colours are wanted.
    pub(crate) fn paint(self, code: u8, text: &str) -> String {
        match self.style {
            Style::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
            Style::Plain | Style::Lines => text.to_owned(),
        }
    }

    /// What a rendering needs to know about its reader.
    #[expect(clippy::unused_self, reason = "all output goes through one value")]
    pub(crate) fn look(self) -> Look {
        let width = if io::stdout().is_terminal() {
            terminal_size::terminal_size().map(|(width, _)| width.0)
        } else {
            None
        };
        Look { now: SystemClock.now(), width }
    }
}
