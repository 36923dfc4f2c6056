//! Lines: headings, list items, stack traces, sentences, paths.

/// The longest plain line that is a heading because it ends with a colon.
const MAX_COLON_HEADING: usize = 40;
const PREFIXES: &str = "feat|feature|fix|bugfix|bug|hotfix|docs|doc|refactor|perf|test|tests|ci|\
    build|chore|style|revert|epic|rfc|security|enhancement|proposal|idea|request|regression|crash|\
    user story|voice memo|feature request|bug report";
const EXTENSIONS: &[&str] = &[
    "rs", "ts", "tsx", "js", "jsx", "mjs", "vue", "svelte", "py", "go", "java", "kt", "swift", "c",
    "h", "cc", "cpp", "hpp", "cs", "rb", "php", "md", "rst", "toml", "yml", "yaml", "json", "html",
    "css", "scss", "sql", "sh", "tf", "xml", "lock", "proto", "gradle", "ex", "lua", "ini", "cfg",
];
const ABBREVIATIONS: &[&str] =
    &["e.g", "i.e", "z.b", "d.h", "p.ex", "etc", "vs", "approx", "no", "nr"];

/// Returns the text of a Markdown heading, a bold line, or a short line that ends with a colon.
pub(super) fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let bold = line.trim_end_matches(':');
    if let Some(inside) = bold.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")) {
        return Some(inside).filter(|inside| !inside.contains("**"));
    }
    let text = line.trim_start_matches('#');
    if text.len() < line.len() && (text.is_empty() || text.starts_with(' ')) {
        return Some(text.trim().trim_end_matches('#'));
    }
    let plain = line.strip_suffix(':')?;
    (plain.len() <= MAX_COLON_HEADING && !plain.starts_with(['-', '*'])).then_some(plain)
}

/// Returns whether a line is a list item, and its text without marker and checkbox.
pub(super) fn strip_marker(line: &str) -> (bool, &str) {
    let line = line.trim().trim_start_matches('#').trim_start();
    let rest = match line.strip_prefix(['-', '*', '+', '•', '–']) {
        Some(rest) if rest.starts_with(char::is_whitespace) || rest.is_empty() => rest,
        _ => match numbered(line) {
            Some(rest) => rest,
            None => return (false, line),
        },
    };
    let rest = rest.trim_start();
    let unchecked = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| rest.strip_prefix(mark));
    (true, unchecked.unwrap_or(rest).trim_start())
}

/// The rest of a line after `1.` or `1)`.
pub(super) fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    ((1..=2).contains(&digits) && (rest.is_empty() || rest.starts_with(' '))).then_some(rest)
}

/// Splits the prefix of a title off: `fix(parser)!: …`, `[Bug] …`, `Feature request: …`.
pub(super) fn split_prefix(title: &str) -> (Option<String>, &str) {
    if let Some((tag, rest)) = title.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let tag = tag.trim().to_lowercase();
        if is_prefix(&tag) {
            return (Some(tag), rest.trim_start_matches([':', ' ']));
        }
    }
    let Some((head, rest)) = title.split_once([':', '.']) else { return (None, title) };
    let name = head.split('(').next().unwrap_or(head).trim().trim_end_matches('!').to_lowercase();
    if is_prefix(&name) && (rest.starts_with(' ') || rest.is_empty()) {
        return (Some(name), rest.trim_start());
    }
    (None, title)
}

fn is_prefix(name: &str) -> bool {
    PREFIXES.split('|').any(|known| known == name)
}

/// Whether a line is a frame of a stack trace, or indented code.
pub(super) fn is_trace_frame(line: &str) -> bool {
    let text = line.trim_start();
    let is_indented = line.starts_with('\t') || line.starts_with("    ");
    let has_position = has_line_number(text);
    (text.starts_with("at ") && text.contains('(') && has_position)
        || text.starts_with("File \"")
        || text.starts_with("Traceback (most recent")
        || text.starts_with("goroutine ")
        || text.starts_with("stack backtrace")
        || text.starts_with("Caused by:")
        || text.starts_with("#0 ") && text.contains("0x")
        || (text.starts_with('#')
            && text[1..].starts_with(|c: char| c.is_ascii_digit())
            && text.contains(" in "))
        || (is_indented
            && !strip_marker(line).0
            && (has_position || text.ends_with([';', ')', '{', ']'])))
        || (text.starts_with("main.") && text.ends_with(')'))
}

/// Whether a text has `:` and digits after a file name, as in `main.go:57`.
fn has_line_number(text: &str) -> bool {
    text.match_indices(':').any(|(position, _)| {
        text[position + 1..].starts_with(|c: char| c.is_ascii_digit())
            && text[..position].ends_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// Whether a line is the message of an exception or a panic.
pub(super) fn is_error_line(line: &str) -> bool {
    let head = line.split([':', ' ']).next().unwrap_or_default();
    let is_type = head.len() > 6 && (head.ends_with("Error") || head.ends_with("Exception"));
    (is_type && line[head.len()..].starts_with([':', ' ']))
        || line.starts_with("panic: ")
        || (line.starts_with("thread '") && line.contains("panicked"))
}

/// Splits a line after full stops, question marks, exclamation marks and semicolons.
pub(super) fn split_sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut ends = vec![];
    let mut chars = line.char_indices().peekable();
    while let Some((position, c)) = chars.next() {
        let is_end = matches!(c, '.' | '!' | '?' | ';' | '…');
        let is_followed = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if is_end && is_followed && !(c == '.' && ends_with_abbreviation(&line[..position])) {
            ends.push(position + c.len_utf8());
        }
    }
    ends.push(line.len());
    let mut start = 0;
    ends.into_iter().map(move |end| {
        let sentence = &line[start..end];
        start = end;
        sentence.trim()
    })
}

fn ends_with_abbreviation(text: &str) -> bool {
    let word = text.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
    ABBREVIATIONS.contains(&word.as_str()) || word.chars().all(|c| c.is_ascii_digit())
}

/// Removes the groups in parentheses that match.
pub(super) fn without_groups(text: &str, is_removed: impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('(') {
        let Some(end) = rest[start..].find(')') else { break };
        let end = start + end + 1;
        let is_kept = !is_removed(&rest[start..end]);
        kept.push_str(&rest[..if is_kept { end } else { start }]);
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}

/// The paths of files that a sentence names.
pub(super) fn file_paths(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '`' | '"' | '\''))
        .map(|word| word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '_'))))
        .map(|word| word.split_once(':').map_or(word, |(path, _)| path))
        .filter(|word| {
            let extension = word.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
            extension.is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
        })
        .map(str::to_lowercase)
}
