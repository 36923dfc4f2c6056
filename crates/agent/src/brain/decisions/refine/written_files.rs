//! The files that planned commands write, as far as their text shows it.

/// Words that change where a file is, or whether it stays.
const MOVING: [&str; 6] = ["cd", "pushd", "mv", "rm", "mktemp", "trap"];

/// The files that the commands write by redirection, without repetition. Empty if a command moves files or directories, or
/// uses what only a shell can evaluate: no check is invented.
pub(super) fn list_written_files(commands: &[String]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for command in commands {
        let Some(words) = split_words(command) else { return vec![] };
        if words.iter().any(|word| MOVING.contains(&word.as_str())) {
            return vec![];
        }
        let targets = words.windows(2).filter(|pair| pair[0] == ">").map(|pair| &pair[1]);
        for file in targets.filter(|file| is_plain_path(file)) {
            if !files.contains(file) {
                files.push(file.clone());
            }
        }
    }
    files
}

/// Splits a command into words, with each redirection of standard output as `>`. Quoted text is replaced by `'`, which is
/// no path. `None` if the text has expansions or groups outside of quotes.
fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in command.chars() {
        let last = words.last_mut()?;
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some('\''), _) => {}
            (_, '$' | '`' | '\\') | (None, '(' | ')' | '{' | '}' | '<' | '#') => return None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(character);
                last.push('\'');
            }
            // `>>` and `2>` are not new files of standard output.
            (None, '>') => {
                let sign = if last.is_empty() { ">".to_owned() } else { format!("{last}>") };
                words.pop();
                words.extend([sign, String::new()]);
            }
            (None, ' ' | '\t' | '\n' | ';' | '&' | '|') => words.push(String::new()),
            (None, _) => last.push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    quote.is_none().then_some(words)
}

/// Whether the word is a path below the workspace without patterns.
fn is_plain_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    word.chars().all(is_plain)
        && !word.starts_with(['/', '-'])
        && !word.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(commands: &[&str]) -> Vec<String> {
        list_written_files(&commands.iter().map(|&command| command.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn files_of_plain_redirections_are_found_once() {
        let awk = "awk '{ total += $1 } END { print total > \"x\" }' numbers.txt";

        assert_eq!(written(&["seq 1 10 > numbers.txt", awk]), ["numbers.txt"]);
        assert_eq!(written(&["seq 3 >out/a.txt && seq 4 > b", "date > b"]), ["out/a.txt", "b"]);
        assert_eq!(written(&["echo 'a > b' \"c > d\""]), Vec::<String>::new());
        assert_eq!(written(&["ls 2> errors > 'quoted name'"]), Vec::<String>::new());
    }

    #[test]
    fn what_only_a_shell_can_evaluate_gives_no_files() {
        for command in [
            "cd out && seq 3 > a",
            "seq 3 > a; rm a",
            "seq 3 > a && mv a b",
            "(cd out; seq 3) > a",
            "seq 3 > $HOME/a",
            "seq 3 > \"$(date)\"",
            "cat <<E > a\nx\nE",
            "seq 3 > 'a",
            "seq 3 > /etc/a",
            "seq 3 > ../a",
            "seq 3 > *.txt",
        ] {
            assert_eq!(written(&[command]), Vec::<String>::new(), "{command}");
        }
    }
}
