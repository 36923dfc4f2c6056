//! Shell text for work in a workspace: command lines, and scripts that read and write files with the sandbox's own shell, so
//! that its confinement applies.

/// Exit code of [`read_script`] for a file that is too large.
pub const TOO_LARGE_EXIT_CODE: i32 = 90;

/// Quotes a word for the shell.
pub fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command as a line for the shell; with `argv`, the program and its arguments, taken as they are.
pub fn command_line(
    command: &str,
    argv: Option<&[String]>,
    max_bytes: usize,
) -> Result<String, &'static str> {
    let line = match argv {
        None => command.to_owned(),
        Some(argv) => {
            let words = std::iter::once(command).chain(argv.iter().map(String::as_str));
            words.map(shell_quote).collect::<Vec<_>>().join(" ")
        }
    };
    if command.trim().is_empty() {
        Err("command is empty")
    } else if line.len() > max_bytes {
        Err("command and argv must have at most 64 KiB")
    } else if line.contains('\0') {
        Err("command and argv must not contain NUL characters")
    } else {
        Ok(line)
    }
}

/// Checks that a path is relative, and leads nowhere but down.
pub fn check_relative_path(path: &str, max_bytes: usize) -> Result<(), String> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_fine = !path.is_empty()
        && path.len() <= max_bytes
        && !path.contains(['\\', '\0'])
        && !path.chars().any(char::is_control)
        && path.split('/').all(is_plain);
    if is_fine {
        Ok(())
    } else {
        Err(format!("\"{}\" is not a relative file path", path.escape_debug()))
    }
}

/// A script that replaces a file, atomically. A script instead of a command line, because arguments have a length limit.
pub fn write_script(path: &str, content_base64: &str) -> String {
    let (path, new) =
        (shell_quote(&format!("./{path}")), shell_quote(&format!("./{path}.cynode-new")));
    format!(
        "#!/bin/sh\nset -e\nmkdir -p -- \"$(dirname -- {path})\"\n\
         base64 -d > {new} <<'EOF'\n{content_base64}\nEOF\nmv -f -- {new} {path}\n"
    )
}

/// A script that prints a file of at most `max_bytes` in base64.
pub fn read_script(path: &str, max_bytes: usize) -> String {
    let path = shell_quote(&format!("./{path}"));
    format!(
        "#!/bin/sh\nset -e\n[ -f {path} ] || {{ echo 'there is no such file' >&2; exit 1; }}\n\
         [ \"$(wc -c < {path})\" -le {max_bytes} ] || exit {TOO_LARGE_EXIT_CODE}\nbase64 < {path}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_quotes_stays_one_word_of_the_shell() {
        assert!(read_script("it's $(here)", 9).contains(r"base64 < './it'\''s $(here)'"));
        assert!(write_script("-n", "eA==").contains("> './-n.cynode-new'"));
    }

    #[test]
    fn arguments_are_taken_as_they_are() {
        let argv = ["$(x)".to_owned(), "a b".to_owned()];

        assert_eq!(command_line("echo", Some(&argv), 99).unwrap(), "'echo' '$(x)' 'a b'");
        assert_eq!(command_line("echo $HOME", None, 99).unwrap(), "echo $HOME");
        for command in [" ", "a\0b", &"x".repeat(100)] {
            assert!(command_line(command, None, 99).is_err());
        }
    }
}
