//! The profile in which the work of a schedule is done.

use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::profile::DEFAULT_PROFILE;
use cynode_domain::schedule::SchedulePayload;
use cynode_store::{ListedProfiles, Schedule};

/// Whether the work of a schedule is done in one of these profiles.
pub(super) fn is_in_profiles(schedule: &Schedule, profiles: ListedProfiles) -> bool {
    match profiles {
        ListedProfiles::All => true,
        ListedProfiles::Default => uses_default_profile(&schedule.payload, schedule.project),
    }
}

/// Whether a payload is worked on in the default profile of the project. The default profile has a fixed id and a fixed
/// name, so no lookup is needed; a payload that names any other profile, also one that does not exist, is not.
fn uses_default_profile(payload: &SchedulePayload, project: ProjectId) -> bool {
    let request = match payload {
        // The project manager interprets it in the default profile.
        SchedulePayload::Prompt { .. } => return true,
        SchedulePayload::Task { request } | SchedulePayload::Request { request } => request,
    };
    let named = request.get("profile").filter(|profile| !profile.is_null());
    named.is_none_or(|profile| profile.as_str().is_some_and(|name| is_default(name, project)))
}

fn is_default(profile: &str, project: ProjectId) -> bool {
    match NameOrId::<ProfileId>::from(profile) {
        NameOrId::Id(id) => id == ProfileId::default_of(project),
        NameOrId::Name(name) => lookup_name(&name) == DEFAULT_PROFILE,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn is_default_work(profile: &Value, project: ProjectId) -> bool {
        let request = json!({ "commands": ["make"], "profile": profile });
        let task = SchedulePayload::Task { request: request.clone() };
        let submission = SchedulePayload::Request { request };
        let found = [&task, &submission].map(|payload| uses_default_profile(payload, project));
        assert_eq!(found[0], found[1]);
        found[0]
    }

    #[test]
    fn work_without_a_profile_or_with_the_default_one_is_in_the_default_profile() {
        let project = ProjectId::generate();
        let prompt = SchedulePayload::Prompt { text: "tidy up".to_owned() };

        assert!(uses_default_profile(&prompt, project));
        let absent = SchedulePayload::Task { request: json!({ "commands": ["make"] }) };
        assert!(uses_default_profile(&absent, project));
        for name in [json!(null), json!("default"), json!("Default"), json!(project)] {
            assert!(is_default_work(&name, project), "{name}");
        }
    }

    #[test]
    fn work_that_names_another_profile_is_not_in_the_default_profile() {
        let project = ProjectId::generate();

        let other = json!(ProfileId::generate());
        for name in [json!("careful"), json!(""), json!(7), other, json!(ProjectId::generate())] {
            assert!(!is_default_work(&name, project), "{name}");
        }
    }
}
