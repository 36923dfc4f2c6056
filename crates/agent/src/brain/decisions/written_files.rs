//! The files that a command line writes by redirection.

/// Returns the paths in the workspace that `command` redirects standard output to. Leaves out every path that needs the
/// shell to expand it: a wrong guess would reject correct work.
pub(super) fn written_files(command: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut quote = None;
    let mut before = ' ';
    let mut rest = command;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        match (quote, letter) {
            (None, '\\') => {
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                rest = &after[escaped..];
                before = letter;
                continue;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), closing) if open == closing => quote = None,
            // `2>` is standard error, `<>` and `>&` name descriptors.
            (None, '>')
                if before == '1' || !(before.is_ascii_digit() || "<>&".contains(before)) =>
            {
                let target = after.strip_prefix('>').unwrap_or(after).trim_start_matches(' ');
                found.extend(read_path(target));
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
    let is_whole = after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '|', '&', ')']);
    let is_inside = !path.starts_with(['/', '-']) && path.split('/').all(|part| part != "..");
    (!path.is_empty() && is_whole && is_inside).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_redirections_name_the_files_of_a_command() {
        for (command, files) in [
            ("seq 1 10 > numbers.txt", &["numbers.txt"][..]),
            ("seq 1 10 >out/n.txt; wc -l out/n.txt >> log 2>&1", &["out/n.txt", "log"]),
            ("echo a 1>a.txt && (echo b > b.txt)", &["a.txt", "b.txt"]),
            ("awk '{ print > \"x\" }' numbers.txt", &[]),
            ("echo \"1 > 0\" 'a > b' \\> c", &[]),
            ("make 2> errors.txt >/dev/null", &[]),
            ("make > /tmp/x; make > ../x; make > $OUT; make > a$b; make > \"$x\"", &[]),
            ("cat <in >", &[]),
            ("echo ü > ü.txt", &[]),
        ] {
            assert_eq!(written_files(command), files, "{command}");
        }
    }
}
