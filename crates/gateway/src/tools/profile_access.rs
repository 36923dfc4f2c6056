//! Whose memory and knowledge a call is about.

use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::Principal;
use cynode_domain::project_memory::MemorySource;
use cynode_resources::profile_access::{ProfileAccess, ProfileSubject};

use super::ToolContext;

/// The profile that a call concerns. That of an agent is the profile of its token.
pub(super) fn profile_access(
    context: &ToolContext,
    named_project: Option<ProjectId>,
    profile: Option<String>,
) -> ProfileAccess {
    let identity = &context.identity;
    let named_profile = profile.map(NameOrId::from);
    let subject = match identity.agent {
        Principal::User => ProfileSubject::Person {
            project: context
                .call_scope
                .project
                .map_or_else(|| NameOrId::Name("default".to_owned()), Into::into),
            profile: named_profile,
        },
        Principal::Agent(agent) => ProfileSubject::Agent {
            own: identity.profile_id,
            named_project,
            named_profile,
            source: MemorySource {
                task_id: identity.task,
                run_id: identity.run,
                step: identity.job_agent.work_unit.clone(),
                agent: Some(match &identity.job_agent.role {
                    Some(role) => role.to_string(),
                    None => agent.to_string(),
                }),
            },
        },
    };
    ProfileAccess { caller: identity.caller.clone(), subject }
}
