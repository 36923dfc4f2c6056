//! Reading of reports, requests and traces.

use super::*;

fn title(text: &str) -> String {
    Reading::parse(text).title().map(|title| title.words.join(" ")).unwrap_or_default()
}

#[test]
fn the_title_is_the_first_sentence_of_what_is_wanted() {
    assert_eq!(title("fix(parser): handle it. And more"), "handle it");
    assert_eq!(title("**Problem**\nIt annoys.\n\n**Describe the solution**\nA page."), "a page");
    assert_eq!(title("# Epic: Billing\n\n## Backend\n- a"), "billing");
}

#[test]
fn sections_of_templates_are_told_apart() {
    let text = "**Describe the bug**\nTwo rows.\n**To Reproduce**\n1. Go\n2. Click\n**Expected behavior**\nOne row.";
    let reading = Reading::parse(text);

    assert_eq!(reading.sections.len(), 3);
    assert_eq!(reading.requirements().count(), 0);
    assert_eq!(reading.title().unwrap().words, ["two", "rows"]);
}

#[test]
fn traces_paths_and_requirements_are_found() {
    let text = "Crash\n\npanic: out of range\n\nmain.go(...)\n\t/src/a.go:57\n- see `src/x.rs`\n- and y.py:3";
    let reading = Reading::parse(text);

    assert!(reading.has_trace);
    assert_eq!(reading.requirements().count(), 2);
    assert_eq!(reading.paths, ["src/x.rs".to_owned(), "y.py".to_owned()].into());
}

#[test]
fn a_template_with_nothing_filled_in_has_no_sentences() {
    let text = "### Current Behavior\n_No response_\n### Expected Behavior\n<!-- x -->\n- [ ]";

    assert!(Reading::parse(text).sentences.is_empty());
}
