//! What a model is told before it is asked.
//!
//! Start at [`compose`]. The order is fixed: baseline, role instructions (with the default skill),
//! project, task, additional context of this role, and then the messages of the request. Each part
//! is a [`Fragment`] with a size cap, so that none can push another out.
//!
//! Invariant: the baseline comes first and whole, and nothing that follows can take its place. Text
//! of others stands between marks that it cannot forge ([`untrusted`]).

mod conversation;
mod fragment;
mod preferences;
pub mod untrusted;

use cynode_wire::handoff::{AgentRole, HandoffContext, TaskFacts};

pub use conversation::messages;
use fragment::{Additional, Baseline, Project, RoleInstructions, Skill, Task};
pub use fragment::{Fragment, tokens};
pub(crate) use fragment::{cut, workspace_prompt};
pub use preferences::additional_context;

/// The instructions of a role, as its bundle has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Identity, responsibilities and non-goals: the first file of the bundle.
    pub baseline: String,
    /// The rest of the bundle but for `tools`, in the order of its file names.
    pub role: String,
    /// How tools are used: included only where a model can call them, which it cannot in a decision.
    pub tools: String,
}

impl Instructions {
    /// The part that would not be told whole, and the most bytes that it may have.
    pub fn excess(&self) -> Option<(&'static str, usize)> {
        over(&Baseline(&self.baseline)).or_else(|| over(&RoleInstructions(&self.with_tools())))
    }

    fn with_tools(&self) -> String {
        let parts = [self.role.trim(), self.tools.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn over<F: Fragment>(fragment: &F) -> Option<(&'static str, usize)> {
    let (_, is_cut) = fragment.capped()?;
    is_cut.then(|| (fragment.name(), F::MAX_BYTES))
}

/// What stands before the messages of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The text of the system message.
    pub system: String,
    /// What it is made of, in order.
    pub parts: Vec<Part>,
}

/// One part of a composed context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which one.
    pub name: &'static str,
    /// About how many tokens it takes.
    pub tokens: usize,
    /// Whether some of it was left out.
    pub is_cut: bool,
}

impl Composed {
    /// About how many tokens the whole takes.
    pub fn tokens(&self) -> usize {
        self.parts.iter().map(|part| part.tokens).sum()
    }

    fn add(&mut self, fragment: &impl Fragment) {
        let Some((text, is_cut)) = fragment.capped() else { return };
        if !self.system.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(&text);
        self.parts.push(Part { name: fragment.name(), tokens: tokens(&text), is_cut });
    }
}

/// Puts together what a model is told for this role and this work, in the order that holds for
/// every request.
pub fn compose(role: AgentRole, given: &Instructions, work: &HandoffContext) -> Composed {
    composed(role, (&given.baseline, &given.with_tools()), work)
}

/// The same for a decision, in which a model can call no tool: the instructions about tools are left out.
pub fn compose_for_decision(
    role: AgentRole,
    given: &Instructions,
    work: &HandoffContext,
) -> Composed {
    composed(role, (&given.baseline, &given.role), work)
}

/// The part of a context that describes the task, with and without the request: a question that quotes the
/// request needs it once.
pub(crate) fn task_without_request(work: &HandoffContext) -> Option<(String, String)> {
    let task = work.task.as_ref()?;
    let (whole, _) = Task(task).capped()?;
    let short = TaskFacts { prompt: String::new(), acceptance_criteria: vec![], ..task.clone() };
    let (short, _) = Task(&short).capped()?;
    Some((whole, short))
}

fn composed(
    role: AgentRole,
    (baseline, instructions): (&str, &str),
    work: &HandoffContext,
) -> Composed {
    let mut composed = Composed { system: String::new(), parts: vec![] };
    composed.add(&Baseline(baseline));
    composed.add(&RoleInstructions(instructions));
    composed.add(&Skill(&work.skill));
    if let Some(project) = &work.project {
        composed.add(&Project(project));
    }
    if let Some(task) = &work.task {
        composed.add(&Task(task));
    }
    composed.add(&Additional(&additional_context(role, &work.preferences)));
    composed
}

#[cfg(test)]
mod tests;
