//! The context of a job as sections of a prompt.
//!
//! Each section has a size limit, so that the prompt leaves room for the work.

use cynode_domain::criteria::Criterion;
use cynode_wire::agent_jobs::{AgentJobSpec, AgentStep};

use crate::bounded_text::clip_middle;

const PERSONA_BYTES: usize = 1_000;
const BASELINE_BYTES: usize = 3_000;
const PROJECT_BYTES: usize = 4_000;
const TASK_BYTES: usize = 6_000;
const REQUIREMENTS_BYTES: usize = 2_500;
const CRITERIA_BYTES: usize = 2_500;
const ADDITIONAL_BYTES: usize = 2_000;
const SUGGESTIONS_BYTES: usize = 1_000;
const SKILLS_BYTES: usize = 4_000;

/// How the criteria are worded.
#[derive(Debug, Clone, Copy)]
pub struct CriteriaWording {
    /// What the title says besides `# Criteria`.
    pub title: &'static str,
    /// What is said after a command that must succeed.
    pub command_note: &'static str,
}

/// The role that the agent takes, if any.
pub fn persona_section(spec: &AgentJobSpec) -> Option<String> {
    let persona = spec.persona.as_ref()?;
    let text = format!("You are {}. {}", persona.title, persona.description);
    Some(clip_middle(text.trim(), PERSONA_BYTES))
}

/// Instructions for every job, and facts about the project.
pub fn background_sections(spec: &AgentJobSpec) -> Vec<String> {
    let mut sections = Vec::new();
    push_section(&mut sections, "", &spec.context.baseline_context, BASELINE_BYTES);
    push_section(&mut sections, "# Project\n", &spec.context.project_context, PROJECT_BYTES);
    sections
}

/// The request, requirements, criteria, additional context, suggestions and skills.
pub fn task_sections(spec: &AgentJobSpec, wording: CriteriaWording) -> Vec<String> {
    let context = &spec.context;
    let mut sections = Vec::new();
    push_section(&mut sections, "# Task\n", &context.task_context, TASK_BYTES);
    let requirements: Vec<String> =
        context.requirements.iter().map(|requirement| format!("- {requirement}")).collect();
    push_section(&mut sections, "# Requirements\n", &requirements.join("\n"), REQUIREMENTS_BYTES);
    let criteria: Vec<String> = (0..)
        .zip(&context.acceptance_criteria)
        .map(|(number, criterion): (usize, _)| {
            format!("[{number}] {}", describe_criterion(criterion, wording.command_note))
        })
        .collect();
    let title = format!("# Criteria{}\n", wording.title);
    push_section(&mut sections, &title, &criteria.join("\n"), CRITERIA_BYTES);
    push_section(&mut sections, "# More context\n", &context.additional_context, ADDITIONAL_BYTES);
    let suggestions = describe_suggestions(&spec.steps);
    push_section(&mut sections, "# Suggested steps\n", &suggestions, SUGGESTIONS_BYTES);
    push_section(&mut sections, "# Skills\n", &context.skills.join("\n\n"), SKILLS_BYTES);
    sections
}

fn describe_criterion(criterion: &Criterion, command_note: &str) -> String {
    match criterion {
        Criterion::Text { description } => description.clone(),
        Criterion::ExitCode { equals } => format!("the exit code is {equals}"),
        Criterion::OutputMatches { pattern } => format!("the output matches /{pattern}/"),
        Criterion::FileExists { path } => format!("the artifact {path} exists"),
        Criterion::CommandSucceeds { command } => {
            format!("`{command}` exits with 0{command_note}")
        }
    }
}

fn describe_suggestions(steps: &[AgentStep]) -> String {
    let describe = |step: &AgentStep| match step {
        AgentStep::RunCommand { command } => format!("- run_command: {command}"),
        AgentStep::WriteFile { path, .. } => format!("- write_file: {path}"),
    };
    steps.iter().map(describe).collect::<Vec<_>>().join("\n")
}

/// Adds a part unless it is blank.
fn push_section(sections: &mut Vec<String>, title: &str, text: &str, max_bytes: usize) {
    let text = text.trim();
    if !text.is_empty() {
        sections.push(format!("{title}{}", clip_middle(text, max_bytes)));
    }
}
