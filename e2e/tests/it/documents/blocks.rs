//! The command blocks of a document, with the marks before them.

/// How to treat a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockMark {
    /// Not run.
    Skip,
    /// The command does not end by itself.
    Stop,
    /// Expected output.
    Expect(String),
    /// The exit code of its commands.
    Exit(i32),
}

/// A block of commands.
#[derive(Debug)]
pub(super) struct CommandBlock {
    /// The line where it begins, from 1.
    pub(super) number: usize,
    pub(super) marks: Vec<BlockMark>,
    pub(super) commands: Vec<DocumentedCommand>,
}

impl CommandBlock {
    pub(super) fn is_skipped(&self) -> bool {
        self.marks.contains(&BlockMark::Skip)
    }
}

/// A command, and its shown output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DocumentedCommand {
    /// Its line, from 1.
    pub(super) number: usize,
    pub(super) line: String,
    pub(super) shown: Vec<String>,
}

impl DocumentedCommand {
    /// The first words of the shown error, if any.
    pub(super) fn expected_error(&self) -> Option<String> {
        let error = self.shown.first().filter(|line| line.starts_with("error: "))?;
        Some(error.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
    }
}

/// The command blocks of a document, in order; or the line and the problem.
pub(super) fn parse_blocks(text: &str) -> Result<Vec<CommandBlock>, String> {
    let (mut all, mut marks) = (vec![], vec![]);
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let fault = |fault: &str| Err(format!("{}: {fault}", index + 1));
        if let Some(comment) = line.strip_prefix("<!-- test: ") {
            match comment.strip_suffix(" -->").and_then(parse_mark) {
                Some(mark) => marks.push(mark),
                None => return fault("no such mark; see e2e/tests/it/documents.rs"),
            }
            continue;
        }
        let marks = std::mem::take(&mut marks);
        let Some(language) = line.strip_prefix("```") else {
            if marks.is_empty() {
                continue;
            }
            return fault("a mark stands right before a block");
        };
        let mut inside = vec![];
        for (index, line) in lines.by_ref() {
            if line == "```" {
                break;
            }
            inside.push((index + 1, line));
        }
        match language {
            "console" => {
                all.push(CommandBlock {
                    number: index + 1,
                    marks,
                    commands: parse_commands(&inside)?,
                });
            }
            "ini" | "json" | "toml" | "python" | "text" | "mermaid" | "rust" | "sql" => {}
            _ => return fault("commands stand in a `console` block, each after `$ `"),
        }
    }
    Ok(all)
}

fn parse_mark(text: &str) -> Option<BlockMark> {
    match text.split_once([',', ' ']) {
        None if text == "stop" => Some(BlockMark::Stop),
        // A skipped block needs a reason.
        Some(("skip", reason)) if !reason.trim().is_empty() => Some(BlockMark::Skip),
        Some(("exit", code)) => code.parse().ok().map(BlockMark::Exit),
        Some(("expect", text)) if !text.is_empty() => Some(BlockMark::Expect(text.to_owned())),
        Some(_) | None => None,
    }
}

fn parse_commands(lines: &[(usize, &str)]) -> Result<Vec<DocumentedCommand>, String> {
    let mut all: Vec<DocumentedCommand> = vec![];
    for (number, line) in lines {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (_, Some(last)) if is_unfinished(&last.line) => {
                last.line.push('\n');
                last.line.push_str(line);
            }
            (Some(line), _) => {
                let line = line.to_owned();
                all.push(DocumentedCommand { number: *number, line, shown: vec![] });
            }
            (None, Some(last)) => last.shown.push((*line).to_owned()),
            (None, None) => {
                return Err(format!("{number}: a block begins with `$ ` and a command"));
            }
        }
    }
    Ok(all)
}

/// Whether a command continues in the next line: after a backslash, or inside quotes.
fn is_unfinished(command: &str) -> bool {
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                characters.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
    }
    quote.is_some() || command.ends_with('\\')
}

#[test]
fn a_document_is_read_as_commands_with_what_they_show() {
    let text = "prose\n<!-- test: expect two -->\n```console\n$ echo one \\\n    'and\n$ two'\none\n$ false\n\
                error: it cannot be done now\n```\n```json\n{}\n```\n<!-- test: skip, it downloads -->\n\
                ```console\n$ wget x\n```\n";

    let all = parse_blocks(text).unwrap();

    assert_eq!(all.len(), 2);
    assert_eq!(all[0].marks, [BlockMark::Expect("two".to_owned())]);
    assert_eq!(all[0].commands[0].line, "echo one \\\n    'and\n$ two'");
    assert_eq!(all[0].commands[0].expected_error(), None);
    let error = all[0].commands[1].expected_error();
    assert_eq!(error.as_deref(), Some("error: it cannot be"));
    assert!(all[1].is_skipped());
}

#[test]
fn a_block_that_would_escape_the_test_is_refused() {
    for (text, fault) in [
        ("```sh\nls\n```\n", "1: commands stand in a `console` block"),
        ("```console\nls\n```\n", "2: a block begins with"),
        ("<!-- test: skip -->\n```console\n$ ls\n```\n", "1: no such mark"),
        ("<!-- test: stop -->\nprose\n```console\n$ ls\n```\n", "2: a mark stands"),
    ] {
        let refused = parse_blocks(text).unwrap_err();
        assert!(refused.starts_with(fault), "{refused}");
    }
}
