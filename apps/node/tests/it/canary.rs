//! Canary runs: the node tries the program of a profile out, answers it from a script, and reports what it saw.

use std::collections::BTreeMap;

use cynode_domain::job::{JobEnding, Limits};
use cynode_wire::agent_jobs::AgentProgramSpec;
use cynode_wire::agent_profiles::{CanaryCheck, CanaryCheckKind, CanaryOutcome, CanaryReport};
use cynode_wire::nodes::Assignment;

use crate::agent_programs::{acp_program, profile_job, shell_program};
use crate::testbed::NodeTestbed;

use CanaryCheckKind::{Model, NoNetwork, Starts, Stops, Tools};
use CanaryOutcome::{Failed, NotApplicable, Passed};

fn canary_job(program: AgentProgramSpec) -> Assignment {
    let mut job = profile_job(program);
    job.agent.as_mut().unwrap().is_canary = true;
    Assignment { limits: Limits { timeout_s: 60, ..Limits::default() }, ..job }
}

async fn stage() -> NodeTestbed {
    let stage = NodeTestbed::new().await;
    stage.set_product_agent();
    stage
}

/// Runs a canary to its end; returns its report and how its job ended.
async fn run_on(stage: &NodeTestbed, job: &Assignment) -> (CanaryReport, JobEnding) {
    stage.fake.assign(job);
    let ending = stage.fake.result_of(job.job_id).await.ending;
    let known = stage.fake.state();
    let reports: Vec<_> = known.canaries.iter().filter(|(of, _)| *of == job.job_id).collect();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let report = reports[0].1.clone();
    assert!(
        known.agent_tokens.is_empty() && known.agent_requests.is_empty(),
        "requests left the node"
    );
    for check in &report.checks {
        let is_line = check.detail.len() <= 1_000 && !check.detail.contains(char::is_control);
        assert!(is_line && !check.detail.is_empty(), "{check:?}");
    }
    assert_eq!(
        report.is_passed(),
        ending == JobEnding::Exited { code: 0 },
        "{report:?} {ending:?}"
    );
    (report, ending)
}

async fn run(program: AgentProgramSpec) -> CanaryReport {
    let stage = stage().await;
    let _node = stage.spawn_process();
    run_on(&stage, &canary_job(program)).await.0
}

fn outcomes(report: &CanaryReport) -> Vec<(CanaryCheckKind, CanaryOutcome)> {
    report.checks.iter().map(|check| (check.kind, check.outcome)).collect()
}

fn check(report: &CanaryReport, kind: CanaryCheckKind) -> &CanaryCheck {
    report.checks.iter().find(|check| check.kind == kind).unwrap()
}

const ALL_PASSED: [(CanaryCheckKind, CanaryOutcome); 5] =
    [(Starts, Passed), (Model, Passed), (Tools, Passed), (NoNetwork, Passed), (Stops, Passed)];

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_works_passes_with_either_api_and_with_streams() {
    let stage = stage().await;
    let _node = stage.spawn_process();
    for arguments in [&[][..], &["stream"], &["messages"], &["messages", "stream"]] {
        let (report, ending) = run_on(&stage, &canary_job(acp_program(arguments))).await;

        assert_eq!(outcomes(&report), ALL_PASSED, "{arguments:?}: {report:?}");
        assert_eq!(ending, JobEnding::Exited { code: 0 });
        assert_eq!(report.agent.as_deref(), Some("scripted 1.2.3"));
        assert!(check(&report, Stops).detail.contains("session/cancel"), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_of_one_profile_at_once_do_not_see_each_other() {
    let stage = stage().await;
    let _node = stage.spawn_process();
    let (good, bad) = (canary_job(acp_program(&[])), canary_job(acp_program(&["no-tools"])));

    let (first, second) = tokio::join!(run_on(&stage, &good), run_on(&stage, &bad));

    assert_eq!(outcomes(&first.0), ALL_PASSED, "{first:?}");
    assert_eq!(check(&second.0, Tools).outcome, Failed, "{second:?}");
}

/// A program that asks its model once; `$1` is more of it.
fn asking_command(rest: &str) -> AgentProgramSpec {
    let ask = r#"
        prompt=$(tr -d '"\n\\' | cut -c 1-4000)
        body="{\"model\":\"strong\",\"messages\":[{\"role\":\"user\",\"content\":\"$prompt\"}]}"
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %s\r\n\r\n%s' ${#body} "$body" >&3
        cat <&3"#;
    shell_program(&format!("{ask}\n{rest}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_passes_without_tools_even_if_it_does_not_like_the_answer() {
    for rest in ["", "exit 3"] {
        let report = run(asking_command(rest)).await;

        assert_eq!(
            outcomes(&report),
            [
                (Starts, Passed),
                (Model, Passed),
                (Tools, NotApplicable),
                (NoNetwork, Passed),
                (Stops, Passed)
            ],
            "{rest}: {report:?}"
        );
        assert!(check(&report, Stops).detail.contains("SIGTERM"), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_call_its_model_fails() {
    let report = run(acp_program(&["no-model"])).await;

    assert_eq!(
        outcomes(&report),
        [(Starts, Failed), (Model, Failed), (Tools, Failed), (NoNetwork, Passed), (Stops, Failed)]
    );
    assert!(check(&report, Model).detail.contains("OPENAI_BASE_URL"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_hangs_is_stopped_and_fails() {
    let stage = stage().await;
    let _node = stage.spawn_process();
    let limits = Limits { timeout_s: 14, ..Limits::default() };
    let job = Assignment { limits, ..canary_job(acp_program(&["hang"])) };

    let (report, ending) = run_on(&stage, &job).await;

    assert_eq!(check(&report, Model).outcome, Failed);
    assert!(check(&report, Starts).detail.contains("without a request to the model"), "{report:?}");
    assert_eq!(ending, JobEnding::Exited { code: 1 }, "it was not its time limit that ended it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_offer_the_tool_fails() {
    let report = run(acp_program(&["no-tools"])).await;

    assert_eq!(
        outcomes(&report),
        [(Starts, Passed), (Model, Passed), (Tools, Failed), (NoNetwork, Passed), (Stops, Passed)]
    );
    assert!(check(&report, Tools).detail.contains("session/new"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_ignores_every_request_to_stop_fails() {
    let report = run(acp_program(&["stubborn"])).await;

    assert_eq!((check(&report, Model).outcome, check(&report, Stops).outcome), (Passed, Failed));
    let detail = &check(&report, Stops).detail;
    assert!(detail.contains("session/cancel") && detail.contains("SIGTERM"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_leaves_a_process_behind_fails() {
    let report = run(acp_program(&["daemon"])).await;

    assert_eq!((check(&report, Starts).outcome, check(&report, Stops).outcome), (Passed, Failed));
    assert!(check(&report, Stops).detail.contains("sleep"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_do_not_speak_the_protocol_fail_with_what_they_wrote() {
    let stage = stage().await;
    let _node = stage.spawn_process();
    let acp = |script: &str| {
        let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let AgentProgramSpec::Acp { env, permissions, mode, model, .. } = acp_program(&[]) else {
            unreachable!()
        };
        AgentProgramSpec::Acp { command, env, permissions, mode, model }
    };
    let missing = AgentProgramSpec::Command {
        command: vec!["/usr/bin/no-such-program".to_owned()],
        env: BTreeMap::new(),
    };
    let cases = [
        (
            acp(r"printf '\033[31mno key\033[0m\n\n\ttry again\n' >&2; exit 9"),
            "exit code 9; it wrote: no key try again",
        ),
        (acp("yes garbage"), "garbage"),
        (acp(r"head -c 9000000 /dev/zero | tr '\0' x"), "a line of more than"),
        (shell_program("echo wrong flag >&2; exit 2"), "wrong flag"),
        (missing, "cannot be started"),
    ];
    for (program, part) in cases {
        let (report, _) = run_on(&stage, &canary_job(program)).await;

        assert_eq!(
            (check(&report, Starts).outcome, check(&report, Model).outcome),
            (Failed, Failed)
        );
        assert!(check(&report, Starts).detail.contains(part), "{part}: {report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_result_does_not_pass() {
    let report = run(acp_program(&["forge"])).await;

    assert!(report.checks.iter().all(|check| check.outcome == Failed), "{report:?}");
    assert!(!check(&report, NoNetwork).detail.contains("forged"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_too_long_is_refused_and_named() {
    let report = run(acp_program(&["huge"])).await;

    assert_eq!(check(&report, Model).outcome, Failed);
    assert!(check(&report, Model).detail.contains("too long"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_served_is_named() {
    let program = shell_program(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'POST /v1/responses HTTP/1.0\r\n\r\n' >&3; cat <&3",
    );

    let report = run(program).await;

    assert!(check(&report, Model).detail.contains("POST /v1/responses"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_canceled_has_no_report() {
    let stage = stage().await;
    let _node = stage.spawn_process();
    let job = canary_job(shell_program("touch started; sleep 1000"));
    stage.fake.assign(&job);
    stage.wait_for_file(&job, "started").await;

    stage.fake.change(|known| {
        known.cancel.insert(job.job_id);
    });

    assert_eq!(stage.fake.result_of(job.job_id).await.ending, JobEnding::Canceled);
    assert!(stage.fake.state().canaries.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_node_was_stopped_or_whose_files_are_lost_has_no_report() {
    let stage = stage().await;
    let mut node = stage.spawn_process();
    stage.fake.state().broken.insert("agent-result.json".to_owned());
    let limits = Limits { timeout_s: 8, ..Limits::default() };
    // The program is at fault, but its result is not stored.
    let lost = Assignment { limits, ..canary_job(shell_program("exit 2")) };
    stage.fake.assign(&lost);
    let ending = stage.fake.result_of(lost.job_id).await.ending;
    let JobEnding::Interrupted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("agent-result.json could not be stored"), "{reason}");

    stage.fake.change(|known| known.broken.clear());
    let stopped = canary_job(shell_program("touch started; sleep 1000"));
    stage.fake.assign(&stopped);
    stage.wait_for_file(&stopped, "started").await;
    assert!(node.stop());
    let ending = stage.fake.result_of(stopped.job_id).await.ending;
    assert!(matches!(ending, JobEnding::Interrupted { .. }), "{ending:?}");

    let known = stage.fake.state();
    assert!(known.canaries.is_empty(), "{:?}", known.canaries);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_node_was_killed_does_not_pass() {
    let stage = stage().await;
    let mut first = stage.spawn_process();
    // It would pass with a node that lives.
    let job = canary_job(acp_program(&["wait=go"]));
    stage.fake.assign(&job);
    stage.wait_for_file(&job, "waiting").await;

    first.kill();
    std::fs::write(stage.workspace(&job).join("go"), "").unwrap();
    let _second = stage.spawn_process();

    let ending = stage.fake.result_of(job.job_id).await.ending;
    let reason = "the worker node was restarted; run it again".to_owned();
    assert_eq!(ending, JobEnding::Interrupted { reason });
    // A failed report would withdraw an admission.
    assert!(stage.fake.state().canaries.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_a_killed_node_did_not_deliver_is_delivered_as_it_was() {
    let stage = stage().await;
    let mut first = stage.spawn_process();
    let job = canary_job(acp_program(&[]));
    stage.fake.change(|known| {
        known.broken.insert("canary".to_owned());
    });
    stage.fake.assign(&job);
    stage.fake.wait_for("the report fails", |known| (known.failures > 0).then_some(())).await;

    first.kill();
    stage.fake.change(|known| known.broken.clear());
    let _second = stage.spawn_process();

    assert_eq!(stage.fake.result_of(job.job_id).await.ending, JobEnding::Exited { code: 0 });
    let known = stage.fake.state();
    let [(_, report)] = &known.canaries[..] else { panic!("{:?}", known.canaries) };
    assert_eq!(outcomes(report), ALL_PASSED);
}
