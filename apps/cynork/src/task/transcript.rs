//! The transcript of an agent: each entry, one JSON object in a line of its job's output, becomes a line for people,
//! with the lines of its detail below it.

use std::borrow::Cow;

use cynode_domain::text::{ellipsize_chars, single_line};
use cynode_wire::transcript::{MESSAGE, OUTPUT, THOUGHT, TranscriptLine};

/// The most characters of a subject, a text or a line of detail.
const MAX_CHARS: usize = 120;
/// The most lines of detail of one entry.
const MAX_DETAIL_LINES: usize = 40;

/// Renders whole lines. What is not a line of a transcript stays as it is.
pub(super) fn render_transcript(lines: &str) -> String {
    let render = |line: &str| match serde_json::from_str::<TranscriptLine>(line) {
        Ok(entry) => render_entry(&entry),
        Err(_) => line.to_owned(),
    };
    lines.split_inclusive('\n').map(render).collect()
}

fn render_entry(entry: &TranscriptLine) -> String {
    let mark = match entry.kind.as_str() {
        // Words neither succeed nor fail.
        MESSAGE | THOUGHT | OUTPUT => '·',
        _ if entry.is_success => '✓',
        _ => '✗',
    };
    let subject = shorten(&entry.subject);
    // The reason of a failure is worth more than one line.
    let text = if entry.is_success { shorten(&entry.text) } else { single_line(&entry.text) };
    let separator = if subject.is_empty() || text.is_empty() { "" } else { " → " };
    let head = format!("{mark} {:<12} {subject}{separator}{text}\n", entry.kind);
    head + &render_detail(entry)
}

/// Renders the lines of a detail that the head does not show, indented.
fn render_detail(entry: &TranscriptLine) -> String {
    let detail = entry.detail.as_deref().unwrap_or_default();
    let repeated =
        detail.lines().next().is_some_and(|line| single_line(line) == shorten(&entry.text));
    let lines: Vec<&str> = detail.lines().skip(usize::from(repeated)).collect();
    let shown = lines.iter().take(MAX_DETAIL_LINES).map(|line| format!("    {}\n", cut(line)));
    let rendered: String = shown.collect();
    match lines.len().saturating_sub(MAX_DETAIL_LINES) {
        0 => rendered,
        left => format!("{rendered}    … {left} more lines\n"),
    }
}

/// One line, without what does not fit.
fn shorten(text: &str) -> String {
    cut(&single_line(text)).into_owned()
}

fn cut(line: &str) -> Cow<'_, str> {
    ellipsize_chars(line, MAX_CHARS)
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
    fn messages_plans_and_diffs_have_their_lines_below_them() {
        let entry = |kind: &str, text: &str, detail: &str| {
            let entry = TranscriptLine {
                kind: kind.to_owned(),
                is_success: true,
                text: text.to_owned(),
                detail: Some(detail.to_owned()),
                ..TranscriptLine::default()
            };
            serde_json::to_string(&entry).unwrap() + "\n"
        };
        let long = "line\n".repeat(MAX_DETAIL_LINES + 3);
        let lines = entry("message", "All done.", "All done.\nThe test passes.")
            + &entry("edit", "", "--- a\n+++ b\n-  old\n+  new")
            + &entry("plan", "0 of 50", &long);

        let rendered = render_transcript(&lines);

        let expected = "· message      All done.\n    The test passes.\n✓ edit         \n    --- a\n    +++ b\n    \
                        -  old\n    +  new\n✓ plan         0 of 50\n";
        assert!(rendered.starts_with(expected), "{rendered}");
        assert!(rendered.ends_with("    line\n    … 3 more lines\n"), "{rendered}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shorten(&"ö".repeat(200)), format!("{}…", "ö".repeat(MAX_CHARS - 1)));
    }
}
