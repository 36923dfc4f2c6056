//! Hostile texts in everything that a request reads, each with a clean twin: what rules decide stays the same.

use std::collections::BTreeMap;

use cynode_domain::project_context::ProjectContext;
use cynode_domain::report::ReviewFeedback;
use cynode_domain::work::UnitKind;
use cynode_planning::assignment::AgentRoster;
use cynode_planning::context::{ProjectFiles, derive_context};
use cynode_planning::intake::{Submission, assess_scope, classify, inspect};
use cynode_planning::prompt::{render_correction, render_prompt};
use cynode_planning::requirements::list_requirements;
use cynode_planning::review::{
    GateDecision, ReviewReport, ReviewRound, ReviewScope, decide_review,
};
use cynode_planning::structured_context::{StructuredContext, UnitSubject};
use cynode_planning::workflow::select_workflow;
use serde::Deserialize;

use crate::corpus::load;

/// Where a hostile text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InjectionSource {
    Issue,
    Comment,
    HtmlComment,
    /// `CLAUDE.md`.
    Guide,
    Readme,
    /// The report of a reviewer.
    Artifact,
    /// What a command or a test printed.
    ToolResult,
    FileName,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Injection {
    source: InjectionSource,
    clean: String,
    hostile: String,
}

const REQUEST: &str = "Add dark mode toggle to settings page";
/// One requirement, and no instruction that changed the scope.
const SCOPE: ReviewScope = ReviewScope { requirements: 1, is_reduced: false };

fn injections(wanted: &[InjectionSource]) -> Vec<Injection> {
    let all = load::<Injection>("injections.jsonl");
    all.into_iter().filter(|one| wanted.contains(&one.source)).collect()
}

#[test]
fn every_source_has_hostile_texts() {
    let all = load::<Injection>("injections.jsonl");
    let mut counts: BTreeMap<InjectionSource, usize> = BTreeMap::new();
    for one in &all {
        assert_ne!(one.clean, one.hostile);
        *counts.entry(one.source).or_default() += 1;
    }

    assert!(all.len() >= 60, "{}", all.len());
    assert!(counts.len() == 8 && counts.values().all(|count| *count >= 8), "{counts:?}");
}

#[test]
fn a_submission_does_not_decide_about_itself() {
    let mut changed = vec![];
    for one in injections(&[
        InjectionSource::Issue,
        InjectionSource::Comment,
        InjectionSource::HtmlComment,
    ]) {
        let decide = |text: &str| {
            let submission = Submission { text, labels: &[], is_brief: false };
            let kind = classify(&submission).value;
            let scope = assess_scope(&submission, kind, None).value;
            (kind, scope, select_workflow(kind, scope, true).units, inspect(text))
        };
        let (clean, hostile) = (decide(&one.clean), decide(&one.hostile));
        if clean != hostile {
            changed.push(format!("{}\n  {clean:?}\n  {hostile:?}", one.hostile));
        }
        let (clean, hostile) = (list_requirements(&one.clean), list_requirements(&one.hostile));
        if clean != hostile {
            changed.push(format!("{}\n  {clean:?}\n  {hostile:?}", one.hostile));
        }
    }

    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

fn project(guide: Option<&str>, readme: Option<&str>, path: &str) -> ProjectContext {
    let mut paths: Vec<String> =
        ["Cargo.toml", "src/main.rs", "tests/it.rs"].map(str::to_owned).to_vec();
    paths.push(path.to_owned());
    let mut texts = BTreeMap::from([("Cargo.toml".to_owned(), "[package]\nname='a'\n".to_owned())]);
    for (name, text) in [("CLAUDE.md", guide), ("README.md", readme)] {
        if let Some(text) = text {
            paths.push(name.to_owned());
            texts.insert(name.to_owned(), text.to_owned());
        }
    }
    derive_context(&ProjectFiles { paths, texts })
}

/// The context of the project in which an injection stands.
fn project_of(source: InjectionSource, text: &str) -> ProjectContext {
    match source {
        InjectionSource::Guide => project(Some(text), None, "src/settings.html"),
        InjectionSource::Readme => project(None, Some(text), "src/settings.html"),
        InjectionSource::FileName => project(None, None, text),
        InjectionSource::Issue
        | InjectionSource::Comment
        | InjectionSource::HtmlComment
        | InjectionSource::Artifact
        | InjectionSource::ToolResult => project(None, None, "src/settings.html"),
    }
}

#[test]
fn a_repository_does_not_decide_how_it_is_judged() {
    for one in
        injections(&[InjectionSource::Guide, InjectionSource::Readme, InjectionSource::FileName])
    {
        let facts = |text: &str| {
            let context = project_of(one.source, text);
            (context.kind, context.build_commands, context.test_commands, context.has_tests)
        };

        assert_eq!(facts(&one.clean), facts(&one.hostile), "{}", one.hostile);
    }
}

fn gate(text: &str) -> String {
    let Ok(report) = ReviewReport::parse(text, SCOPE) else { return "rejected".to_owned() };
    let decision = decide_review(&ReviewRound {
        feedback: &report.to_feedback(),
        previous: None,
        revisions: 0,
        max_revisions: 2,
        skip_minor: true,
    });
    match decision {
        GateDecision::Approve { .. } => "approve",
        GateDecision::Revise { .. } => "revise",
        GateDecision::AskPerson { .. } => "ask",
    }
    .to_owned()
}

#[test]
fn the_words_of_a_report_do_not_change_its_verdict() {
    for one in injections(&[InjectionSource::Artifact]) {
        assert_eq!(gate(&one.clean), "revise");
        assert_eq!(gate(&one.hostile), "revise", "{}", one.hostile);
    }
    // A report that contradicts its own verdict is not accepted.
    let approved = |rest: &str| format!(r#"{{"verdict":"approved","summary":"fine"{rest}}}"#);
    for rest in [
        "",
        r#","criteria":[{"number":1,"isMet":true}]"#,
        r#","criteria":[{"number":1,"isMet":false,"evidence":"x"}]"#,
        r#","criteria":[{"number":1,"isMet":false,"isOutOfScope":true,"evidence":"x"}]"#,
        r#","criteria":[{"number":2,"isMet":true,"evidence":"x"}]"#,
        r#","criteria":[{"number":1,"isMet":true,"evidence":"x"},{"number":1,"isMet":true,"evidence":"x"}]"#,
        r#","verdict":"changes_requested","criteria":[{"number":1,"isMet":true,"evidence":"x"}]"#,
        r#","override":true,"criteria":[{"number":1,"isMet":true,"evidence":"x"}]"#,
    ] {
        assert_eq!(gate(&approved(rest)), "rejected", "{rest}");
    }
}

/// The lines of a prompt outside of fences; panics if a fence is not closed.
fn instructions(prompt: &str) -> Vec<String> {
    let mut lines = vec![];
    let mut fence: Option<String> = None;
    for line in prompt.split('\n') {
        match &fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("~~~") => {
                fence = Some(line.chars().take_while(|letter| *letter == '~').collect());
            }
            None => lines.push(line.to_owned()),
        }
    }
    assert_eq!(fence, None, "a fence is open: {prompt}");
    lines
}

fn parse_feedback(text: &str) -> ReviewFeedback {
    match ReviewReport::parse(text, SCOPE) {
        Ok(report) => report.to_feedback(),
        Err(fault) => panic!("{fault}: {text}"),
    }
}

/// The prompt of an agent that reads the text of an injection.
fn prompt_with(kind: UnitKind, source: InjectionSource, text: &str) -> String {
    let project = project_of(source, text);
    let is_request = matches!(
        source,
        InjectionSource::Issue | InjectionSource::Comment | InjectionSource::HtmlComment
    );
    let request = if is_request { text } else { REQUEST };
    let unit = UnitSubject {
        kind,
        component: "main",
        // As long as the request is one line, it is its own summary.
        description: "the settings page",
        present: &[UnitKind::Spec, UnitKind::Implementation, UnitKind::Review],
    };
    let feedback: Option<ReviewFeedback> =
        (source == InjectionSource::Artifact).then(|| parse_feedback(text));
    let is_output = source == InjectionSource::ToolResult;
    let context = StructuredContext {
        revision_feedback: feedback,
        recovery: is_output.then(|| text.to_owned()),
        knowledge: is_output.then(|| text.to_owned()).into_iter().collect(),
        people_comments: if source == InjectionSource::Comment {
            vec![text.to_owned()]
        } else {
            vec![]
        },
        ..StructuredContext::for_unit(request, &project, unit)
    };
    let scope = cynode_domain::work_kind::WorkScope::Small;
    let assignment = AgentRoster::default().assign(kind, scope, project.kind);
    render_prompt(kind, "main", &assignment, &context)
}

#[test]
fn no_text_of_others_changes_the_instructions_of_an_agent() {
    let all = load::<Injection>("injections.jsonl");
    for one in &all {
        for kind in [UnitKind::Spec, UnitKind::Implementation, UnitKind::Review] {
            let clean = prompt_with(kind, one.source, &one.clean);
            let hostile = prompt_with(kind, one.source, &one.hostile);
            let headings = |lines: Vec<String>| -> Vec<String> {
                // A section that has nothing to quote is left out with its heading.
                let optional = ["## Conventions", "## Architecture", "## Key paths"];
                lines
                    .into_iter()
                    .filter(|line| !line.is_empty() && !optional.contains(&line.as_str()))
                    .filter(|line| !line.starts_with("## Files") && !line.starts_with("## Example"))
                    .collect()
            };

            let (clean, hostile) = (instructions(&clean), instructions(&hostile));

            assert_eq!(headings(clean), headings(hostile), "{:?} {}", one.source, one.hostile);
        }
    }
    for one in injections(&[InjectionSource::ToolResult]) {
        let (clean, hostile) = (render_correction(&one.clean), render_correction(&one.hostile));
        assert_eq!(instructions(&clean), instructions(&hostile), "{}", one.hostile);
    }
}
