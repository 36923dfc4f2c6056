//! Canary runs: the tasks that they are, the reports of nodes, and the placement that they allow.

use cynode_client::ClientError;
use cynode_domain::ids::JobId;
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::Step;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::agent_profiles::{
    AGENT_PROFILES_FEATURE, CanaryCheckKind, CanaryReport, CanaryStatus, NodeCanaryView,
    StartCanary, StartedCanariesView,
};
use cynode_wire::continuing::ContinueRun;
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::AGENTS_FEATURE;
use cynode_wire::runs::ForkRun;
use cynode_wire::tasks::TaskQuery;
use cynode_wire::workflow::{DispatchStep, LeaseToken};
use serde_json::json;

use crate::actors::{HarnessNode, HarnessRunner, exited_result, registration};
use crate::agent_profiles::{agent_task, define, definition};
use crate::harness::{OrchestratorHarness, refused};
use crate::runs::{fail, through_a_step};

/// An orchestrator with the profile "opencode" and one node that can run profiles.
pub(crate) struct Canaries {
    pub(crate) harness: OrchestratorHarness,
    pub(crate) anvil: HarnessNode,
}

impl Canaries {
    pub(crate) async fn new(harness: OrchestratorHarness) -> Self {
        define(&harness, "opencode").await;
        let anvil = able_node(&harness, "anvil").await;
        Self { harness, anvil }
    }

    async fn start(&self, profile: &str, node: Option<&str>) -> StartedCanariesView {
        let body = StartCanary { node: node.map(str::to_owned) };
        self.harness.admin().agent_canary_start(profile, &body).await.unwrap()
    }

    /// Starts a canary run on "anvil", up to its running job.
    async fn running(&self, profile: &str) -> (LeaseToken, JobId) {
        self.start(profile, Some("anvil")).await;
        let runner = self.harness.runner();
        let lease = runner.claim(0).await.unwrap().lease;
        let job = dispatch_agent(&runner, lease, 1).await.unwrap();
        assert_eq!(self.anvil.take().await, job);
        (lease, job)
    }

    /// A canary run on "anvil" that passes.
    pub(crate) async fn pass(&self, profile: &str) {
        let (_, job) = self.running(profile).await;
        self.anvil.client.node_report_canary(job, &report("passed")).await.unwrap();
        self.anvil.end(job, 0).await.unwrap();
    }

    async fn node_views(&self, profile: &str) -> Vec<NodeCanaryView> {
        self.harness.admin().agent_profile_get(profile).await.unwrap().nodes
    }

    async fn blocked_reason(&self, task: &str) -> String {
        let task = self.harness.admin().task_get(task).await.unwrap();
        task.blocked_reason.unwrap_or_default()
    }

    /// A task of the profile whose job is dispatched.
    async fn dispatched(&self, name: &str) -> JobId {
        let runner = self.harness.runner();
        self.harness.admin().task_create(&agent_task(name, "opencode")).await.unwrap();
        let lease = runner.claim(0).await.unwrap().lease;
        dispatch_agent(&runner, lease, 1).await.unwrap()
    }
}

/// A node that can run profiles and has polled once.
async fn able_node(harness: &OrchestratorHarness, slug: &str) -> HarnessNode {
    let mut body = registration(slug, true);
    let features = [AGENTS_FEATURE, AGENT_PROFILES_FEATURE].map(str::to_owned);
    body.capabilities.sandbox.features.extend(features);
    let node = HarnessNode::join(harness, &body).await.unwrap();
    node.poll(&[]).await;
    node
}

/// Dispatches the step of an agent.
pub(crate) async fn dispatch_agent(
    runner: &HarnessRunner,
    lease: LeaseToken,
    attempt: u32,
) -> Result<JobId, ClientError> {
    let step = Step::new(Action::Agent {
        prompt: "mend it".to_owned(),
        criteria: vec![],
        model_hint: None,
    });
    let body = DispatchStep { lease, step_index: 0, attempt, step };
    Ok(runner.client.workflow_call(&body).await?.job_id)
}

/// A report in which the tools have this outcome.
fn report(tools: &str) -> CanaryReport {
    let check = |kind: CanaryCheckKind| {
        let outcome = if kind == CanaryCheckKind::Tools { tools } else { "passed" };
        json!({ "kind": kind, "outcome": outcome, "detail": "as seen" })
    };
    let checks = CanaryCheckKind::ALL.map(check);
    serde_json::from_value(json!({ "agent": "OpenCode 1.2.3", "checks": checks })).unwrap()
}

pub(crate) async fn a_job_waits_for_the_canary_run_of_its_revision_on_its_node(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let anvil = &canaries.anvil;
    let plain = canaries.harness.node("plain").await;
    let job = canaries.dispatched("work").await;

    assert_eq!(anvil.poll(&[]).await.assignments, []);
    let reason = canaries.blocked_reason("work").await;
    let expected = "waiting for a worker node that passed the canary run of agent profile \"opencode\" (revision 1); \
                    run `cynork agent canary opencode`";
    assert_eq!(reason, expected);

    let (_, canary) = canaries.running("opencode").await;
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::NotRun);
    anvil.client.node_report_canary(canary, &report("passed")).await.unwrap();
    let other = able_node(&canaries.harness, "other").await;
    assert_eq!(other.poll(&[]).await.assignments, [], "another node passed it");
    assert_eq!(plain.poll(&[]).await.assignments, []);
    let taken = anvil.poll(&[canary]).await.assignments;

    assert_eq!(taken.iter().map(|taken| taken.job_id).collect::<Vec<_>>(), [job]);
    let agent = taken[0].agent.as_ref().unwrap();
    assert_eq!((agent.profile.as_str(), agent.revision, agent.is_canary), ("opencode", 1, false));
    assert_eq!(agent.program.command(), ["opencode", "acp"]);
    assert_eq!(canaries.blocked_reason("work").await, "");
    let views = canaries.node_views("opencode").await;
    let status = |name: &str| views.iter().find(|view| view.node == name).unwrap().status;
    assert_eq!(status("anvil"), CanaryStatus::Passed);
    assert_eq!(status("other"), CanaryStatus::NotRun);
    assert_eq!(status("plain"), CanaryStatus::NotSupported);
}

pub(crate) async fn a_new_revision_needs_its_own_canary_run_and_waiting_jobs_get_it(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let (anvil, admin) = (&canaries.anvil, canaries.harness.admin());
    let job = canaries.dispatched("early").await;
    let mut spec = definition("opencode", "newer");
    spec.as_object_mut().unwrap().remove("name");
    let spec = serde_json::from_value(spec).unwrap();
    // The canary run of the first revision is still running when the profile changes.
    let (_, canary) = canaries.running("opencode").await;
    admin.agent_profile_update("opencode", &spec).await.unwrap();
    anvil.client.node_report_canary(canary, &report("passed")).await.unwrap();
    anvil.end(canary, 0).await.unwrap();

    assert_eq!(anvil.poll(&[]).await.assignments, []);
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::NotRun);
    let reason = canaries.blocked_reason("early").await;
    assert!(reason.contains("(revision 2)"), "{reason}");

    canaries.pass("opencode").await;
    let taken = anvil.poll(&[]).await.assignments;

    let agent = taken[0].agent.as_ref().unwrap();
    assert_eq!((taken.len(), taken[0].job_id, agent.revision), (1, job, 2));
    assert_eq!(agent.program.command(), ["newer", "acp"]);
}

pub(crate) async fn a_failed_canary_run_withdraws_the_admission(harness: OrchestratorHarness) {
    let canaries = Canaries::new(harness).await;
    let anvil = &canaries.anvil;
    canaries.pass("opencode").await;
    let admitted = canaries.dispatched("admitted").await;
    assert_eq!(anvil.take().await, admitted);

    let (_, canary) = canaries.running_beside("opencode", &[admitted]).await;
    let failed = report("failed");
    anvil.client.node_report_canary(canary, &failed).await.unwrap();
    // Idempotent.
    anvil.client.node_report_canary(canary, &failed).await.unwrap();
    canaries.dispatched("late").await;

    assert_eq!(anvil.poll(&[admitted, canary]).await.assignments, []);
    let [view] = &canaries.node_views("opencode").await[..] else { panic!("one node") };
    assert_eq!((view.status, view.checks.len()), (CanaryStatus::Failed, 5));
    assert_eq!(view.agent.as_deref(), Some("OpenCode 1.2.3"));
    let listed = canaries.harness.admin().agent_profile_list().await.unwrap();
    let [check] = &listed[0].nodes[0].checks[..] else { panic!("only the failed check") };
    assert_eq!(check.kind, CanaryCheckKind::Tools);
}

impl Canaries {
    /// As [`Canaries::running`], while the node holds other jobs.
    async fn running_beside(&self, profile: &str, held: &[JobId]) -> (LeaseToken, JobId) {
        self.start(profile, Some("anvil")).await;
        let runner = self.harness.runner();
        let lease = runner.claim(0).await.unwrap().lease;
        let job = dispatch_agent(&runner, lease, 1).await.unwrap();
        let taken = self.anvil.poll(held).await.assignments;
        assert_eq!(taken.iter().map(|taken| taken.job_id).collect::<Vec<_>>(), [job]);
        self.anvil.poll(&[held, &[job]].concat()).await;
        (lease, job)
    }
}

pub(crate) async fn reports_are_accepted_from_the_holder_of_a_running_canary_job_only(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let (anvil, passed) = (&canaries.anvil, report("passed"));
    let other = able_node(&canaries.harness, "other").await;
    let (_, job) = canaries.running("opencode").await;

    refused(other.client.node_report_canary(job, &passed).await, 409);
    refused(anvil.other_process().client.node_report_canary(job, &passed).await, 409);
    let person = canaries.harness.admin().with_incarnation(anvil.process);
    refused(person.node_report_canary(job, &passed).await, 401);
    refused(anvil.client.node_report_canary(JobId::generate(), &passed).await, 409);
    let mut long = passed.clone();
    long.checks[0].detail = "x".repeat(1001);
    refused(anvil.client.node_report_canary(job, &long).await, 400);
    let mut many = passed.clone();
    many.checks = vec![passed.checks[0].clone(); 33];
    refused(anvil.client.node_report_canary(job, &many).await, 400);
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::NotRun);

    anvil.end(job, 0).await.unwrap();
    refused(anvil.client.node_report_canary(job, &passed).await, 409);
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::NotRun);

    canaries.pass("opencode").await;
    let ordinary = canaries.dispatched("work").await;
    assert_eq!(anvil.take().await, ordinary);
    let fault = refused(anvil.client.node_report_canary(ordinary, &report("failed")).await, 400);
    assert!(fault.detail.contains("is not a canary run"), "{}", fault.detail);
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::Passed);
}

pub(crate) async fn a_canary_run_is_one_pinned_task_for_each_usable_node(
    harness: OrchestratorHarness,
) {
    define(&harness, "opencode").await;
    let admin = harness.admin();
    let start = async |node: Option<&str>| {
        let body = StartCanary { node: node.map(str::to_owned) };
        admin.agent_canary_start("opencode", &body).await
    };
    harness.node("plain").await;
    let fault = refused(start(None).await, 409);
    assert!(fault.detail.contains("no active worker node can run agent profiles"), "{fault:?}");
    refused(start(Some("plain")).await, 409);
    refused(start(Some("unknown")).await, 404);
    refused(admin.agent_canary_start("unknown", &StartCanary::default()).await, 404);
    assert_eq!(admin.task_list(&TaskQuery::default()).await.unwrap().items, []);

    let (_one, _two) = (able_node(&harness, "one").await, able_node(&harness, "two").await);
    let drained = able_node(&harness, "drained").await;
    admin.node_drain("drained").await.unwrap();
    assert_eq!(drained.poll(&[]).await.assignments, []);
    refused(start(Some("drained")).await, 409);
    let started = start(None).await.unwrap();

    let nodes: Vec<_> = started.tasks.iter().map(|task| task.node.clone().unwrap()).collect();
    assert_eq!((started.revision, nodes), (1, vec!["one".to_owned(), "two".to_owned()]));
    let again = start(Some("one")).await.unwrap().tasks.remove(0);
    assert_eq!(again.task_name, "canary-opencode-one-2");
    assert_eq!(again.agent.as_deref(), Some("opencode"));

    // A canary run is started by administrators: a fork of it would be one, too.
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;
    let task = lease.task_id.to_string();
    let request = ForkRun { sequence: 2, ..ForkRun::default() };
    refused(admin.run_fork(&task, &request).await, 400);
}

pub(crate) async fn a_canary_run_that_is_interrupted_fails_and_asks_no_person(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let (lease, job_id) = canaries.running("opencode").await;
    let ending = JobEnding::Interrupted { reason: "the node was restarted".to_owned() };
    let result = JobResult { ending, ..exited_result(0) };
    canaries.anvil.client.node_finish(job_id, &result).await.unwrap();
    let runner = canaries.harness.runner();
    let verdict = runner.verify(lease, job_id).await.unwrap();
    assert_eq!(verdict.status, VerdictStatus::Fail, "{verdict:?}");

    let body = ContinueRun { lease, job_id, continued: 0, wait_ms: 0 };
    let view = json!(runner.client.workflow_call(&body).await.unwrap());

    assert_eq!(view["with"], "give_up", "{view}");
    assert_eq!(canaries.node_views("opencode").await[0].status, CanaryStatus::NotRun);
}

pub(crate) async fn many_jobs_that_wait_for_a_canary_run_do_not_keep_it_from_running(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    // More than one assignment pass lists for a user.
    for number in 0..12 {
        canaries.dispatched(&format!("work-{number}")).await;
    }

    canaries.pass("opencode").await;

    assert_eq!(canaries.anvil.poll(&[]).await.assignments.len(), 4);
}
