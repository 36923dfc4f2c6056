//! Composes the system message of model requests.
//!
//! Start at [`compose`]. The order is fixed: baseline, role instructions (with the default skill), project, task,
//! additional context of this role, and then the messages of the request; excerpts of the project precede the newest one. Each part is a [`ContextFragment`] with a
//! size limit, so that no part displaces another.
//!
//! Invariant: the baseline comes first and whole, and no later part replaces it. Untrusted text is quoted between
//! marks that it cannot forge ([`untrusted`]).

mod conversation;
mod excerpts;
mod fragment;
mod preferences;
pub mod untrusted;

use cynode_wire::handoff::{AgentRole, HandoffContext, TaskFacts};

pub use conversation::messages;
pub(crate) use excerpts::{excerpts_message, quote_excerpts};
pub(crate) use fragment::workspace_prompt;
use fragment::{
    AdditionalFragment, BaselineFragment, ProjectFragment, RoleInstructionsFragment, SkillFragment,
    TaskFragment,
};
pub use fragment::{ContextFragment, estimate_tokens};
pub use preferences::additional_context;

/// The instructions of a role, from its bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Identity, responsibilities and non-goals: the first file of the bundle.
    pub baseline: String,
    /// The rest of the bundle but for `tools`, in the order of its file names.
    pub role: String,
    /// How to use tools: included only in requests that offer tools, which decisions do not.
    pub tools: String,
}

impl Instructions {
    /// Returns a part that exceeds its size limit, with the limit in bytes.
    pub fn excess(&self) -> Option<(&'static str, usize)> {
        excess_of(&BaselineFragment(&self.baseline))
            .or_else(|| excess_of(&RoleInstructionsFragment(&self.with_tools())))
    }

    fn with_tools(&self) -> String {
        let parts = [self.role.trim(), self.tools.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn excess_of<F: ContextFragment>(fragment: &F) -> Option<(&'static str, usize)> {
    let (_, is_cut) = fragment.truncated()?;
    is_cut.then(|| (fragment.name(), F::MAX_BYTES))
}

/// A composed system message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedContext {
    pub system: String,
    /// The parts, in order.
    pub parts: Vec<PromptContextPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptContextPart {
    pub name: &'static str,
    /// Estimated.
    pub tokens: usize,
    /// Whether it was truncated.
    pub is_cut: bool,
}

impl ComposedContext {
    /// The estimated tokens of all parts.
    pub fn tokens(&self) -> usize {
        self.parts.iter().map(|part| part.tokens).sum()
    }

    fn add(&mut self, fragment: &impl ContextFragment) {
        let Some((text, is_cut)) = fragment.truncated() else { return };
        if !self.system.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(&text);
        self.parts.push(PromptContextPart {
            name: fragment.name(),
            tokens: estimate_tokens(&text),
            is_cut,
        });
    }
}

/// Composes the context of a request that offers tools.
pub fn compose(role: AgentRole, given: &Instructions, work: &HandoffContext) -> ComposedContext {
    compose_parts(role, &given.baseline, &given.with_tools(), work)
}

/// Composes the context of a decision, without the instructions about tools.
pub fn compose_for_decision(
    role: AgentRole,
    given: &Instructions,
    work: &HandoffContext,
) -> ComposedContext {
    compose_parts(role, &given.baseline, &given.role, work)
}

/// Returns the task part with and without the request, for questions that quote the request themselves. Both list the
/// acceptance criteria.
pub(crate) fn task_without_request(work: &HandoffContext) -> Option<(String, String)> {
    let task = work.task.as_ref()?;
    let (whole, _) = TaskFragment(task).truncated()?;
    let short = TaskFacts { prompt: String::new(), ..task.clone() };
    let (short, _) = TaskFragment(&short).truncated()?;
    Some((whole, short))
}

fn compose_parts(
    role: AgentRole,
    baseline: &str,
    instructions: &str,
    work: &HandoffContext,
) -> ComposedContext {
    let mut composed = ComposedContext { system: String::new(), parts: vec![] };
    if cynode_fault::fault!("PMA-12") {
        composed.add(&AdditionalFragment(&additional_context(role, &work.preferences)));
    }
    composed.add(&BaselineFragment(baseline));
    composed.add(&RoleInstructionsFragment(instructions));
    if !cynode_fault::fault!("PMA-16") {
        composed.add(&SkillFragment(&work.skill));
    }
    if let Some(project) = &work.project {
        composed.add(&ProjectFragment(project));
    }
    if let Some(task) = &work.task {
        composed.add(&TaskFragment(task));
    }
    composed.add(&AdditionalFragment(&additional_context(role, &work.preferences)));
    composed
}

#[cfg(test)]
mod tests;
