//! The transcript of an agent: each action, one JSON object in a line of its job's output, becomes one line for people.

use serde::Deserialize;

/// The most characters of a subject or a text.
const MAX_CHARS: usize = 120;

/// One line of the transcript.
#[derive(Debug, Deserialize)]
struct TranscriptLine {
    /// An action such as `run_command`, or `stop`.
    kind: String,
    subject: String,
    is_success: bool,
    /// What the action returned.
    text: String,
}

/// Renders whole lines. What is not a line of a transcript stays as it is.
pub(super) fn render_transcript(lines: &str) -> String {
    let render = |line: &str| match serde_json::from_str::<TranscriptLine>(line) {
        Ok(entry) => entry.render(),
        Err(_) => line.to_owned(),
    };
    lines.split_inclusive('\n').map(render).collect()
}

impl TranscriptLine {
    fn render(&self) -> String {
        let mark = if self.is_success { '✓' } else { '✗' };
        let subject = shorten(&self.subject);
        // The reason of a failure is worth more than one line.
        let text = if self.is_success { shorten(&self.text) } else { one_line(&self.text) };
        let separator = if subject.is_empty() || text.is_empty() { "" } else { " → " };
        format!("{mark} {:<12} {subject}{separator}{text}\n", self.kind)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line, without what does not fit.
fn shorten(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_become_lines_and_other_output_stays() {
        let lines = concat!(
            r#"{"kind":"run_command","subject":"make\ntest","exit_code":0,"is_success":true,"text":"ok"}"#,
            "\nplain\n",
            r#"{"kind":"stop","subject":"goal_met","is_success":true,"text":""}"#,
            "\n{\"kind\":1}\n",
            r#"{"kind":"read_file","subject":"","is_success":false,"text":"no such file"}"#,
        );

        assert_eq!(
            render_transcript(lines),
            "✓ run_command  make test → ok\nplain\n✓ stop         goal_met\n{\"kind\":1}\n\
             ✗ read_file    no such file\n"
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shorten(&"ö".repeat(200)), format!("{}…", "ö".repeat(MAX_CHARS)));
    }
}
