//! What agents record of their work: the node passes it on, whatever it is worth.

use cynode_domain::ids::{ProfileId, TraceId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::trace::{TraceContext, TraceEventKind, TraceField, TraceStop};
use cynode_wire::nodes::Assignment;

use crate::agent_programs::{profile_job, shell_program};
use crate::testbed::NodeTestbed;
use crate::workbench::command;

fn agent_job() -> Assignment {
    let action =
        Action::Agent { prompt: "count to three".to_owned(), criteria: vec![], model_hint: None };
    Assignment { action, ..command("") }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_an_agent_arrive_before_its_result_under_the_trace_of_its_job() {
    let stage = NodeTestbed::new().await;
    stage.set_product_agent();
    let _node = stage.spawn_process();
    let context = TraceContext { trace: TraceId::generate(), profile: Some(ProfileId::generate()) };
    let job = Assignment { trace: Some(context), ..profile_job(shell_program("echo hi; exit 3")) };
    stage.fake.assign(&job);

    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 1 }, "{result:?}");
    let known = stage.fake.state();
    // The fake rejects a trace that comes after the result.
    let [(of, events)] = &known.traces[..] else { panic!("{:?}", known.traces) };
    assert_eq!(*of, job.job_id);
    for event in events.events() {
        assert_eq!((event.trace, event.profile), (context.trace, context.profile));
    }
    let entries: Vec<_> = events.events().iter().map(|event| &event.entry).collect();
    let kinds: Vec<_> = entries.iter().map(|it| (it.kind, it.step_index, it.stop)).collect();
    assert_eq!(
        kinds,
        [
            (TraceEventKind::ExecutionStarted, None, None),
            (TraceEventKind::StepFinished, Some(0), None),
            (TraceEventKind::ExecutionStopped, None, Some(TraceStop::StepFailed)),
        ]
    );
    let fields = [
        (TraceField::Tool, "command".into()),
        (TraceField::Outcome, "error".into()),
        (TraceField::ExitCode, 3_i32.into()),
    ];
    for (field, value) in fields {
        assert_eq!(entries[1].fields.get(field), Some(&value), "{entries:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_or_rejected_trace_does_not_change_the_result_of_a_job() {
    let stage = NodeTestbed::new().await;
    let file = "/job/artifacts/agent-result.json";
    let valid = r#"{"trace":{"events":[{"trace_id":"0193a4b2-0000-7000-8000-000000000001","actor":"worker","at":"2026-01-01T00:00:00Z","kind":"step_started"}]}}"#;
    let scripts = [
        "true".to_owned(),
        format!("echo '{{' > {file}"),
        format!("ln -s /etc/passwd {file}"),
        format!("mkfifo {file}"),
        format!("mkdir {file}"),
        format!("head -c 9000000 /dev/zero > {file}"),
        format!("echo '{{\"trace\": 7}}' > {file}"),
        // Valid, but of an orchestrator that has no such route.
        format!("echo '{valid}' > {file}"),
    ];
    stage.fake.change(|known| {
        known.broken.insert("trace".to_owned());
    });
    stage.set_agent("true");
    let _node = stage.spawn_process();
    for script in scripts {
        stage.set_agent(&script);
        let job = agent_job();
        stage.fake.assign(&job);

        let result = stage.fake.result_of(job.job_id).await;

        assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{script}: {result:?}");
    }
    let known = stage.fake.state();
    assert_eq!(known.traces, []);
    // The list of one unreadable event, and the valid one, were offered.
    assert_eq!(known.failures, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_writes_the_result_of_an_agent_records_nothing() {
    let stage = NodeTestbed::new().await;
    let _node = stage.spawn_process();
    let forged = r#"{"trace":{"events":[{"trace_id":"0193a4b2-0000-7000-8000-000000000001","actor":"worker","at":"2026-01-01T00:00:00Z","kind":"step_started"}]}}"#;
    let job = command(&format!("echo '{forged}' > $CYNODE_ARTIFACTS_DIR/agent-result.json"));
    stage.fake.assign(&job);

    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    let known = stage.fake.state();
    assert!(known.artifacts.contains_key("agent-result.json"), "{:?}", known.artifacts.keys());
    assert_eq!(known.traces, []);
}
