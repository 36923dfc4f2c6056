//! `skills.*`: instructions for agents.

mod create;
mod delete;
mod get;
mod list;
mod update;

use cynode_domain::ids::SkillId;
use cynode_resources::skills::SkillError;
use cynode_wire::skills::{SkillContentView, SkillView};

use super::{BuiltinToolSpec, ToolContext, ToolFault};

pub(super) fn all() -> [BuiltinToolSpec; 5] {
    [create::TOOL, delete::TOOL, get::TOOL, list::TOOL, update::TOOL]
}

/// A skill, unless it belongs to another project than the one the caller is bound to.
async fn load_visible_skill(
    context: &ToolContext,
    id: SkillId,
) -> Result<SkillContentView, ToolFault> {
    let found = context.services.skills.get(&context.identity.caller, id).await;
    let found = found.map_err(hide_quarantine_finding)?;
    if is_in_bound_project(context, &found.skill) {
        return Ok(found);
    }
    Err(ToolFault::not_found(format!("there is no skill {id}")))
}

/// Agents must not see the text that the scan rejected.
fn hide_quarantine_finding(error: SkillError) -> SkillError {
    if let SkillError::QuarantinedBecause { id, .. } = error {
        return SkillError::Quarantined(id);
    }
    error
}

fn is_in_bound_project(context: &ToolContext, skill: &SkillView) -> bool {
    let (bound, its) = (context.identity.project, skill.project_id);
    bound.is_none() || its.is_none() || its == bound
}
