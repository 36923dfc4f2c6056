//! Agents of units: who they are, what their messages do to the request, and what instructions do to them.

mod changes;

use std::str::FromStr as _;

use cynode_client::NodeKey;
use cynode_domain::agent::{Activity, InstructionKind, Role};
use cynode_domain::ids::{HolderId, IncarnationId, JobId, MessageId, TaskId};
use cynode_domain::job::{Action, Ending};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::plan::Step;
use cynode_domain::question::{QuestionKind, Reply};
use cynode_domain::request::{QuestionSubject, RequestSettings};
use cynode_domain::status::{ShownTaskStatus, WorkUnitStatus};
use cynode_execution::{JoinCredential, NodeService, WorkflowService};
use cynode_ops::{AgentMessages, MessageError, WorkService};
use cynode_requests::RequestError;
use cynode_resources::agents::{AgentIdentity, AgentTokens};
use cynode_resources::{NodeCaller, Signals};
use cynode_wire::apmas::{Heartbeat, ReportToPm, RequestHelp, SaveAgentCheckpoint};
use cynode_wire::git::REPOSITORIES_FEATURE;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::{
    AGENTS_FEATURE, Capabilities, Incarnation, Poll, RegisterNode, SandboxLevel,
};
use cynode_wire::requests::{InstructUnit, RequestView};
use cynode_wire::work::SubmitWork;
use cynode_wire::workflow::{DispatchStep, StartRun};
use serde_json::{Value, json};

use crate::world::{ChildEnd, RequestFixture, patch};

/// The process of the node that runs the agents.
const PROCESS: &str = "00000000-0000-7000-8000-000000000001";

/// The agent of the job of an attempt, as a node gets it: with the token that it asks for.
struct UnitAgent {
    identity: AgentIdentity,
    messages: AgentMessages,
    work: WorkService,
    nodes: NodeService,
    node: NodeCaller,
    job: JobId,
    task: TaskId,
    role: Role,
}

impl RequestFixture {
    /// Starts the job of the open attempt at a unit on a new node, and takes the token of its agent.
    async fn start_agent(&self, request: TaskId, unit: &str) -> UnitAgent {
        let child = self.child(request, unit).await;
        let parts = || (self.store.clone(), self.clock.clone(), Signals::new(self.store.engine()));
        let (store, clock, signals) = parts();
        let workflow = WorkflowService::new(store, clock, signals);
        let (store, clock, signals) = parts();
        let nodes = NodeService::new(store, clock, signals, 60_000);
        let node = join(&nodes).await;
        poll(&nodes, &node).await;
        let task_id = child.spec.id;
        let start = StartRun {
            task_id,
            holder_id: HolderId::generate(),
            lease_ms: Some(600_000),
            graph_versions: None,
        };
        let lease = workflow.start(&start).await.unwrap().lease;
        let prompt = child.spec.prompt.clone();
        let step = Step::new(Action::Agent { prompt, criteria: vec![], model_hint: None });
        let body = DispatchStep { lease, step_index: 7, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        let assigned = poll(&nodes, &node).await;
        assert!(assigned.contains(&job), "the node runs it: {assigned:?}");
        let secret = nodes.issue_agent_token(&node, job).await.unwrap().secret;
        let (store, clock, signals) = parts();
        let identity = AgentTokens::new(store, clock, signals).authenticate(&secret).await.unwrap();
        let (store, clock, signals) = parts();
        let messages = AgentMessages::new(store.clone(), clock.clone(), signals.clone());
        let role = identity.job_agent.role.clone().unwrap();
        UnitAgent {
            messages,
            work: WorkService::new(store, clock, signals),
            identity,
            nodes,
            node,
            job,
            task: child.spec.id,
            role,
        }
    }

    /// What the agents of a request said, as its history shows it.
    async fn unit_reports(&self, request: TaskId) -> Vec<(String, String)> {
        let filter = cynode_store::EventFilter { owner: None, task: Some(request) };
        let listed = self.store.read(move |tx| {
            Box::pin(async move {
                tx.event_list(cynode_store::EventCursor::default(), filter, 500).await
            })
        });
        let listed: Result<_, cynode_store::Error> = listed.await;
        let text = |data: &Value, name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let events = listed.unwrap().into_iter();
        let reports = events.filter(|event| event.kind == "request.unit_reported");
        reports.map(|event| (text(&event.data, "report"), text(&event.data, "text"))).collect()
    }

    async fn instruct(&self, view: &RequestView, unit: &str, kind: &str, text: &str) {
        let body = instruction(unit, kind, text);
        self.requests.instruct_unit(&self.bob, &view.id.into(), body).await.unwrap();
        self.advance().await;
    }
}

fn instruction(unit: &str, kind: &str, text: &str) -> InstructUnit {
    let instruction: InstructionKind = kind.parse().unwrap();
    InstructUnit { unit: unit.to_owned(), instruction, text: text.to_owned() }
}

async fn join(nodes: &NodeService) -> NodeCaller {
    let sandbox = SandboxLevel {
        supported: true,
        backend: "namespaces".to_owned(),
        features: vec![AGENTS_FEATURE.to_owned(), REPOSITORIES_FEATURE.to_owned()],
        reason: None,
    };
    let capabilities = Capabilities {
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        cpu_cores: 2,
        memory_mib: 4096,
        sandbox,
        max_concurrency: 16,
        version: String::new(),
        labels: cynode_domain::node_labels::NodeLabels::new(),
        images: vec![],
    };
    // The same process of the same node, each time.
    let (id, slug) = (IncarnationId::from_str(PROCESS).unwrap(), "builder".to_owned());
    let proof = NodeKey::from_seed(&[7; 32]).unwrap().prove(&slug, id);
    let incarnation = Incarnation { id, succeeds: vec![], predecessors_ended: false };
    let body = RegisterNode { node_slug: slug.clone(), capabilities, incarnation, proof };
    let node = nodes.register(body, JoinCredential::Shared).await.unwrap();
    NodeCaller { node: node.node_id, slug, incarnation: id }
}

async fn poll(nodes: &NodeService, node: &NodeCaller) -> Vec<JobId> {
    let request = Poll { holding: vec![], free_slots: 16, wait_ms: 0, load: None, settings: None };
    let view = nodes.poll(node, request).await.unwrap();
    view.assignments.into_iter().map(|assigned| assigned.job_id).collect()
}

impl UnitAgent {
    fn report(&self, kind: &str, payload: Value) -> ReportToPm {
        ReportToPm {
            task_id: self.task,
            agent_role: self.role.clone(),
            message_type: kind.to_owned(),
            component: "main".to_owned(),
            payload,
            idempotency_key: None,
        }
    }

    async fn ask(&self, question: &str) -> MessageId {
        let report = self.report("needs_clarification", json!({ "question": question }));
        self.messages.send_report(&self.identity, report).await.unwrap().message_id
    }

    async fn replied(&self) -> Vec<(String, String)> {
        let reply = self.messages.deliver_with_reply(&self.identity).await.unwrap();
        let items = reply.map(|reply| reply.instructions).unwrap_or_default().into_iter();
        items.map(|item| (item.instruction_type, item.instructions)).collect()
    }

    async fn replied_kinds(&self) -> Vec<String> {
        self.replied().await.into_iter().map(|(kind, _)| kind).collect()
    }

    /// Ends its job, as the node does after it has stopped it and collected its changes.
    async fn end_job(&self) {
        let result = JobResult {
            ending: Ending::Canceled,
            stdout: String::new(),
            stderr: String::new(),
            truncated: Truncated::default(),
        };
        self.nodes.finish(&self.node, self.job, result).await.unwrap();
    }

    async fn beat(&self, progress: &str) {
        let beat = Heartbeat {
            task_id: self.task,
            agent_role: None,
            status: Activity::Working,
            progress: Some(progress.to_owned()),
            estimated_context_usage: None,
            acknowledge: vec![],
        };
        self.messages.record_heartbeat(&self.identity, beat).await.unwrap();
    }

    async fn checkpoint(&self, summary: &str) {
        let body = SaveAgentCheckpoint {
            task_id: self.task,
            agent_role: self.role.clone(),
            summary: summary.to_owned(),
            completed_items: vec!["the markup".to_owned()],
            pending_items: vec!["the script".to_owned()],
            active_files: vec!["a.js".to_owned()],
            notes: Some("store the choice".to_owned()),
        };
        self.messages.checkpoint(&self.identity, body).await.unwrap();
    }

    fn submission(&self, unit: &str) -> SubmitWork {
        SubmitWork {
            task_id: self.task,
            agent_role: self.role.clone(),
            work_unit_id: unit.to_owned(),
            artifact_path: "a.rs".to_owned(),
            summary: "all of it".to_owned(),
            metadata: None,
        }
    }
}

async fn until_implementation(world: &RequestFixture) -> RequestView {
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    view
}

#[tokio::test]
async fn the_token_of_an_attempt_binds_its_unit_and_the_role_of_its_kind() {
    for (scope, unit, role) in
        [("large", "spec:main", "architect"), ("small", "impl:main", "developer")]
    {
        for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
            world.plan(scope, &[("main", &[])]);
            let view = until_implementation(&world).await;

            let agent = world.start_agent(view.id, unit).await;

            let bound = &agent.identity.job_agent;
            assert_eq!(bound.role.as_ref().map(Role::as_str), Some(role), "{unit}");
            assert_eq!(bound.work_unit.as_deref(), Some(unit));
            let foreign = agent.work.submit_unit(&agent.identity, agent.submission("impl:other"));
            assert!(foreign.await.is_err(), "{unit}: a foreign unit");
        }
    }
}

#[tokio::test]
async fn what_an_agent_reports_is_shown_and_completes_nothing() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        agent.beat("half of it").await;
        agent.checkpoint("markup done").await;
        agent.checkpoint("markup done").await;
        let done =
            agent.report("work_completed", json!({ "summary": "done", "workUnitId": "impl:main" }));
        let said = agent.messages.send_report(&agent.identity, done.clone()).await.unwrap();
        let again = agent.messages.send_report(&agent.identity, done).await.unwrap();
        let submitted = agent.work.submit_unit(&agent.identity, agent.submission("impl:main"));
        let submitted = submitted.await.unwrap();

        assert!(said.note.unwrap().contains("completes nothing"), "the gate decides");
        assert!(submitted.note.is_some() && !submitted.repeated);
        assert_eq!((again.message_id, again.repeated), (said.message_id, true));
        world.advance().await;
        let shown = world.get(&view).await;
        let unit = &shown.units[0];
        assert_eq!(unit.status, WorkUnitStatus::InProgress, "a message approves nothing");
        assert_eq!(unit.attempts[0].progress.as_deref(), Some("half of it"));
        assert_eq!(unit.attempts[0].checkpoint.as_deref(), Some("1/2 (50%): markup done"));
        // PostgreSQL shows an event once no older transaction of its server is open, and tests share a server.
        let mut reports = world.unit_reports(view.id).await;
        while reports.len() < 3 {
            tokio::task::yield_now().await;
            reports = world.unit_reports(view.id).await;
        }
        let kinds: Vec<_> = reports.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["checkpoint", "work_completed", "submitted"], "each once");
        assert!(world.get(&view).await.question.is_none());
    }
}

#[tokio::test]
async fn a_verdict_counts_only_from_the_role_that_has_the_unit() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    let tests = json!({ "total": 1, "passed": 1, "failed": 0, "failures": [] });
    let approval = json!({ "verdict": "approved", "summary": "fine" });

    for report in [agent.report("review_approved", approval), agent.report("tests_passed", tests)] {
        let refused = agent.messages.send_report(&agent.identity, report).await.unwrap_err();
        assert!(refused.to_string().contains("belongs to the role"), "{refused}");
    }
    assert_eq!(world.unit_reports(view.id).await, [], "what is refused is not recorded");
}

#[tokio::test]
async fn a_question_of_an_agent_is_a_question_of_the_request_and_the_answer_reaches_the_agent() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        let id = agent.ask("Which colour?").await;
        assert_eq!(agent.ask("Which colour?").await, id, "repeated");
        let second = agent.ask("Which font?").await;

        let asked = world.get(&view).await.question.unwrap();
        let unit = "impl:main".to_owned();
        assert_eq!(asked.subject, QuestionSubject::AgentMessage { unit, message_id: id });
        assert_eq!(asked.question.kind, QuestionKind::Clarification);
        assert!(asked.question.text.contains("Which colour?"), "{}", asked.question.text);
        let waiting =
            agent.messages.waiting(&world.bob, serde_json::from_value(json!({})).unwrap());
        let waiting: Vec<_> =
            waiting.await.unwrap().items.into_iter().map(|item| item.message.id).collect();
        assert_eq!(waiting, [second], "one question at a time: the other one waits as a message");

        world.answer(&view, Reply::Text { text: "Dark blue".to_owned() }).await;
        assert!(world.get(&view).await.question.is_none());
        assert_eq!(agent.replied().await, [("continue".to_owned(), "Dark blue".to_owned())]);
        world.end(view.id, "impl:main", ChildEnd::Failed("lost".to_owned())).await;
        let next = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(next.contains("Dark blue"), "the next attempt knows it too: {next}");
    }
}

#[tokio::test]
async fn only_a_person_answers_an_agent_that_needs_one() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    let help = json!({ "task_id": agent.task, "agentRole": agent.role, "helpType": "human",
        "issue": "May I delete it?" });
    let help: RequestHelp = serde_json::from_value(help).unwrap();

    let said = agent.messages.request_help(&agent.identity, help).await.unwrap();

    assert_eq!(said.agent_status, "escalated");
    let asked = world.get(&view).await.question.unwrap();
    assert_eq!(asked.question.kind, QuestionKind::Approval);
    let body = cynode_wire::requests::AnswerRequest {
        reply: Reply::Text { text: "Yes, do".to_owned() },
        comment: None,
    };
    let actor = cynode_resources::ActorKind::Agent;
    let refused = world.requests.answer_as(&world.bob, &view.id.into(), body, actor).await;
    assert!(matches!(refused, Err(RequestError::PeopleOnly)), "{refused:?}");
    world.answer(&view, Reply::Text { text: "No, keep it".to_owned() }).await;
    assert_eq!(agent.replied().await, [("continue".to_owned(), "No, keep it".to_owned())]);
}

#[tokio::test]
async fn messages_after_the_end_of_an_attempt_change_nothing() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    world.end(view.id, "impl:main", patch("a.rs")).await;

    let late = agent.report("needs_clarification", json!({ "question": "And now?" }));
    let refused = agent.messages.send_report(&agent.identity, late).await;

    assert!(matches!(refused, Err(MessageError::Task(_))), "{refused:?}");
    assert!(world.get(&view).await.question.is_none());
    assert_eq!(world.unit_reports(view.id).await, []);
}

#[tokio::test]
async fn the_next_attempt_gets_the_newest_checkpoint_of_the_one_that_failed() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;
        agent.checkpoint("nothing yet").await;
        agent.checkpoint("markup done").await;
        world.end(view.id, "impl:main", ChildEnd::Failed("out of memory".to_owned())).await;

        let second = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(second.contains("markup done\n[x] the markup\n[ ] the script"), "{second}");
        assert!(!second.contains("nothing yet"), "only the newest");
        // It fails before it saves one: the older one still tells what is done.
        world.end(view.id, "impl:main", ChildEnd::Failed("again".to_owned())).await;
        let third = world.child(view.id, "impl:main").await.spec.prompt;
        assert!(third.contains("[ ] the script") && third.contains("Reduce the scope"), "{third}");
        world.end(view.id, "impl:main", patch("a.rs")).await;
        let reviewing = world.child(view.id, "review:main").await.spec.prompt;
        assert!(!reviewing.contains("[ ] the script"), "another unit: {reviewing}");
    }
}

#[tokio::test]
async fn an_instruction_reaches_the_agent_of_a_unit_with_its_next_reply() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    // Its job has not started: it gets the instruction when it has.
    world.instruct(&view, "impl:main", "revise", "Use tabs").await;
    let agent = world.start_agent(view.id, "impl:main").await;
    assert_eq!(agent.replied().await, [("revise".to_owned(), "Use tabs".to_owned())]);

    world.instruct(&view, "impl:main", "pause", "Wait").await;
    assert_eq!(agent.replied().await, [("pause".to_owned(), "Wait".to_owned())]);
    world.instruct(&view, "impl:main", "continue", "Go on").await;
    assert_eq!(agent.replied().await, [("continue".to_owned(), "Go on".to_owned())]);

    let eve = cynode_resources::Caller::on_behalf_of(
        cynode_domain::ids::UserId::generate(),
        "eve".to_owned(),
        false,
    );
    let foreign = instruction("impl:main", "abort", "Stop");
    let refused = world.requests.instruct_unit(&eve, &view.id.into(), foreign).await;
    assert!(matches!(refused, Err(RequestError::NotFound(_))), "{refused:?}");
    let early = instruction("review:main", "pause", "Wait");
    let refused = world.requests.instruct_unit(&world.bob, &view.id.into(), early).await;
    assert!(matches!(refused, Err(RequestError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn an_abort_ends_the_attempt_and_the_unit_goes_on_as_after_a_failure() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let mut before = vec![];
        for _ in 0..3 {
            let agent = world.start_agent(view.id, "impl:main").await;
            assert!(!before.contains(&agent.task), "another attempt");
            before.push(agent.task);
            world.instruct(&view, "impl:main", "abort", "It goes astray").await;
            let ended = world.tasks.get(&world.bob, &agent.task.into()).await.unwrap();
            assert_eq!(ended.status, ShownTaskStatus::Failed);
            agent.end_job().await;
            world.wake(view.id).await;
        }
        let asked = world.get(&view).await.question.unwrap();
        assert_eq!(asked.subject, QuestionSubject::UnitFailed { unit: "impl:main".to_owned() });
        assert!(asked.question.about[0].contains("It goes astray"), "{:?}", asked.question.about);
    }
}

#[tokio::test]
async fn a_change_of_scope_replaces_the_attempt_by_one_with_the_changed_task() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        world.instruct(&view, "impl:main", "reduce_scope", "Leave out the animation").await;
        agent.end_job().await;
        world.wake(view.id).await;

        let next = world.child(view.id, "impl:main").await;
        assert_ne!(next.spec.id, agent.task);
        assert!(
            next.spec.prompt.contains("Do less: Leave out the animation"),
            "{}",
            next.spec.prompt
        );
        // No agent has started on it yet, and its scope changes again.
        world.instruct(&view, "impl:main", "expand_scope", "Add a keyboard shortcut").await;
        let newest = world.child(view.id, "impl:main").await;
        let prompt = &newest.spec.prompt;
        assert!(
            prompt.contains("Do less: Leave out") && prompt.contains("Do also: Add a key"),
            "{prompt}"
        );
        // The scope of a unit that waits changes before its first attempt.
        world.instruct(&view, "review:main", "reduce_scope", "Look at the script only").await;
        world.end(view.id, "impl:main", patch("a.rs")).await;
        let reviewing = world.child(view.id, "review:main").await.spec.prompt;
        assert!(reviewing.contains("Do less: Look at the script only"), "{reviewing}");
        let shown = world.get(&view).await;
        assert_eq!(shown.units[0].attempts.len(), 3, "none of them counts as a failure");
        assert!(shown.question.is_none());
        let late = instruction("impl:main", "expand_scope", "More");
        let refused = world.requests.instruct_unit(&world.bob, &view.id.into(), late).await;
        assert!(matches!(refused, Err(RequestError::Invalid(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn agents_are_paused_with_their_request_and_a_repetition_reaches_those_in_another_state() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;
        let id: NameOrId<TaskId> = view.id.into();
        let (requests, bob) = (&world.requests, &world.bob);

        requests.pause(bob, &id).await.unwrap();
        requests.resume(bob, &id).await.unwrap();
        requests.pause(bob, &id).await.unwrap();
        requests.pause(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, ["pause", "continue", "pause"], "each change once");
        requests.pause(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, Vec::<String>::new(), "it waits already");

        // The flags are cleared, but the agents were not instructed.
        let (request, child) = (view.id, agent.task);
        let cleared = world.store.write(move |tx| {
            Box::pin(async move {
                tx.task_resume(child).await?;
                tx.task_resume(request).await
            })
        });
        let cleared: Result<bool, cynode_store::Error> = cleared.await;
        assert!(cleared.unwrap());
        requests.resume(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, ["continue"]);
        requests.resume(bob, &id).await.unwrap();
        assert_eq!(agent.replied_kinds().await, Vec::<String>::new(), "it goes on already");
    }
}

#[tokio::test]
async fn a_review_judges_the_scope_that_the_implementation_was_given() {
    let report = json!({
        "verdict": "approved", "summary": "read",
        "criteria": [{
            "number": 1, "isMet": false, "isOutOfScope": true, "evidence": "Do less: Leave out the toggle",
        }],
    });
    for (is_reduced, expected) in
        [(true, WorkUnitStatus::Completed), (false, WorkUnitStatus::InProgress)]
    {
        let world = RequestFixture::sqlite().await;
        let view = until_implementation(&world).await;
        if is_reduced {
            world.instruct(&view, "impl:main", "reduce_scope", "Leave out the toggle").await;
        }
        world.end(view.id, "impl:main", patch("a.rs")).await;

        let prompt = world.child(view.id, "review:main").await.spec.prompt;
        assert_eq!(prompt.contains("- Do less: Leave out the toggle"), is_reduced, "{prompt}");
        world.end(view.id, "review:main", ChildEnd::File("review.json", report.to_string())).await;

        let shown = world.get(&view).await;
        let unit = shown.units.iter().find(|unit| unit.id == "review:main").unwrap();
        assert_eq!(unit.status, expected, "{shown:#?}");
        let is_noted =
            shown.notes.iter().any(|note| note.contains("requirement 1 is out of scope"));
        assert_eq!(is_noted, is_reduced, "{:?}", shown.notes);
    }
}
