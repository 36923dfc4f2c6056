//! Untrusted text of forges, bounded and without what a terminal or a reader would not see.

/// Removes HTML comments, which a forge does not show to people. An unclosed comment hides the rest, as it does on the page.
pub fn strip_html_comments(body: &str) -> String {
    let mut visible = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, hidden)) = rest.split_once("<!--") {
        visible.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    visible.push_str(rest);
    visible
}
