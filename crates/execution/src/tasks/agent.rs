//! The agent profile of a task.

use cynode_domain::agent_profile::{AgentProfileName, AgentSelection, BUILT_IN};
use cynode_domain::job::Limits;
use cynode_domain::model::MODEL_HINTS;
use cynode_domain::plan::InputMode;
use cynode_domain::start::Trigger;
use cynode_domain::text::truncate_chars;
use cynode_resources::Caller;
use cynode_store::Tx;
use cynode_wire::tasks::{CreateTask, TaskView};

use super::{TaskError, TaskService};

/// How many profiles an error lists.
const SHOWN_PROFILES: usize = 50;
/// The request of every canary run. The node answers the model calls of the agent from a script.
const CANARY_PROMPT: &str =
    "This is a canary run. Call the tool `canary` once, then report that you are done.";
const CANARY_TIMEOUT_S: u32 = 300;

impl TaskService {
    /// Creates the task that is the canary run of a profile on a node, by its name. The caller has checked that the user
    /// is an administrator.
    pub async fn create_canary(
        &self,
        caller: &Caller,
        profile: &AgentProfileName,
        node: &str,
    ) -> Result<TaskView, TaskError> {
        let limits = Limits { timeout_s: CANARY_TIMEOUT_S, ..Limits::default() };
        let request = CreateTask {
            input_mode: InputMode::Agent,
            prompt: CANARY_PROMPT.to_owned(),
            task_name: Some(format!("canary-{profile}-{node}")),
            agent: Some(profile.to_string()),
            node: Some(node.to_owned()),
            limits: limits.at_most(&self.job_ceiling),
            max_attempts: Some(1),
            ..CreateTask::default()
        };
        let mut new = self.prepare_creation(caller, Trigger::Api, None, request, None).await?;
        new.is_canary = true;
        self.insert_creation(new).await
    }
}

/// The profile that a request names; `None` for the built-in agent.
pub(super) async fn select_agent(
    tx: &mut Tx,
    request: &CreateTask,
    is_canary: bool,
) -> Result<Option<AgentSelection>, TaskError> {
    let Some(name) = request.agent.as_deref().filter(|name| *name != BUILT_IN) else {
        return Ok(None);
    };
    if let Some(profile) = tx.agent_profile_get(name).await? {
        return Ok(Some(AgentSelection { profile: profile.name, is_canary }));
    }
    let name = truncate_chars(name, 100);
    let mut known = vec![BUILT_IN.to_owned()];
    let profiles = tx.agent_profile_list().await?.into_iter();
    known.extend(profiles.take(SHOWN_PROFILES).map(|profile| profile.name.to_string()));
    Err(TaskError::Invalid(vec![format!(
        "there is no agent \"{name}\"; there are: {}. An administrator defines one with `cynork agent profiles add`",
        known.join(", ")
    )]))
}

/// Rejects an agent where none works.
pub(super) fn validate_agent(request: &CreateTask) -> Option<String> {
    let is_agent = request.input_mode == InputMode::Agent;
    let is_known = |hint: &str| MODEL_HINTS.contains(&hint);
    match &request.model_hint {
        _ if request.agent.is_some() && !is_agent => {
            Some("agent belongs to input_mode \"agent\"".to_owned())
        }
        Some(_) if !is_agent => Some("model_hint belongs to input_mode \"agent\"".to_owned()),
        Some(hint) if !is_known(hint) => {
            let hint = truncate_chars(hint, 100);
            let known = MODEL_HINTS.join(", ");
            Some(format!("model_hint is \"{hint}\"; use one of: {known}"))
        }
        _ => None,
    }
}
