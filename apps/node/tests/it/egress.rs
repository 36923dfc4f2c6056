//! The way out of an agent's sandbox: models and tools, and nothing else.

use cynode_domain::job::{Action, JobEnding};
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::Assignment;

use crate::fake_orchestrator::received_log;
use crate::testbed::NodeTestbed;
use crate::workbench::{command, eventually};

fn agent_job() -> Assignment {
    let action =
        Action::Agent { prompt: "count to three".to_owned(), criteria: vec![], model_hint: None };
    Assignment { action, ..command("") }
}

/// Runs `script` as the agent of a job; returns what it printed.
async fn run_agent(stage: &NodeTestbed, script: &str) -> String {
    stage.set_agent(script);
    let _node = stage.spawn_process();
    let job = agent_job();
    stage.fake.assign(&job);
    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    result.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_reaches_models_and_tools_with_the_token_of_its_job_which_it_never_sees() {
    let stage = NodeTestbed::new().await;

    let printed = run_agent(
        &stage,
        r#"
request POST /v1/chat/completions 'Authorization: Bearer stolen\r\nX-Api-Key: mine\r\nContent-Length: 2\r\n'"\r\n{}"
request POST /mcp 'Mcp-Session-Id: 7\r\nX-Cynode-Incarnation: me\r\n'
request POST '/v1/messages?beta=true' 'X-Api-Key: mine\r\n'
grep -rl agent-[0-9] /proc/[0-9]*/environ /job /workspace /tmp 2>/dev/null
env | grep -E '^(OPENAI_BASE_URL|CYNODE_MCP_URL)=' | sort"#,
    )
    .await;

    assert_eq!(
        printed,
        "200 answer 1\n200 answer 2\n200 answer 3\nCYNODE_MCP_URL=http://127.0.0.1:3128/mcp\n\
         OPENAI_BASE_URL=http://127.0.0.1:3128/v1\n"
    );
    let known = stage.fake.state();
    let [model, tools, messages] = &known.agent_requests[..] else {
        panic!("{:?}", known.agent_requests)
    };
    assert_eq!((model.path.as_str(), tools.path.as_str()), ("/v1/egress/chat/completions", "/mcp"));
    assert_eq!(messages.path, "/v1/egress/messages");
    assert_eq!(model.body, "{}");
    for request in [model, tools, messages] {
        assert_eq!(request.headers["authorization"], "Bearer agent-0");
        assert!(!request.headers.contains_key("x-api-key"), "{request:?}");
        assert!(!request.headers.contains_key("x-cynode-incarnation"), "{request:?}");
    }
    assert_eq!(tools.headers["mcp-session-id"], "7");
    assert_eq!(known.agent_tokens.len(), 1, "one token serves all requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_models_and_tools_is_reachable() {
    let stage = NodeTestbed::new().await;
    let orchestrator = stage.address;
    let script = format!(
        r"
for target in / /v1/tasks /v1/node/poll /mcp/other /v1/egress/chat/completions //mcp; do
    request POST $target | cut -c 1-3
done
request GET http://{orchestrator}/v1/tasks | cut -c 1-3
request GET http://169.254.169.254/ | cut -c 1-3
request CONNECT {orchestrator} | cut -c 1-3
request CONNECT example.com:443 | cut -c 1-3
(exec 3<>/dev/tcp/{}/{}) 2>/dev/null || echo no network",
        orchestrator.ip(),
        orchestrator.port(),
    );

    let printed = run_agent(&stage, &script).await;

    let statuses: Vec<&str> = printed.lines().collect();
    assert_eq!(statuses[..6], ["404"; 6]);
    // The host of the proxy's own address does not match, and no host is allowed.
    assert!(statuses[6..10].iter().all(|status| ["400", "403"].contains(status)), "{statuses:?}");
    assert_eq!(statuses[10..], ["no network"]);
    let known = stage.fake.state();
    assert_eq!((known.agent_requests.len(), known.agent_tokens.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_no_way_out_even_if_the_node_has_an_agent() {
    let stage = NodeTestbed::new().await;
    stage.set_agent("true");
    let _node = stage.spawn_process();
    let job = command(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128' 2>/dev/null || echo refused; env | grep -c BASE_URL",
    );
    stage.fake.assign(&job);

    assert_eq!(stage.fake.result_of(job.job_id).await.stdout, "refused\n0\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_an_agent_starts_no_agent_and_says_so() {
    let stage = NodeTestbed::new().await;
    let _node = stage.spawn_process();
    let job = agent_job();
    stage.fake.assign(&job);

    let ending = stage.fake.result_of(job.job_id).await.ending;

    let JobEnding::NotStarted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("this node has no agent"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_works_on_when_its_node_is_killed_and_started_again() {
    let stage = NodeTestbed::new().await;
    stage.set_agent(
        "request POST /mcp; touch answered; while [ ! -e go ]; do sleep 0.02; done; request POST /mcp",
    );
    let mut first = stage.spawn_process();
    let job = agent_job();
    stage.fake.assign(&job);
    let requests = |count: usize| {
        move |known: &crate::fake_orchestrator::OrchestratorFakeState| {
            (known.agent_requests.len() >= count).then_some(())
        }
    };
    stage.fake.wait_for("the first request", requests(1)).await;
    let answered = stage.workspace(&job).join("answered");
    eventually("the first answer", || answered.exists().then_some(()));

    first.kill();
    std::fs::write(stage.workspace(&job).join("go"), "").unwrap();
    let _second = stage.spawn_process();

    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!(
        (result.ending, &*result.stdout),
        (JobEnding::Exited { code: 0 }, "200 answer 1\n200 answer 2\n")
    );
    let known = stage.fake.state();
    assert_eq!(known.agent_tokens, [job.job_id, job.job_id], "each process asks for its own token");
    assert_eq!(known.agent_requests[1].headers["authorization"], "Bearer agent-1");
    assert_eq!(received_log(&known, job.job_id, Stream::Stdout), result.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_token_is_replaced_and_an_absent_orchestrator_is_reported() {
    let mut stage = NodeTestbed::new().await;
    stage.set_agent(
        "request POST /mcp; touch one; while [ ! -e two ]; do sleep 0.02; done; request POST /mcp
         touch three; while [ ! -e four ]; do sleep 0.02; done; request POST /mcp",
    );
    let _node = stage.spawn_process();
    let job = agent_job();
    stage.fake.assign(&job);
    let workspace = stage.workspace(&job);
    let wait_for_file = async |name: &str| {
        while !workspace.join(name).exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };

    wait_for_file("one").await;
    stage.fake.change(|known| known.agent_tokens_from = 1);
    std::fs::write(workspace.join("two"), "").unwrap();
    wait_for_file("three").await;
    stage.served.take().unwrap().shut_down();
    std::fs::write(workspace.join("four"), "").unwrap();
    // The job ends while the orchestrator is away.
    crate::workbench::eventually("the agent ends", || {
        std::fs::read(stage.job_dir(job.job_id).join("outcome.json")).ok()
    });
    let (_, served) = stage.fake.serve(stage.address).await;
    stage.served = Some(served);

    let printed = stage.fake.result_of(job.job_id).await.stdout;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..2], ["200 answer 1", "200 answer 2"]);
    assert!(lines[2].starts_with("503") && lines[2].contains("cannot be reached"), "{printed}");
    assert_eq!(stage.fake.state().agent_tokens.len(), 2);
}
