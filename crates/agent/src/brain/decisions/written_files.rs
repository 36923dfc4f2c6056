//! The files that a command line certainly writes.

/// Returns the paths in the workspace that `command` replaces by redirection if it exits with code 0.
///
/// Only of one pipeline, which is executed as a whole: a command in a branch that was not taken would leave the file of an
/// earlier attempt. Leaves out what is appended to, for the same reason, and every path that the shell expands.
pub(super) fn written_files(command: &str) -> Vec<&str> {
    let (mut found, mut quote, mut before) = (vec![], None, ' ');
    let mut rest = command.trim();
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), closing) if open == closing => quote = None,
            // Several commands, conditions, groups, substitutions and escapes.
            (None, ';' | '&' | '(' | ')' | '{' | '}' | '`' | '\n' | '\\') => return vec![],
            (None, '|') if before == '|' => return vec![],
            (None, '>') if after.starts_with('>') || before == '>' => {}
            // `2>` is standard error, `<>` opens for both.
            (None, '>') if before == '1' || !(before.is_ascii_digit() || before == '<') => {
                found.extend(read_path(after.trim_start_matches(' ')));
            }
            _ => {}
        }
        before = letter;
        rest = after;
    }
    found
}

/// The plain relative path at the start of `text`.
fn read_path(text: &str) -> Option<&str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+".contains(letter);
    let end = text.find(|letter| !is_plain(letter)).unwrap_or(text.len());
    let (path, after) = text.split_at(end);
    let is_whole = after.is_empty() || after.starts_with([' ', '\t', '|']);
    let is_inside = !path.starts_with(['/', '-']) && path.split('/').all(|part| part != "..");
    (!path.is_empty() && is_whole && is_inside).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_a_pipeline_replaces_are_its_own() {
        for (command, files) in [
            ("seq 1 10 > numbers.txt", &["numbers.txt"][..]),
            ("sort in.txt | uniq >out/n.txt", &["out/n.txt"]),
            ("make 1>a.txt 2> errors.txt", &["a.txt"]),
            ("seq 1 10 >> numbers.txt", &[]),
            ("if [ -e x ]; then exit 0; fi; echo x > x", &[]),
            ("true || echo x > x", &[]),
            ("true && echo x > x", &[]),
            ("(echo b > b.txt)", &[]),
            ("echo $(echo b > b.txt)", &[]),
            ("echo a\necho b > b.txt", &[]),
            ("awk '{ print > \"x\" }' numbers.txt", &[]),
            ("echo \"1 > 0\" 'a > b'", &[]),
            ("make >/dev/null", &[]),
            ("make > ../x", &[]),
            ("make > $OUT", &[]),
            ("make > a$b", &[]),
            ("cat <in >", &[]),
            ("echo ü > ü.txt", &[]),
        ] {
            assert_eq!(written_files(command), files, "{command}");
        }
    }
}
