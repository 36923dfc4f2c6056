//! Programs of agent profiles in sandboxes: models, tools, files, stops and restarts.

use std::collections::BTreeMap;
use std::fs;

use cynode_domain::job::{Action, JobEnding};
use cynode_testkit::acp_agent_command;
use cynode_wire::agent_jobs::{AgentJobResult, AgentProgramSpec, PermissionRules, StopCondition};
use cynode_wire::agent_profiles::AgentAssignment;
use cynode_wire::nodes::Assignment;
use cynode_wire::transcript::TranscriptLine;

use crate::agent_answers::AgentAnswers;
use crate::fake_orchestrator::OrchestratorFakeState;
use crate::testbed::NodeTestbed;
use crate::workbench::{command, processes_naming};

/// An agent of tests with these arguments.
pub(crate) fn acp_program(arguments: &[&str]) -> AgentProgramSpec {
    AgentProgramSpec::Acp {
        command: acp_agent_command(arguments),
        env: BTreeMap::new(),
        permissions: PermissionRules::default(),
        mode: None,
        model: None,
    }
}

pub(crate) fn shell_program(script: &str) -> AgentProgramSpec {
    let command = ["/bin/bash", "-c", script].map(str::to_owned).to_vec();
    AgentProgramSpec::Command { command, env: BTreeMap::new() }
}

/// A job of a profile with this program.
pub(crate) fn profile_job(program: AgentProgramSpec) -> Assignment {
    let action =
        Action::Agent { prompt: "write a note".to_owned(), criteria: vec![], model_hint: None };
    let agent = AgentAssignment {
        profile: "bird".parse().unwrap(),
        revision: 1,
        program,
        hosts: vec![],
        is_canary: false,
    };
    Assignment { action, agent: Some(agent), ..command("") }
}

fn stored_result(known: &OrchestratorFakeState) -> AgentJobResult {
    serde_json::from_slice(&known.artifacts["agent-result.json"]).unwrap()
}

async fn stage(answers: AgentAnswers) -> NodeTestbed {
    let stage = NodeTestbed::new().await;
    stage.set_product_agent();
    stage.fake.change(|known| known.agent_answers = answers);
    stage
}

fn model_requests(count: usize) -> impl Fn(&OrchestratorFakeState) -> Option<()> {
    let is_model = |path: &str| path == "/v1/egress/chat/completions";
    move |known| {
        let requests = known.agent_requests.iter().filter(|request| is_model(&request.path));
        (requests.count() >= count).then_some(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_works_with_the_model_the_tools_and_the_files_of_its_job() {
    let stage = stage(AgentAnswers::Scripted).await;
    let _node = stage.spawn_process();
    let job = profile_job(acp_program(&["write=note"]));
    stage.fake.assign(&job);

    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    assert_eq!(
        fs::read_to_string(stage.workspace(&job).join("note")).unwrap(),
        "Heard \"an echo\""
    );
    let lines =
        result.stdout.lines().map(|line| serde_json::from_str::<TranscriptLine>(line).unwrap());
    let kinds: Vec<String> = lines.map(|line| line.kind).collect();
    assert_eq!(kinds, ["agent", "other", "message", "stop"], "{}", result.stdout);
    let known = stage.fake.state();
    let stored = stored_result(&known);
    assert_eq!((stored.stop, &*stored.summary), (StopCondition::GoalMet, "Heard \"an echo\""));
    assert_eq!(stored.changed_files, ["note"]);
    let token =
        |request: &crate::fake_orchestrator::AgentRequest| request.headers["authorization"].clone();
    assert!(known.agent_requests.iter().all(|request| token(request) == "Bearer agent-0"));
    assert!(known.agent_requests.iter().any(|request| request.body.contains("tools/call")));
    assert!(known.canaries.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_has_a_home_outside_of_its_workspace_and_no_proxy_without_hosts() {
    let stage = stage(AgentAnswers::Scripted).await;
    let _node = stage.spawn_process();
    let script = "mkdir -p $HOME/.local/share/x && touch $HOME/.local/share/x/db && echo HOME=$HOME
        env | grep -i proxy; echo prompt: $(grep -c 'write a note')";
    let job = profile_job(shell_program(script));
    stage.fake.assign(&job);

    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    let stored = stored_result(&stage.fake.state());
    assert_eq!(stored.summary.trim(), "HOME=/tmp\nprompt: 1");
    assert_eq!(stored.changed_files, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_program_ends_and_its_job_has_a_result_even_if_it_ignores_every_request() {
    for arguments in [&[][..], &["stubborn"]] {
        let stage = stage(AgentAnswers::SilentModel).await;
        let _node = stage.spawn_process();
        let job = profile_job(acp_program(arguments));
        stage.fake.assign(&job);
        stage.fake.wait_for("a request to the model", model_requests(1)).await;

        stage.fake.change(|known| {
            known.cancel.insert(job.job_id);
        });

        assert_eq!(stage.fake.result_of(job.job_id).await.ending, JobEnding::Canceled);
        let stored = stored_result(&stage.fake.state());
        assert_eq!(stored.stop, StopCondition::GaveUp, "{arguments:?}: {stored:?}");
        let left = processes_naming(&stage.job_dir(job.job_id));
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_works_on_when_its_node_is_killed_and_started_again() {
    let stage = stage(AgentAnswers::Scripted).await;
    let mut first = stage.spawn_process();
    let job = profile_job(acp_program(&["wait=go", "write=note"]));
    stage.fake.assign(&job);
    // It has the answer of its model by then.
    stage.wait_for_file(&job, "waiting").await;

    first.kill();
    fs::write(stage.workspace(&job).join("go"), "").unwrap();
    let _second = stage.spawn_process();

    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    let known = stage.fake.state();
    assert_eq!(stored_result(&known).stop, StopCondition::GoalMet);
    assert_eq!(known.agent_tokens, [job.job_id, job.job_id], "each process asks for its own token");
    assert_eq!(known.results[&job.job_id].len(), 1);
}
