//! The span of an agent's job, for a collector.

use cynode_domain::job::{Action, JobEnding};
use cynode_domain::trace::TraceActor;
use cynode_runtime::telemetry::gen_ai::{AgentAttributes, OperationSpan};
use cynode_wire::nodes::Assignment;

/// Opens the span of a job that an agent does. Other jobs, and jobs without a trace, have none.
pub(super) fn open_job_span(assignment: &Assignment) -> OperationSpan {
    match (&assignment.action, assignment.trace) {
        (Action::Agent { .. }, Some(context)) => {
            let attributes = AgentAttributes {
                trace_id: &context.trace.to_string(),
                agent: TraceActor::SandboxAgent.as_str(),
                conversation: None,
            };
            attributes.open_span()
        }
        (Action::Agent { .. } | Action::Command { .. } | Action::Script { .. }, _) => {
            OperationSpan::disabled()
        }
    }
}

/// The class of a failed ending.
pub(super) fn failure_class(ending: &JobEnding) -> Option<&'static str> {
    match ending {
        JobEnding::Exited { code: 0 } => None,
        JobEnding::Exited { .. } => Some("exited"),
        JobEnding::TimedOut => Some("timed_out"),
        JobEnding::LimitReached { .. } => Some("limit_reached"),
        JobEnding::Canceled => Some("canceled"),
        JobEnding::Interrupted { .. } => Some("interrupted"),
        JobEnding::NotStarted { .. } => Some("not_started"),
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{JobId, RunId, TaskId, TraceId};
    use cynode_runtime::telemetry::gen_ai;
    use cynode_runtime::telemetry::tracing_capture::TracingCapture;
    use serde_json::{Value, json};

    use super::*;

    fn assignment(action: &Value) -> Assignment {
        let mut assignment = json!({
            "job_id": JobId::generate(), "task_id": TaskId::generate(), "run_id": RunId::generate(),
            "action": action, "attachments": [], "trace": { "trace_id": TraceId::generate() },
        });
        assignment["limits"] = serde_json::to_value(cynode_domain::job::Limits::default()).unwrap();
        serde_json::from_value(assignment).unwrap()
    }

    #[test]
    fn the_job_of_an_agent_is_a_span_in_its_trace_and_a_command_is_none() {
        let (capture, _guard) = TracingCapture::start();
        let agent = assignment(&json!({ "kind": "agent", "prompt": "Write to ada" }));
        let command = assignment(&json!({ "kind": "command", "line": "true" }));

        for assignment in [&agent, &command] {
            open_job_span(assignment).finish(failure_class(&JobEnding::TimedOut));
        }

        let [span] = &capture.spans("agent")[..] else { panic!("not one span") };
        assert_eq!(span.field("otel.name"), "invoke_agent sandbox_agent");
        assert_eq!(span.field("trace_id"), agent.trace.unwrap().trace.to_string());
        assert_eq!(span.field(gen_ai::ERROR_TYPE), "timed_out");
        assert!(!format!("{span:?}").contains("ada"), "{span:?}");
    }
}
