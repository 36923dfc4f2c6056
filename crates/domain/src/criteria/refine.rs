//! Converts unambiguous prose criteria to checkable ones.
//!
//! Start at [`refine_prose`]. A sentence must match a form completely: one unknown word, such as "not", "or" or
//! "nicely", and it stays prose. Only quoted text, numbers and obvious paths are extracted, so that no check
//! is invented.

use super::Criterion;

/// The criterion that a sentence expresses, if it is unambiguous.
pub fn refine_prose(prose: &str) -> Option<Criterion> {
    let tokens = tokenize(prose)?;
    let forms =
        [parse_file_exists, parse_file_created, parse_exit_code, parse_output, parse_command];
    forms.iter().find_map(|form| form(&tokens))
}

/// Replaces prose with its checkable form where there is one; keeps the order.
///
/// A second exit code stays prose, because only the first one of a list is evaluated.
pub fn refine_criteria(criteria: &[Criterion]) -> Vec<Criterion> {
    let is_code = |criterion: &Criterion| matches!(criterion, Criterion::ExitCode { .. });
    let mut has_code = criteria.iter().any(is_code);
    let mut sharp = Vec::with_capacity(criteria.len());
    for criterion in criteria {
        let Criterion::Text { description } = criterion else {
            sharp.push(criterion.clone());
            continue;
        };
        let refined = refine_prose(description).filter(|refined| !(has_code && is_code(refined)));
        has_code |= refined.as_ref().is_some_and(is_code);
        sharp.push(refined.unwrap_or_else(|| criterion.clone()));
    }
    sharp
}

/// A word or a quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ProseToken {
    Word(String),
    Quoted { by: char, text: String },
}

const ARTICLES: &[&str] = &["the", "a", "an"];
/// Subjects of a sentence.
const ACTORS: &[&str] = &["command", "program", "script", "task", "step", "process"];
const EXISTS_PHRASES: &[&str] = &[
    "exists",
    "must exist",
    "should exist",
    "is there",
    "is present",
    "is created",
    "is written",
    "is generated",
    "is produced",
    "was created",
    "was written",
    "was generated",
    "was produced",
    "has been created",
    "has been written",
    "must be created",
    "should be created",
];
const CREATES_PHRASES: &[&str] =
    &["creates", "writes", "produces", "generates", "leaves", "there is"];
const EXIT_CODE_PHRASES: &[&str] = &[
    "exits with",
    "exits with code",
    "exits with status",
    "exits with exit code",
    "exits with exit status",
    "ends with code",
    "ends with exit code",
    "must exit with code",
    "should exit with code",
    "returns exit code",
    "exit code",
    "exit code is",
    "exit code must be",
    "exit code should be",
    "exit status is",
];
const PRINTS_PHRASES: &[&str] = &[
    "prints",
    "must print",
    "should print",
    "outputs",
    "output contains",
    "output includes",
    "output must contain",
    "output should contain",
    "standard output contains",
    "stdout contains",
];
const TO_STDOUT: &[&str] = &["", "to standard output", "to stdout"];
const SUCCEEDS_PHRASES: &[&str] = &[
    "passes",
    "pass",
    "succeeds",
    "must pass",
    "must succeed",
    "should pass",
    "should succeed",
    "runs successfully",
    "completes successfully",
    "exits with code 0",
    "exits with 0",
    "exits 0",
];
/// Top-level domains, which look like file extensions.
const TOP_LEVEL_DOMAINS: &[&str] = &["com", "org", "net", "io", "dev", "eu", "ai", "app"];

/// "The file out.txt exists", "report.md is created".
fn parse_file_exists(tokens: &[ProseToken]) -> Option<Criterion> {
    let (path, rest) = parse_file_path(tokens)?;
    matches_phrase(rest, EXISTS_PHRASES).then_some(Criterion::FileExists { path })
}

/// "It creates the file out.txt", "there is a file called out.txt".
fn parse_file_created(tokens: &[ProseToken]) -> Option<Criterion> {
    let (path, rest) = parse_file_path(strip_longest_phrase(skip_actor(tokens), CREATES_PHRASES)?)?;
    rest.is_empty().then_some(Criterion::FileExists { path })
}

/// "Exits with code 3", "the exit code is 3".
fn parse_exit_code(tokens: &[ProseToken]) -> Option<Criterion> {
    let tokens = skip_actor(tokens);
    // The longest phrase wins: "exits with" is a prefix of others.
    let rest = strip_longest_phrase(skip_word(tokens, ARTICLES), EXIT_CODE_PHRASES)?;
    let [ProseToken::Word(code)] = rest else { return None };
    let equals = code.parse::<u8>().ok()?;
    Some(Criterion::ExitCode { equals: equals.into() })
}

/// "Prints `ok`", "the output contains \"ok\"".
fn parse_output(tokens: &[ProseToken]) -> Option<Criterion> {
    let tokens = skip_actor(tokens);
    let rest = strip_longest_phrase(skip_word(tokens, ARTICLES), PRINTS_PHRASES)?;
    let [ProseToken::Quoted { text, .. }, rest @ ..] = rest else { return None };
    let is_whole = !text.trim().is_empty() && matches_phrase(rest, TO_STDOUT);
    is_whole.then(|| Criterion::OutputMatches { pattern: regex::escape(text) })
}

/// "`make test` passes".
fn parse_command(tokens: &[ProseToken]) -> Option<Criterion> {
    let named = &["command", "check", "test", "tests", "running"];
    let [ProseToken::Quoted { by: '`', text }, rest @ ..] =
        skip_word(skip_word(tokens, ARTICLES), named)
    else {
        return None;
    };
    let is_whole = !text.trim().is_empty() && matches_phrase(rest, SUCCEEDS_PHRASES);
    is_whole.then(|| Criterion::CommandSucceeds { command: text.trim().to_owned() })
}

/// A leading path, with or without the word "file" before it.
fn parse_file_path(tokens: &[ProseToken]) -> Option<(String, &[ProseToken])> {
    let tokens = skip_word(tokens, ARTICLES);
    let named = skip_word(tokens, &["file"]);
    let says_file = named.len() < tokens.len();
    let [token, rest @ ..] = skip_word(named, &["called", "named"]) else { return None };
    let (ProseToken::Word(path) | ProseToken::Quoted { text: path, .. }) = token;
    let is_quoted = matches!(token, ProseToken::Quoted { .. });
    let is_meant = has_file_extension(path) || (is_quoted && says_file && is_plain_path(path));
    is_meant.then(|| (path.clone(), rest))
}

/// Whether this is a relative path of plain characters without `.` and `..`.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    !path.is_empty()
        && path.chars().all(is_plain)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Whether a word must be a path: it has a file extension.
fn has_file_extension(path: &str) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let has_ending = ending.is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && !TOP_LEVEL_DOMAINS.contains(&ending.to_ascii_lowercase().as_str())
    });
    is_plain_path(path) && has_ending
}

/// Skips the subject of the sentence.
fn skip_actor(tokens: &[ProseToken]) -> &[ProseToken] {
    let bare = skip_word(tokens, ARTICLES);
    let acted = skip_word(skip_word(bare, &["last"]), ACTORS);
    match (acted.len() < bare.len(), bare) {
        (true, _) => acted,
        (false, _) => skip_word(tokens, &["it"]),
    }
}

fn is_word(token: &ProseToken, words: &[&str]) -> bool {
    matches!(token, ProseToken::Word(word) if words.contains(&word.to_ascii_lowercase().as_str()))
}

fn skip_word<'a>(tokens: &'a [ProseToken], words: &[&str]) -> &'a [ProseToken] {
    match tokens {
        [first, rest @ ..] if is_word(first, words) => rest,
        _ => tokens,
    }
}

/// The tokens after the longest matching phrase.
fn strip_longest_phrase<'a>(
    tokens: &'a [ProseToken],
    phrases: &[&str],
) -> Option<&'a [ProseToken]> {
    let rests = phrases.iter().filter_map(|phrase| strip_phrase(tokens, phrase));
    rests.min_by_key(|rest| rest.len())
}

fn matches_phrase(tokens: &[ProseToken], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| strip_phrase(tokens, phrase).is_some_and(<[ProseToken]>::is_empty))
}

fn strip_phrase<'a>(mut tokens: &'a [ProseToken], phrase: &str) -> Option<&'a [ProseToken]> {
    for word in phrase.split_whitespace() {
        let [first, rest @ ..] = tokens else { return None };
        if !is_word(first, &[word]) {
            return None;
        }
        tokens = rest;
    }
    Some(tokens)
}

/// Tokenises one sentence; `None` for several sentences, lists and unbalanced quotes.
fn tokenize(prose: &str) -> Option<Vec<ProseToken>> {
    let mut rest = prose.trim();
    rest = rest.strip_suffix('.').unwrap_or(rest);
    let mut tokens = vec![];
    while let Some(first) = rest.chars().next() {
        let token = if let Some(close) = closing_quote(first) {
            let inner = &rest[first.len_utf8()..];
            let end = inner.find(close)?;
            rest = &inner[end + close.len_utf8()..];
            // Text directly after a quotation would change its meaning.
            if rest.starts_with(|c: char| !c.is_whitespace()) {
                return None;
            }
            ProseToken::Quoted { by: first, text: inner[..end].to_owned() }
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let word = &rest[..end];
            rest = &rest[end..];
            if word.ends_with([',', ';', ':', '?', '!']) && !cynode_fault::fault!("PMA-05") {
                return None;
            }
            ProseToken::Word(word.to_owned())
        };
        tokens.push(token);
        rest = rest.trim_start();
    }
    Some(tokens)
}

fn closing_quote(quote: char) -> Option<char> {
    match quote {
        '`' | '"' | '\'' => Some(quote),
        '“' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Criterion {
        Criterion::FileExists { path: path.to_owned() }
    }

    fn printed(pattern: &str) -> Criterion {
        Criterion::OutputMatches { pattern: pattern.to_owned() }
    }

    fn run(command: &str) -> Criterion {
        Criterion::CommandSucceeds { command: command.to_owned() }
    }

    #[test]
    fn prose_whose_words_leave_no_doubt_becomes_checkable() {
        let code = |equals| Criterion::ExitCode { equals };
        for (prose, expected) in [
            ("the file out.txt exists", file("out.txt")),
            ("The file `out.txt` exists.", file("out.txt")),
            ("A file called \"Makefile\" exists", file("Makefile")),
            ("report.md is created", file("report.md")),
            ("docs/report.md must exist", file("docs/report.md")),
            ("it creates the file build/app.tar.gz", file("build/app.tar.gz")),
            ("there is a file named notes.txt", file("notes.txt")),
            ("the script writes Out.TXT", file("Out.TXT")),
            ("exits with code 3", code(3)),
            ("The command exits with exit code 0", code(0)),
            ("it exits with 7", code(7)),
            ("the exit code is 42", code(42)),
            ("exit code 1", code(1)),
            ("prints 'hello'", printed("hello")),
            ("It prints “a+b” to standard output", printed("a\\+b")),
            ("the output contains `ok`", printed("ok")),
            ("stdout contains \"two words\"", printed("two words")),
            ("`make test` passes", run("make test")),
            ("The command `cargo test --all` succeeds.", run("cargo test --all")),
            ("running `./check.sh` must succeed", run("./check.sh")),
            ("`true` exits with code 0", run("true")),
        ] {
            assert_eq!(refine_prose(prose), Some(expected), "{prose}");
        }
    }

    #[test]
    fn prose_that_leaves_any_doubt_stays_prose() {
        for prose in [
            "",
            "it should look nice",
            "the file out.txt does not exist",
            "the file out.txt doesn't exist",
            "no file out.txt exists",
            "out.txt or out.md exists",
            "out.txt exists and is not empty",
            "the files a.txt and b.txt exist",
            "a.txt, b.txt exist",
            "out.txt exists?",
            "out.txt exists. It is not empty.",
            "report is created",
            "the `report` exists",
            "example.com exists",
            "v1.2 exists",
            "../secret.txt exists",
            "/etc/passwd.txt exists",
            "~/out.txt exists",
            "*.txt exists",
            "exits with code 300",
            "exits with code 3 or 4",
            "exits with a code",
            "does not exit with code 3",
            "exits nicely",
            "prints hello",
            "prints `ok`, then ends",
            "prints `ok`s",
            "prints `ok` or `fine`",
            "never prints `ok`",
            "prints ``",
            "prints `ok",
            "the output does not contain `ok`",
            "the tests pass",
            "\"make test\" passes",
            "`make test` fails",
            "`make test` passes quickly",
            "`make` and `make test` pass",
            "`make test` exits with code 3",
            "unless `make test` passes",
        ] {
            assert_eq!(refine_prose(prose), None, "{prose}");
        }
    }

    #[test]
    fn a_list_is_sharpened_in_its_order_and_keeps_its_first_exit_code() {
        let text = |words: &str| Criterion::Text { description: words.to_owned() };
        let before = [text("exits with code 3"), text("reads well"), text("exits with code 0")];

        let after = refine_criteria(&before);

        let code = Criterion::ExitCode { equals: 3 };
        assert_eq!(after, [code, text("reads well"), text("exits with code 0")]);
        assert_eq!(refine_criteria(&after), after);
    }
}
