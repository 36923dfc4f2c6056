//! Canary runs: one task for each worker node, and the reports of the nodes.

use cynode_domain::ids::JobId;
use cynode_domain::status::NodeStatus;
use cynode_execution::NodeError;
use cynode_execution::nodes::JobPayload;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_resources::{Caller, NodeCaller};
use cynode_store::{AgentCanary, Node, Tx};
use cynode_wire::agent_profiles::{
    CanaryReport, MAX_AGENT_BYTES, MAX_DETAIL_BYTES, StartCanary, StartedCanariesView,
};
use serde_json::json;

use super::view::runs_profiles;
use super::{AgentProfileError, AgentProfiles, find_profile, require_admin};

/// The most checks of a report: a kind may be checked more than once.
const MAX_CHECKS: usize = 32;

impl AgentProfiles {
    /// Starts the canary run of a profile on the named node, or on every active node that can run profiles.
    /// Administrators only.
    pub async fn start_canary(
        &self,
        caller: &Caller,
        name: &str,
        request: StartCanary,
    ) -> Result<StartedCanariesView, AgentProfileError> {
        require_admin(caller)?;
        let name = name.to_owned();
        let (profile, nodes) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let profile = find_profile(tx, &name).await?;
                    let nodes = choose_nodes(tx.node_list().await?, request.node.as_deref())?;
                    Ok::<_, AgentProfileError>((profile, nodes))
                })
            })
            .await?;
        let mut tasks = vec![];
        for node in nodes {
            tasks.push(self.tasks.create_canary(caller, &profile.name, &node.slug).await?);
        }
        Ok(StartedCanariesView { revision: profile.revision, tasks })
    }

    /// Stores what a canary run showed, with the revision of the job. For the process that holds the running job.
    pub async fn report_canary(
        &self,
        node: &NodeCaller,
        job: JobId,
        report: CanaryReport,
    ) -> Result<(), AgentProfileError> {
        let faults = validate_report(&report);
        if !faults.is_empty() {
            return Err(AgentProfileError::Invalid(faults));
        }
        let (node, now) = (node.clone(), self.clock.now());
        self.store.write(move |tx| Box::pin(store_report(tx, node, job, report, now))).await?;
        self.signals.send(Topic::Jobs);
        Ok(())
    }
}

async fn store_report(
    tx: &mut Tx,
    node: NodeCaller,
    id: JobId,
    report: CanaryReport,
    reported_at: chrono::DateTime<chrono::Utc>,
) -> Result<(), AgentProfileError> {
    let held = tx.job_lock(id).await?;
    let held = held.filter(|job| node.holds_job(job) && !job.status.is_terminal());
    let job = held.ok_or(NodeError::JobNotHeld(id))?;
    let payload = serde_json::from_value::<JobPayload>(job.spec.payload).ok();
    let agent = payload.and_then(|payload| payload.agent).filter(|agent| agent.is_canary);
    let Some(agent) = agent else {
        let fault = format!("job {id} is not a canary run");
        return Err(AgentProfileError::Invalid(vec![fault]));
    };
    let canary = AgentCanary {
        profile: agent.profile,
        revision: agent.revision,
        node: node.node,
        is_passed: report.is_passed(),
        // The agent chose these texts.
        report: json!(report).redact_secrets(),
        job: id,
        task: job.spec.task,
        reported_at,
    };
    Ok(tx.agent_canary_put(&canary).await?)
}

/// The nodes of new canary runs.
fn choose_nodes(
    nodes: Vec<Node>,
    name_or_id: Option<&str>,
) -> Result<Vec<Node>, AgentProfileError> {
    let Some(name_or_id) = name_or_id else {
        let is_usable = |node: &Node| is_active(node) && runs_profiles(node);
        let usable: Vec<_> = nodes.into_iter().filter(is_usable).collect();
        if usable.is_empty() {
            let fault = "no active worker node can run agent profiles; `cynork nodes get NODE` shows the features of \
                         a node: it needs \"agents\" and \"agent_profiles\"";
            return Err(AgentProfileError::NoUsableNode(fault.to_owned()));
        }
        return Ok(usable);
    };
    let is_it = |node: &Node| {
        node.slug.eq_ignore_ascii_case(name_or_id) || node.id.to_string() == name_or_id
    };
    let Some(node) = nodes.into_iter().find(is_it) else {
        let name: String = name_or_id.chars().take(100).collect();
        return Err(NodeError::NotFound(name).into());
    };
    let slug = &node.slug;
    if !runs_profiles(&node) {
        return Err(AgentProfileError::NoUsableNode(format!(
            "node \"{slug}\" cannot run agent profiles: it needs the features \"agents\" and \"agent_profiles\"; see \
             `cynork nodes get {slug}`"
        )));
    }
    if !is_active(&node) {
        let state = if node.status == NodeStatus::Drained { "drained" } else { "offline" };
        let fault = format!("node \"{slug}\" is {state}: a canary run needs an active node");
        return Err(AgentProfileError::NoUsableNode(fault));
    }
    Ok(vec![node])
}

fn is_active(node: &Node) -> bool {
    node.status == NodeStatus::Active && node.sandbox_supported
}

fn validate_report(report: &CanaryReport) -> Vec<String> {
    let mut faults = vec![];
    if report.checks.len() > MAX_CHECKS {
        faults
            .push(format!("checks has {} entries; allowed are {MAX_CHECKS}", report.checks.len()));
    }
    if report.checks.iter().any(|check| check.detail.len() > MAX_DETAIL_BYTES) {
        faults.push(format!("the detail of a check is longer than {MAX_DETAIL_BYTES} bytes"));
    }
    if report.agent.as_ref().is_some_and(|agent| agent.len() > MAX_AGENT_BYTES) {
        faults.push(format!("agent is longer than {MAX_AGENT_BYTES} bytes"));
    }
    let texts = report.checks.iter().map(|check| &check.detail).chain(&report.agent);
    if texts.into_iter().any(|text| text.contains('\0')) {
        faults.push("a report must not contain NUL characters".to_owned());
    }
    faults
}
