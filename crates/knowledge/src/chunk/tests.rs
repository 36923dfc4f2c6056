//! Tests of chunking.

use proptest::prelude::*;

use super::*;

fn chunk(kind: DocumentKind, content: &str) -> Vec<Chunk> {
    chunk_document(kind, content).unwrap()
}

#[test]
fn markdown_is_parted_at_headings_and_a_fence_hides_them() {
    let text = "# Guide\n\nIntro.\n\n## Install\n\nRun:\n\n```sh\n# not a heading\nmake\n```\n\n## Use\nGo.\n";

    let chunks = chunk(DocumentKind::Markdown, text);

    let headings: Vec<&str> = chunks.iter().map(|chunk| chunk.heading.as_str()).collect();
    assert_eq!(headings, ["Guide", "Guide > Install", "Guide > Use"]);
    assert!(chunks[1].text.contains("# not a heading"));
    assert_eq!((chunks[1].first_line, chunks[1].last_line), (5, 12));
    assert_eq!((chunks[2].first_line, chunks[2].last_line, chunks[2].ordinal), (14, 15, 2));
}

#[test]
fn a_heading_without_text_is_in_the_passage_after_it() {
    let chunks = chunk(DocumentKind::Markdown, "# One\n## Two\ntext\n## Three\n");

    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[0].text, "# One\n## Two\ntext");
    assert_eq!(chunks[1].heading, "One > Three");
}

#[test]
fn code_is_parted_at_definitions_and_never_within_a_line() {
    let body = "    let value = compute();\n".repeat(20);
    let text = format!(
        "//! Module.\n\nuse a;\n\n/// First.\nfn first() {{\n{body}}}\n#[test]\nfn second() {{\n{body}}}\n"
    );

    let chunks = chunk(DocumentKind::Code, &text);

    let headings: Vec<&str> = chunks.iter().map(|chunk| chunk.heading.as_str()).collect();
    assert!(headings.contains(&"fn first()") && headings.contains(&"fn second()"), "{headings:?}");
    let second = chunks.iter().find(|chunk| chunk.heading == "fn second()").unwrap();
    assert!(second.text.starts_with("#[test]"), "{}", second.text);
    for chunk in &chunks {
        assert!(chunk.text.lines().all(|line| text.lines().any(|other| other == line)));
    }
}

#[test]
fn html_is_parted_at_its_headings() {
    let html =
        "<title>T</title><h1>Leave</h1><p>Ask early.</p><h2>Illness</h2><p>Call <b>us</b>.</p>";

    let chunks = chunk(DocumentKind::Html, html);

    let found: Vec<_> = chunks.iter().map(|chunk| (&*chunk.heading, chunk.text.as_str())).collect();
    assert_eq!(found[0], ("Leave", "# Leave\n\nAsk early."));
    assert_eq!(found[1], ("Leave > Illness", "## Illness\n\nCall us."));
}

#[test]
fn characters_that_a_reader_does_not_see_are_in_no_passage() {
    for kind in [DocumentKind::Markdown, DocumentKind::Text, DocumentKind::Code, DocumentKind::Html]
    {
        let hidden = "Ask\u{e0065}\u{e007f} early\u{200b}\u{202e}.\u{2066}\u{feff}";

        let found = chunk(kind, hidden);

        assert_eq!(found[0].text, "Ask early.", "{kind:?}");
    }
    let heading = chunk(DocumentKind::Markdown, "# Le\u{e0041}ave\ntext");
    assert_eq!(heading[0].heading, "Leave");
}

#[test]
fn what_is_not_readable_text_is_refused_with_a_reason() {
    let refuse = |kind, content: &str| chunk_document(kind, content).unwrap_err();

    assert_eq!(refuse(DocumentKind::Text, "a\0b"), ChunkError::Binary);
    assert_eq!(refuse(DocumentKind::Text, " \n\n"), ChunkError::Empty);
    assert!(refuse(DocumentKind::Pdf, "%PDF-1.7").to_string().contains("pdftotext"));
    assert_eq!(
        refuse(DocumentKind::Code, &format!("a\n{}", "x".repeat(5000))),
        ChunkError::LongLine(2)
    );
    assert_eq!(
        refuse(DocumentKind::Text, &"x".repeat(MAX_DOCUMENT_BYTES + 1)),
        ChunkError::TooLarge
    );
    let many = "# A\nb\n".repeat(MAX_PASSAGES + 1);
    assert_eq!(refuse(DocumentKind::Markdown, &many), ChunkError::TooManyPassages);
}

#[test]
fn a_prose_line_longer_than_a_passage_is_parted_between_words() {
    let chunks = chunk(DocumentKind::Text, &"word ".repeat(2000));

    assert!(chunks.len() > 8);
    assert!(chunks.iter().all(|chunk| chunk.first_line == 1 && chunk.last_line == 1));
    assert!(chunks.iter().all(|chunk| chunk.text.split(' ').all(|word| word == "word")));
}

fn kinds() -> impl Strategy<Value = DocumentKind> {
    prop_oneof![Just(DocumentKind::Markdown), Just(DocumentKind::Code), Just(DocumentKind::Text)]
}

proptest! {
    #[test]
    fn every_line_with_text_is_in_one_passage_in_order(
        kind in kinds(), lines in prop::collection::vec("([#a-z{}/ ]{0,30}|fn [a-z]{1,5}|```|x{900})", 0..60)
    ) {
        let content = lines.join("\n");
        let Ok(chunks) = chunk_document(kind, &content) else { return Ok(()) };

        let trimmed = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.trim().is_empty()).collect()
        };
        let given = trimmed(&content);
        let kept: Vec<String> = chunks.iter().flat_map(|chunk| trimmed(&chunk.text)).collect();
        prop_assert_eq!(kept, given);
        for (ordinal, chunk) in (0..).zip(&chunks) {
            prop_assert_eq!(chunk.ordinal, ordinal);
            prop_assert!(chunk.text.len() <= MAX_PASSAGE_BYTES);
            let lines: Vec<&str> = content.lines().collect();
            let first = lines[chunk.first_line as usize - 1].trim_end();
            prop_assert_eq!(chunk.text.lines().next().unwrap_or(""), first);
            let count = chunk.last_line - chunk.first_line + 1;
            prop_assert_eq!(chunk.text.split('\n').count(), count as usize);
        }
    }
}
