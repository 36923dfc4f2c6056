//! A trace as a tree of lines: start, duration, name, cost, and what the row of the span says.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use cynode_wire::traces::{TraceSpan, TraceSpanStatus, TraceUsage, TraceView};

use cynode_cli::table::sanitize_line;

/// Which spans of a trace are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TreeOptions {
    /// Only what failed, and what it belongs to.
    pub(super) only_failed: bool,
    /// How many levels; all if absent.
    pub(super) depth: Option<usize>,
}

/// Renders the tree. A span whose parent is not in the view is at the top level; spans whose parents form a cycle are
/// left out.
pub(super) fn render_tree(view: &TraceView, options: TreeOptions) -> String {
    let known: HashSet<&str> = view.spans.iter().map(|span| span.id.as_str()).collect();
    let mut children: HashMap<Option<&str>, Vec<&TraceSpan>> = HashMap::new();
    for span in &view.spans {
        let parent = span.parent_id.as_deref().filter(|parent| known.contains(parent));
        children.entry(parent).or_default().push(span);
    }
    let wanted = options.only_failed.then(|| failed_with_ancestors(view));
    let open = if view.is_open { ", open" } else { "" };
    let mut text = format!(
        "trace {}\nstarted {}, {}{open}, {}\n",
        view.trace_id,
        view.started_at,
        format_ms(view.duration_ms),
        format_usage(view.usage)
    );
    // Depth first, without recursion: the depth comes from another process.
    let mut seen = HashSet::new();
    let mut stack: Vec<(&TraceSpan, usize)> = Vec::new();
    let push = |stack: &mut Vec<_>, parent: Option<&str>, depth: usize| {
        let below = children.get(&parent).into_iter().flatten().rev();
        stack.extend(below.map(|span| (*span, depth)));
    };
    push(&mut stack, None, 0);
    while let Some((span, depth)) = stack.pop() {
        let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(span.id.as_str()));
        let is_deep = options.depth.is_some_and(|most| depth >= most);
        if !is_wanted || is_deep || !seen.insert(span.id.as_str()) {
            continue;
        }
        let _ = write!(text, "\n{}", format_line(span, depth));
        push(&mut stack, Some(&span.id), depth + 1);
    }
    for omitted in &view.omitted {
        let (kind, shown, total) = (omitted.kind.as_str(), omitted.shown, omitted.total);
        let _ = write!(text, "\n{kind}: {shown} of {total} shown; --limit shows more");
    }
    for unknown in &view.unknown {
        let _ = write!(text, "\nunknown: {}", sanitize_line(unknown));
    }
    text
}

fn failed_with_ancestors(view: &TraceView) -> HashSet<&str> {
    let by_id: HashMap<&str, &TraceSpan> =
        view.spans.iter().map(|span| (span.id.as_str(), span)).collect();
    let mut wanted = HashSet::new();
    for failed in view.spans.iter().filter(|span| span.status == TraceSpanStatus::Error) {
        let mut above = Some(failed);
        while let Some(span) = above {
            if !wanted.insert(span.id.as_str()) {
                break;
            }
            above = span.parent_id.as_deref().and_then(|id| by_id.get(id).copied());
        }
    }
    wanted
}

fn format_line(span: &TraceSpan, depth: usize) -> String {
    let mark = match span.status {
        TraceSpanStatus::Ok => " ",
        TraceSpanStatus::Error => "!",
        TraceSpanStatus::Canceled => "-",
        TraceSpanStatus::Open => "~",
        TraceSpanStatus::Unknown => "?",
    };
    let duration = match (span.duration_ms, span.status) {
        (Some(ms), _) => format_ms(ms),
        (None, TraceSpanStatus::Open) => "open".to_owned(),
        (None, _) => String::new(),
    };
    let indent = "  ".repeat(depth.min(20));
    let name = sanitize_line(&span.name);
    let mut line = format!(
        "{mark} {:>9} {duration:>9}  {indent}{} {name}",
        format!("+{}", format_ms(span.start_ms)),
        span.kind.as_str()
    );
    if !span.detail.is_empty() {
        let _ = write!(line, " ({})", sanitize_line(&span.detail));
    }
    if let Some(usage) = span.usage {
        let _ = write!(line, " [{}]", format_usage(usage));
    }
    line
}

fn format_usage(usage: TraceUsage) -> String {
    let at_least = if usage.unpriced_calls > 0 { "at least " } else { "" };
    let (dollars, micros) = (usage.cost_micro_usd / 1_000_000, usage.cost_micro_usd % 1_000_000);
    format!(
        "{} model calls, {} tokens in, {} out, {at_least}{dollars}.{micros:06} USD",
        usage.model_calls, usage.input_tokens, usage.output_tokens
    )
}

fn format_ms(ms: i64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

#[cfg(test)]
mod tests {
    use cynode_wire::traces::TraceSpanKind;

    use super::*;

    fn span(id: &str, parent: Option<&str>, status: TraceSpanStatus) -> TraceSpan {
        TraceSpan {
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            kind: TraceSpanKind::Job,
            name: id.to_owned(),
            status,
            start_ms: 5,
            duration_ms: (status != TraceSpanStatus::Open).then_some(7),
            detail: String::new(),
            profile_id: None,
            usage: None,
        }
    }

    fn view(spans: Vec<TraceSpan>) -> TraceView {
        TraceView {
            trace_id: TraceId::from(uuid::Uuid::nil()),
            started_at: "2026-01-01T12:00:00Z".parse().unwrap(),
            duration_ms: 12_345,
            is_open: true,
            usage: TraceUsage {
                model_calls: 2,
                cost_micro_usd: 1_500_000,
                unpriced_calls: 1,
                ..TraceUsage::default()
            },
            spans,
            omitted: vec![],
            unknown: vec!["a\u{1b}[31m".to_owned()],
        }
    }

    use cynode_domain::ids::TraceId;

    #[test]
    fn a_tree_is_indented_marks_errors_and_shows_open_spans_as_open() {
        let spans = vec![
            span("a", None, TraceSpanStatus::Open),
            span("b", Some("a"), TraceSpanStatus::Error),
            span("lost", Some("gone"), TraceSpanStatus::Ok),
        ];

        let text = render_tree(&view(spans), TreeOptions::default());

        assert!(
            text.contains("12.3 s, open, 2 model calls, 0 tokens in, 0 out, at least 1.500000 USD"),
            "{text}"
        );
        assert!(text.contains("\n~     +5 ms      open  job a"), "{text}");
        assert!(text.contains("\n!     +5 ms      7 ms    job b"), "{text}");
        assert!(text.contains("\n      +5 ms      7 ms  job lost"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn only_what_failed_and_what_it_belongs_to_is_shown_to_a_depth() {
        let spans = || {
            vec![
                span("a", None, TraceSpanStatus::Ok),
                span("b", Some("a"), TraceSpanStatus::Error),
                span("c", Some("a"), TraceSpanStatus::Ok),
            ]
        };
        let failed = TreeOptions { only_failed: true, depth: None };

        let text = render_tree(&view(spans()), failed);
        let flat = render_tree(&view(spans()), TreeOptions { depth: Some(1), ..failed });

        assert!(
            text.contains("job a") && text.contains("job b") && !text.contains("job c"),
            "{text}"
        );
        assert!(flat.contains("job a") && !flat.contains("job b"), "{flat}");
    }

    #[test]
    fn spans_that_are_each_others_parents_do_not_hang() {
        let spans = vec![
            span("a", Some("b"), TraceSpanStatus::Error),
            span("b", Some("a"), TraceSpanStatus::Ok),
        ];

        let text = render_tree(&view(spans), TreeOptions { only_failed: true, depth: None });

        assert!(text.starts_with("trace "), "{text}");
    }
}
