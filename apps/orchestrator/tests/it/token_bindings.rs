//! Token bindings: only consistent ids of the token's own user.

use cynode_client::{Client, ClientError};
use cynode_domain::ids::{JobId, ProjectId, RunId, SessionId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_testkit::query;
use cynode_wire::agents::{BindingView, IssueAgentToken, NewAgentTokenView};
use cynode_wire::audit::AuditQuery;
use cynode_wire::projects::CreateProject;
use serde_json::json;

use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;

/// A task that is under way, with everything it is part of.
#[derive(Clone, Copy)]
struct Work {
    project: ProjectId,
    task: TaskId,
    run: RunId,
    job: JobId,
}

impl Work {
    async fn begin(harness: &OrchestratorHarness, owner: &Client, project: &str) -> Self {
        let new = CreateProject {
            display_name: project.to_owned(),
            description: String::new(),
            ..<_>::default()
        };
        let project = owner.project_create(&new).await.unwrap().id;
        let task =
            owner.task_create(&task_request(json!({ "project": project }))).await.unwrap().id;
        let runner = harness.runner();
        let grant = runner.start(task).await.unwrap();
        let run = owner.task_get(&task.to_string()).await.unwrap().run_id.unwrap();
        let job = runner.dispatch(grant.lease, 0).await.unwrap();
        Self { project, task, run, job }
    }

    /// The ids that `wanted` picks; the bits are project, task, run and job.
    fn binding(&self, bound: [bool; 4]) -> BindingView {
        BindingView {
            project_id: bound[0].then_some(self.project),
            task_id: bound[1].then_some(self.task),
            run_id: bound[2].then_some(self.run),
            job_id: bound[3].then_some(self.job),
            session_id: None,
        }
    }
}

async fn issue(client: &Client, binding: BindingView) -> Result<NewAgentTokenView, ClientError> {
    let body = IssueAgentToken {
        agent_type: AgentType::Pm,
        name: "test".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding,
    };
    client.agent_token_issue(&body).await
}

/// Every choice of nothing or one of three pieces of work for each of the four ids.
fn choices() -> impl Iterator<Item = [usize; 4]> {
    (0..4_usize.pow(4)).map(|number| [number % 4, number / 4 % 4, number / 16 % 4, number / 64])
}

pub(crate) async fn a_token_is_bound_only_to_ids_of_its_user_that_belong_together(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let works = [
        Work::begin(&harness, &ada, "Engine").await,
        Work::begin(&harness, &ada, "Wings").await,
        Work::begin(&harness, &eve, "Garden").await,
    ];
    for choice in choices() {
        let of = |index: usize| choice[index].checked_sub(1).map(|work| works[work]);
        let binding = BindingView {
            project_id: of(0).map(|work| work.project),
            task_id: of(1).map(|work| work.task),
            run_id: of(2).map(|work| work.run),
            job_id: of(3).map(|work| work.job),
            session_id: None,
        };
        let mut named: Vec<usize> = choice.into_iter().filter(|pick| *pick > 0).collect();
        named.sort_unstable();
        named.dedup();

        let issued = issue(&ada, binding).await;

        if let [] | [1 | 2] = named[..] {
            // A bound id implies its parents.
            let deepest = (0..4).rev().find(|index| choice[*index] > 0);
            let implied = [0, 1, 2, 3].map(|id| deepest.is_some_and(|deepest| id <= deepest));
            let work = named.first().map_or(works[0], |pick| works[pick - 1]);
            assert_eq!(issued.unwrap().token.binding, work.binding(implied), "{choice:?}");
        } else {
            let problem = refused(issued, 400);
            assert!(problem.detail.contains("_id"), "{choice:?}: {problem:?}");
        }
    }
}

pub(crate) async fn ids_of_others_are_rejected_in_the_words_for_ids_that_do_not_exist(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let theirs = Work::begin(&harness, &eve, "Garden").await;
    let nothing = Work {
        project: ProjectId::generate(),
        task: TaskId::generate(),
        run: RunId::generate(),
        job: JobId::generate(),
    };
    for id in 0..4 {
        let one = std::array::from_fn(|other| other == id);
        let foreign = refused(issue(&ada, theirs.binding(one)).await, 400).detail;
        let unknown = refused(issue(&ada, nothing.binding(one)).await, 400).detail;
        assert_eq!(foreign, unknown);
    }
    // A session of the other user, and the own one.
    let url = &harness.database().url;
    let session = async |handle: &str| -> SessionId {
        let sql = format!(
            "SELECT s.id FROM refresh_sessions s JOIN users u ON u.id = s.user_id
             WHERE u.handle = '{handle}'"
        );
        query(url, &sql).await.concat().concat().parse().unwrap()
    };
    let bound = |id| BindingView { session_id: Some(id), ..BindingView::default() };
    let foreign = refused(issue(&ada, bound(session("eve").await)).await, 400).detail;
    let unknown = refused(issue(&ada, bound(SessionId::generate())).await, 400).detail;
    assert_eq!(foreign, unknown);
    issue(&ada, bound(session("ada").await)).await.unwrap();
}

pub(crate) async fn calls_are_on_record_with_checked_ids_only(harness: OrchestratorHarness) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let own = Work::begin(&harness, &ada, "Engine").await;
    let theirs = Work::begin(&harness, &eve, "Garden").await;
    let by_run = issue(&ada, own.binding([false, false, true, false])).await.unwrap();
    let agent = Mcp::at(&harness.url(), &by_run.secret);

    assert_eq!(agent.call("help.get", json!({})).await["topic"], "overview");

    let calls = harness.admin().call_list(&AuditQuery::default()).await.unwrap().items;
    let (kind, user) = (calls[0].agent_type.as_str(), calls[0].user_id);
    assert_eq!((kind, user), ("pm", Some(by_run.token.user_id)));
    assert_eq!((calls[0].run_id, calls[0].task_id), (Some(own.run), Some(own.task)));
    assert_eq!(calls[0].project_id, Some(own.project));
    // A token with a foreign run, as earlier versions stored it, no longer counts.
    let late = issue(&ada, own.binding([false, true, false, false])).await.unwrap();
    let sql = format!(
        "UPDATE agent_tokens SET run_id = '{}' WHERE id = '{}';",
        theirs.run, late.token.id
    );
    query(&harness.database().url, &sql).await;
    assert!(!Mcp::at(&harness.url(), &late.secret).is_token_accepted().await);
}
