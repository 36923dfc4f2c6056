//! Text of git and of remotes, made safe to show: without secrets, control characters and progress lines.

use cynode_domain::text::ellipsize_bytes;
use cynode_runtime::redact::redact;
use secrecy::{ExposeSecret as _, SecretString};

/// Bytes of a message that are shown.
const MAX_MESSAGE_BYTES: usize = 2000;
/// Lines of a message that are shown.
const MAX_LINES: usize = 12;
const MARKER: &str = "[redacted]";

/// The last lines of the output of git, without progress, secrets and control characters.
pub(crate) fn summarize_output(output: &[u8], secrets: &[SecretString]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !is_progress(line))
        .collect();
    let shown = &lines[lines.len().saturating_sub(MAX_LINES)..];
    ellipsize_bytes(&redact_text(&shown.join("\n"), secrets), MAX_MESSAGE_BYTES).into_owned()
}

/// Removes the given secrets, user information of addresses and everything that looks like a secret, and replaces
/// control characters other than line feeds.
pub(crate) fn redact_text(text: &str, secrets: &[SecretString]) -> String {
    let mut text: String =
        text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    for secret in secrets {
        let secret = secret.expose_secret();
        // A multi-line key could be quoted line by line.
        for line in secret.lines().filter(|line| line.len() >= 4) {
            text = text.replace(line, MARKER);
        }
    }
    redact(&strip_userinfo(&text)).into_owned()
}

/// Replaces `user:password` in `scheme://user:password@host`.
fn strip_userinfo(text: &str) -> String {
    let mut parts = text.split("://");
    let mut stripped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        stripped.push_str("://");
        let authority = part.split(['/', ' ', '\'', '"', '\n']).next().unwrap_or_default();
        match authority.rsplit_once('@') {
            Some((userinfo, _)) => {
                stripped.push_str(MARKER);
                stripped.push_str(&part[userinfo.len()..]);
            }
            None => stripped.push_str(part),
        }
    }
    stripped
}

fn is_progress(line: &str) -> bool {
    let line = line.strip_prefix("remote: ").unwrap_or(line);
    let starts = [
        "Enumerating objects",
        "Counting objects",
        "Compressing objects",
        "Receiving objects",
        "Resolving deltas",
        "Writing objects",
        "Delta compression",
        "Total ",
        "Checking objects",
        "Checking connectivity",
        "Unpacking objects",
        "Indexing objects",
        "Updating files",
    ];
    starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_secret_no_control_character_and_no_progress() {
        let output = b"remote: Counting objects: 5, done.\rReceiving objects: 100% (5/5)\n\
            fatal: Authentication failed for 'https://ada:hunter22@example.com/x' \x1b[31mhunter22 zebra77\n";
        let secrets = [SecretString::from("zebra77"), SecretString::from("hunter22")];

        let message = summarize_output(output, &secrets);

        assert!(
            message
                .starts_with("fatal: Authentication failed for 'https://[redacted]@example.com/x'")
        );
        for hidden in ["hunter22", "zebra77", "\u{1b}", "Counting", "Receiving"] {
            assert!(!message.contains(hidden), "{message}");
        }
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let message = summarize_output("é ".repeat(5000).as_bytes(), &[]);

        assert!(message.len() <= MAX_MESSAGE_BYTES && message.ends_with('…'));
    }
}
