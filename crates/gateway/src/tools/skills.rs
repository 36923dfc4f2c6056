//! Texts that tell agents how to work.

mod create;
mod delete;
mod get;
mod list;
mod update;

use cynode_domain::ids::SkillId;
use cynode_wire::skills::{SkillContentView, SkillView};

use super::{Builtin, ToolContext, ToolFault};

/// Every tool of this namespace.
pub(super) fn all() -> [Builtin; 5] {
    [create::TOOL, delete::TOOL, get::TOOL, list::TOOL, update::TOOL]
}

/// A skill, unless it is of a project beside the one that the caller is bound to.
async fn find(context: &ToolContext, id: SkillId) -> Result<SkillContentView, ToolFault> {
    let found = context.services.skills.get(&context.who.caller, id).await?;
    if is_within(context, &found.skill) {
        return Ok(found);
    }
    Err(ToolFault::not_found(format!("there is no skill {id}")))
}

fn is_within(context: &ToolContext, skill: &SkillView) -> bool {
    let (bound, its) = (context.who.project, skill.project_id);
    bound.is_none() || its.is_none() || its == bound
}
