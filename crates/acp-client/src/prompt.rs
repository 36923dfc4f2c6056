//! The prompt of an agent: one text with everything that the agent needs to know.

use cynode_agent_job::context_sections::{
    CriteriaWording, background_sections, persona_section, task_sections,
};
use cynode_wire::agent_jobs::AgentJobSpec;

const CRITERIA_WORDING: CriteriaWording = CriteriaWording {
    title: " (the result is verified against them)",
    command_note: " (run it before you end)",
};
const RULES: &str = "\
# Surroundings
You work alone in a sandbox, on the files of the current directory. No person answers questions: decide yourself.
End with a short summary of what you changed and how you checked it. If the task cannot be done, say why.";

/// Renders the prompt, below 32,000 bytes.
pub(crate) fn render_prompt(spec: &AgentJobSpec) -> String {
    let mut sections: Vec<String> = persona_section(spec).into_iter().collect();
    sections.extend(background_sections(spec));
    sections.extend(task_sections(spec, CRITERIA_WORDING));
    let network = if spec.constraints.ext_net_allowed { "" } else { " There is no network." };
    let seconds = spec.constraints.max_runtime_seconds;
    sections.push(format!("{RULES} You have {seconds} s.{network}"));
    sections.join("\n\n")
}
