//! The differences between two texts.

use std::future::ready;
use std::time::Duration;

use cynode_wire::tool_calls::{TextDiff as TextDiffInputs, ToolCall as _};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::{NetworkUse, ToolHandler, parse_inputs};

const DEFAULT_CONTEXT_LINES: usize = 3;
/// After this time the differences are approximate: the thread serves other calls, too.
const TIME_LIMIT: Duration = Duration::from_millis(200);

pub(super) const HANDLER: ToolHandler = ToolHandler {
    name: TextDiffInputs::NAME,
    title: "Text difference",
    description: "The differences between two given texts as a unified diff, with counts of added and removed lines.",
    parameters: TextDiffInputs::input_schema,
    results: &["diff", "added", "removed"],
    network: NetworkUse::None,
    run: |inputs, _| Box::pin(ready(parse_inputs(inputs).map(run))),
};

fn run(inputs: TextDiffInputs) -> Value {
    let TextDiffInputs { before, after, context_lines } = inputs;
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(&before, &after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let context = context_lines.unwrap_or(DEFAULT_CONTEXT_LINES);
    let text = diff.unified_diff().context_radius(context).header("before", "after").to_string();
    json!({ "diff": text, "added": added, "removed": removed })
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::*;

    #[tokio::test]
    async fn changed_lines_are_shown_and_counted() {
        let inputs = json!({ "before": "a\nb\nc\n", "after": "a\nB\nc\nd\n", "context_lines": 0 });
        let compared = call("text.diff", inputs).await.unwrap();

        assert_eq!((&compared["added"], &compared["removed"]), (&json!(2), &json!(1)));
        let diff = compared["diff"].as_str().unwrap();
        assert!(diff.contains("-b\n+B\n") && diff.contains("+d"), "{diff}");
        let same = call("text.diff", json!({ "before": "x", "after": "x" })).await.unwrap();
        assert_eq!(same["diff"], "");
    }
}
