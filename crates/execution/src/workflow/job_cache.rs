//! Decides whether a job has a cache, and with which other jobs it shares it.

use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job_cache::{
    CACHE_ENABLED_KEY, CACHE_QUOTA_KEY, CacheFacts, CacheScope, DEFAULT_CACHE_QUOTA_MIB,
    decide_cache_level,
};
use cynode_domain::start::Trigger;
use cynode_store::{Task, Tx};
use cynode_wire::nodes::CacheAssignment;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::check::CHECK_FACTOR;
use super::job_creation::{EXEC_STEP, NewJobSpec, is_attempt};
use cynode_resources::preferences;

/// The cache of a new job; `None` unless a preference allows it and the quota is above zero.
pub(super) async fn assign_cache(
    tx: &mut Tx,
    task: &Task,
    spec: &NewJobSpec,
) -> Result<Option<CacheAssignment>, cynode_store::Error> {
    let options = &task.spec.options;
    let is_canary = options.agent.as_ref().is_some_and(|agent| agent.is_canary);
    // One cheap statement for an installation without caches.
    let may_be_enabled = options.push.is_none() && !is_canary;
    if !may_be_enabled || !tx.preference_is_set(CACHE_ENABLED_KEY).await? {
        return Ok(None);
    }
    let preferred = preferences::effective_for_task(tx, &task.spec).await?;
    let is_enabled = preferred.effective.get(CACHE_ENABLED_KEY);
    if is_enabled.is_none_or(|found| found.value != Value::Bool(true)) {
        return Ok(None);
    }
    let quota_mib = match tx.setting_get(CACHE_QUOTA_KEY).await? {
        // A limit that cannot be read allows nothing.
        Some(setting) => {
            setting.value.as_u64().and_then(|mib| u32::try_from(mib).ok()).unwrap_or(0)
        }
        None => DEFAULT_CACHE_QUOTA_MIB,
    };
    if quota_mib == 0 {
        return Ok(None);
    }
    let has_other_commands =
        tx.run_has_other_commands((spec.run, task.spec.id), EXEC_STEP, CHECK_FACTOR).await?;
    let level = decide_cache_level(&CacheFacts {
        is_from_person: options.trigger == Some(Trigger::Api) && task.parent.is_none(),
        input_mode: task.spec.input_mode,
        commands: &task.spec.commands,
        script: &task.spec.prompt,
        action: &spec.action,
        is_step: is_attempt(spec.step_index, spec.attempt),
        has_other_authors: !options.builds_on.is_empty() || has_other_commands,
    });
    let repository = options.repository.as_ref().map(|repository| {
        let branch = repository.base_branch.as_ref().map_or("", |branch| branch.as_str());
        (repository.url.as_str(), branch)
    });
    let scope = CacheScope {
        project: task.spec.project,
        profile: task.spec.profile(),
        user: task.spec.created_by,
        level,
        repository,
        image: spec.image.as_deref().or(options.image.as_deref()).unwrap_or(HOST_IMAGE),
    };
    let key = hex::encode(Sha256::digest(scope.describe()));
    Ok(Some(CacheAssignment { project: task.spec.project, key, quota_mib }))
}
