//! Extracts explicit command lines from a text. Prose is never run as a command.

/// First words of a request that only runs commands.
const VERBS: &[&str] = &["run", "execute", "run:", "execute:"];
const POLITE: &[&str] = &["please", "can", "could", "you", "kindly", "then", "now", "just"];

/// Returns the commands of a request that only asks to run them.
///
/// Only marked commands count: a code block, a line that starts with `$ `, or code after `run`. A request that
/// quotes commands for another purpose, such as a bug report, has none.
pub fn explicit_commands(request: &str) -> Vec<String> {
    let (blocks, prose) = split_commands(request);
    if asks_to_run(&prose) || prose.trim().is_empty() {
        if !blocks.is_empty() {
            return blocks;
        }
        return inline_code(&prose);
    }
    vec![]
}

/// Splits a text into the commands in code blocks and prompt lines, and the remaining prose.
fn split_commands(text: &str) -> (Vec<String>, String) {
    let (mut commands, mut prose) = (vec![], String::new());
    let mut block: Option<bool> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(language) = trimmed.strip_prefix("```") {
            let is_shell = matches!(language, "" | "sh" | "bash" | "shell" | "console" | "zsh");
            block = if block.is_some() { None } else { Some(is_shell) };
            continue;
        }
        let prompted = trimmed.strip_prefix("$ ").map(str::trim);
        match (block, prompted) {
            (Some(true) | None, Some(command)) => commands.push(command.to_owned()),
            (Some(true), None) if !trimmed.is_empty() && !trimmed.starts_with('#') => {
                commands.push(trimmed.to_owned());
            }
            (Some(_), _) => {}
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    (commands, prose)
}

fn asks_to_run(prose: &str) -> bool {
    let mut words = prose.split_whitespace().map(str::to_lowercase);
    words.find(|word| !POLITE.contains(&word.trim_matches(','))).is_some_and(|word| {
        VERBS.contains(&word.as_str())
            && prose.lines().filter(|l| !l.trim().is_empty()).count() <= 2
    })
}

/// The code between single backticks.
fn inline_code(prose: &str) -> Vec<String> {
    let parts: Vec<&str> = prose.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return vec![];
    }
    let is_code = |(index, part): (usize, &&str)| {
        (index % 2 == 1 && !part.trim().is_empty()).then(|| part.trim().to_owned())
    };
    parts.iter().enumerate().filter_map(is_code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_as_a_command_is_one() {
        assert_eq!(explicit_commands("Run `make test`"), ["make test"]);
        assert_eq!(explicit_commands("Please run `make` and `make test`."), ["make", "make test"]);
        assert_eq!(explicit_commands("$ make\n$ make test"), ["make", "make test"]);
        assert_eq!(
            explicit_commands("Please run:\n```sh\n# first\nmake\nls -l\n```"),
            ["make", "ls -l"]
        );
        assert_eq!(explicit_commands("```\n$ ls\n```"), ["ls"]);
    }

    #[test]
    fn prose_and_code_that_is_shown_for_another_reason_are_no_commands() {
        for request in [
            "Run the tests",
            "rm -rf /",
            "Fix the crash of `make test`",
            "Fix what happens here:\n```sh\nmake test\n```",
            "```python\nprint(1)\n```",
            "Run `unfinished",
            "Explain this.\n$ make",
            "",
        ] {
            assert_eq!(explicit_commands(request), Vec::<String>::new(), "{request}");
        }
    }
}
