//! Prose that says something a rule can check, told as a criterion that one does check.
//!
//! Start at [`refine`]. A sentence is taken as a whole: one word that its form does not know, such as
//! "not", "or" or "nicely", and it stays prose. Only what is quoted, a number or plainly a path is ever
//! taken over, so that nothing is checked that nobody said.

use super::Criterion;

/// The criterion that a sentence means, if its words leave no doubt.
pub fn refine(prose: &str) -> Option<Criterion> {
    let tokens = tokens(prose)?;
    let forms = [file_exists, file_is_made, exit_code, output, command];
    forms.iter().find_map(|form| form(&tokens))
}

/// The same criteria in the same order, with prose in its checkable form where there is one.
///
/// A second exit code is left in prose: only the first one of a list is looked at.
pub fn sharpened(criteria: &[Criterion]) -> Vec<Criterion> {
    let is_code = |criterion: &Criterion| matches!(criterion, Criterion::ExitCode { .. });
    let mut has_code = criteria.iter().any(is_code);
    let mut sharp = Vec::with_capacity(criteria.len());
    for criterion in criteria {
        let Criterion::Text { description } = criterion else {
            sharp.push(criterion.clone());
            continue;
        };
        let refined = refine(description).filter(|refined| !(has_code && is_code(refined)));
        has_code |= refined.as_ref().is_some_and(is_code);
        sharp.push(refined.unwrap_or_else(|| criterion.clone()));
    }
    sharp
}

/// A word of a sentence, or what it quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted { by: char, text: String },
}

const ARTICLES: &[&str] = &["the", "a", "an"];
/// Who does it, where a sentence says so.
const ACTORS: &[&str] = &["command", "program", "script", "task", "step", "process"];
const THERE: &[&str] = &[
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
const MAKES: &[&str] = &["creates", "writes", "produces", "generates", "leaves", "there is"];
const CODE: &[&str] = &[
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
const PRINTS: &[&str] = &[
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
const SUCCEEDS: &[&str] = &[
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
/// What ends like a file but is a place on the internet.
const DOMAINS: &[&str] = &["com", "org", "net", "io", "dev", "eu", "ai", "app"];

/// "The file out.txt exists", "report.md is created".
fn file_exists(tokens: &[Token]) -> Option<Criterion> {
    let (path, rest) = named_file(tokens)?;
    is_one_of(rest, THERE).then_some(Criterion::FileExists { path })
}

/// "It creates the file out.txt", "there is a file called out.txt".
fn file_is_made(tokens: &[Token]) -> Option<Criterion> {
    let (path, rest) = named_file(after(skip_actor(tokens), MAKES)?)?;
    rest.is_empty().then_some(Criterion::FileExists { path })
}

/// "Exits with code 3", "the exit code is 3".
fn exit_code(tokens: &[Token]) -> Option<Criterion> {
    let tokens = skip_actor(tokens);
    // The longest phrase counts: "exits with" begins others.
    let rest = after(skip(tokens, ARTICLES), CODE)?;
    let [Token::Word(code)] = rest else { return None };
    let equals = code.parse::<u8>().ok()?;
    Some(Criterion::ExitCode { equals: equals.into() })
}

/// "Prints `ok`", "the output contains \"ok\"".
fn output(tokens: &[Token]) -> Option<Criterion> {
    let tokens = skip_actor(tokens);
    let rest = after(skip(tokens, ARTICLES), PRINTS)?;
    let [Token::Quoted { text, .. }, rest @ ..] = rest else { return None };
    let is_whole = !text.trim().is_empty() && is_one_of(rest, TO_STDOUT);
    is_whole.then(|| Criterion::OutputMatches { pattern: regex::escape(text) })
}

/// "`make test` passes".
fn command(tokens: &[Token]) -> Option<Criterion> {
    let named = &["command", "check", "test", "tests", "running"];
    let [Token::Quoted { by: '`', text }, rest @ ..] = skip(skip(tokens, ARTICLES), named) else {
        return None;
    };
    let is_whole = !text.trim().is_empty() && is_one_of(rest, SUCCEEDS);
    is_whole.then(|| Criterion::CommandSucceeds { command: text.trim().to_owned() })
}

/// A path at the beginning of the tokens, with or without the word "file" before it.
fn named_file(tokens: &[Token]) -> Option<(String, &[Token])> {
    let tokens = skip(tokens, ARTICLES);
    let named = skip(tokens, &["file"]);
    let says_file = named.len() < tokens.len();
    let [token, rest @ ..] = skip(named, &["called", "named"]) else { return None };
    let (Token::Word(path) | Token::Quoted { text: path, .. }) = token;
    let is_quoted = matches!(token, Token::Quoted { .. });
    let is_meant = looks_like_a_file(path) || (is_quoted && says_file && is_plain(path));
    is_meant.then(|| (path.clone(), rest))
}

/// Whether this is a relative path of plain characters that stays where it begins.
fn is_plain(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    !path.is_empty()
        && path.chars().all(is_plain)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Whether a word can be nothing but a path: it has a directory or an ending.
fn looks_like_a_file(path: &str) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let has_ending = ending.is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && !DOMAINS.contains(&ending.to_ascii_lowercase().as_str())
    });
    is_plain(path) && has_ending
}

/// Without the one who acts, where the sentence begins with it.
fn skip_actor(tokens: &[Token]) -> &[Token] {
    let bare = skip(tokens, ARTICLES);
    let acted = skip(skip(bare, &["last"]), ACTORS);
    match (acted.len() < bare.len(), bare) {
        (true, _) => acted,
        (false, _) => skip(tokens, &["it"]),
    }
}

fn is_word(token: &Token, words: &[&str]) -> bool {
    matches!(token, Token::Word(word) if words.contains(&word.to_ascii_lowercase().as_str()))
}

fn skip<'a>(tokens: &'a [Token], words: &[&str]) -> &'a [Token] {
    match tokens {
        [first, rest @ ..] if is_word(first, words) => rest,
        _ => tokens,
    }
}

/// What follows the longest of these phrases.
fn after<'a>(tokens: &'a [Token], phrases: &[&str]) -> Option<&'a [Token]> {
    let rests = phrases.iter().filter_map(|phrase| strip(tokens, phrase));
    rests.min_by_key(|rest| rest.len())
}

fn is_one_of(tokens: &[Token], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| strip(tokens, phrase).is_some_and(<[Token]>::is_empty))
}

fn strip<'a>(mut tokens: &'a [Token], phrase: &str) -> Option<&'a [Token]> {
    for word in phrase.split_whitespace() {
        let [first, rest @ ..] = tokens else { return None };
        if !is_word(first, &[word]) {
            return None;
        }
        tokens = rest;
    }
    Some(tokens)
}

/// The words of one sentence; nothing if it is more than one, a list, or quotes without an end.
fn tokens(prose: &str) -> Option<Vec<Token>> {
    let mut rest = prose.trim();
    rest = rest.strip_suffix('.').unwrap_or(rest);
    let mut tokens = vec![];
    while let Some(first) = rest.chars().next() {
        let token = if let Some(close) = closing(first) {
            let inner = &rest[first.len_utf8()..];
            let end = inner.find(close)?;
            rest = &inner[end + close.len_utf8()..];
            // What stands right behind a quotation belongs to it in some way that is not known here.
            if rest.starts_with(|c: char| !c.is_whitespace()) {
                return None;
            }
            Token::Quoted { by: first, text: inner[..end].to_owned() }
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let word = &rest[..end];
            rest = &rest[end..];
            if word.ends_with([',', ';', ':', '?', '!']) {
                return None;
            }
            Token::Word(word.to_owned())
        };
        tokens.push(token);
        rest = rest.trim_start();
    }
    Some(tokens)
}

fn closing(quote: char) -> Option<char> {
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
            assert_eq!(refine(prose), Some(expected), "{prose}");
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
            assert_eq!(refine(prose), None, "{prose}");
        }
    }

    #[test]
    fn a_list_is_sharpened_in_its_order_and_keeps_its_first_exit_code() {
        let text = |words: &str| Criterion::Text { description: words.to_owned() };
        let before = [text("exits with code 3"), text("reads well"), text("exits with code 0")];

        let after = sharpened(&before);

        let code = Criterion::ExitCode { equals: 3 };
        assert_eq!(after, [code, text("reads well"), text("exits with code 0")]);
        assert_eq!(sharpened(&after), after);
    }
}
