//! Parses and validates the document of a job.

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::JobId;
use cynode_wire::agent_jobs::{
    AgentJobDocument, AgentJobSpec, AgentProgramSpec, ExecutionMode, PROTOCOL_VERSION,
};
use serde_json::Value;
use uuid::Uuid;

use crate::program::find_program_faults;

/// A specification that can be executed. Only [`ValidSpec::parse`] creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidSpec(AgentJobDocument);

/// Why a specification is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job specification is invalid: {fault}")]
pub struct InvalidSpec {
    /// The job, if it can be read; the nil id otherwise.
    pub job_id: JobId,
    /// Every fault that was found.
    pub fault: String,
}

impl ValidSpec {
    pub fn parse(document: &[u8]) -> Result<Self, InvalidSpec> {
        // The version decides whether the other fields can be understood.
        let faults = match read_version(document) {
            Some(version) if major(&version) != major(PROTOCOL_VERSION) => vec![format!(
                "protocol_version \"{version}\" is not supported; this agent supports {PROTOCOL_VERSION}"
            )],
            _ => match serde_json::from_slice::<AgentJobDocument>(document) {
                Ok(job) => match find_faults(&job) {
                    faults if faults.is_empty() => return Ok(Self(job)),
                    faults => faults,
                },
                Err(error) => vec![error.to_string()],
            },
        };
        Err(InvalidSpec { job_id: read_job_id(document), fault: faults.join("; ") })
    }

    pub fn get(&self) -> &AgentJobSpec {
        &self.0.spec
    }

    /// The program that carries out the job; `None` for the agent's own loop.
    pub fn program(&self) -> Option<&AgentProgramSpec> {
        self.0.program.as_ref()
    }

    /// Whether the program is only tried out.
    pub fn is_canary(&self) -> bool {
        self.0.is_canary
    }
}

fn find_faults(job: &AgentJobDocument) -> Vec<String> {
    let spec = &job.spec;
    let limits = &spec.constraints;
    let zeroes = [
        ("max_runtime_seconds", limits.max_runtime_seconds),
        ("max_output_bytes", limits.max_output_bytes),
        ("max_steps", limits.max_steps),
    ];
    let mut faults: Vec<String> = zeroes
        .iter()
        .filter(|(_, value)| *value == 0)
        .map(|(name, _)| format!("constraints.{name} must be at least 1"))
        .collect();
    match spec.execution_mode {
        // A program selects its model itself.
        ExecutionMode::AgentInference if job.program.is_some() => {}
        ExecutionMode::AgentInference => {
            let models = spec.inference.as_ref().map(|it| it.allowed_models.as_slice());
            if !models.is_some_and(|it| !it.is_empty() && it.iter().all(|it| !it.trim().is_empty()))
            {
                faults.push("inference.allowed_models must name a model".to_owned());
            }
        }
        ExecutionMode::DirectSteps if job.program.is_some() => {
            faults.push("direct_steps and a program exclude each other".to_owned());
        }
        ExecutionMode::DirectSteps if spec.steps.is_empty() => {
            faults.push("direct_steps needs steps".to_owned());
        }
        ExecutionMode::DirectSteps => {}
    }
    if job.is_canary && job.program.is_none() {
        faults.push("is_canary needs a program".to_owned());
    }
    faults.extend(job.program.iter().flat_map(find_program_faults));
    faults.extend(spec.context.acceptance_criteria.iter().filter_map(Criterion::problem));
    faults
}

fn read_version(document: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(document).ok()?;
    Some(value.get("protocol_version")?.as_str()?.to_owned())
}

fn read_job_id(document: &[u8]) -> JobId {
    let value: Value = serde_json::from_slice(document).unwrap_or_default();
    let id = value.get("job_id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    id.unwrap_or(JobId::from_uuid(Uuid::nil()))
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const JOB: &str = "0193a4b2-0000-7000-8000-000000000001";

    fn document() -> Value {
        json!({
            "protocol_version": "1.7", "job_id": JOB, "task_id": JOB,
            "execution_mode": "agent_inference",
            "constraints": { "max_runtime_seconds": 1, "max_output_bytes": 1, "max_steps": 1 },
            "inference": { "allowed_models": ["m"] },
        })
    }

    fn fault(change: impl Fn(&mut Value)) -> String {
        let mut document = document();
        change(&mut document);
        let invalid = ValidSpec::parse(document.to_string().as_bytes()).unwrap_err();
        assert_eq!(invalid.job_id.to_string(), JOB);
        invalid.fault
    }

    #[test]
    fn every_minor_version_is_accepted() {
        assert!(ValidSpec::parse(document().to_string().as_bytes()).is_ok());
    }

    #[test]
    fn another_major_version_is_rejected_whatever_its_fields_are() {
        let fault = fault(|spec| *spec = json!({ "protocol_version": "2.0", "job_id": JOB }));
        assert!(fault.contains("\"2.0\" is not supported"), "{fault}");
    }

    #[test]
    fn unknown_fields_are_rejected_at_every_level() {
        assert!(fault(|spec| spec["surprise"] = json!(1)).contains("surprise"));
        assert!(fault(|spec| spec["context"] = json!({ "surprise": 1 })).contains("surprise"));
    }

    #[test]
    fn every_fault_is_reported() {
        let fault = fault(|spec| {
            spec["constraints"]["max_steps"] = json!(0);
            spec["constraints"]["max_output_bytes"] = json!(0);
            spec["inference"]["allowed_models"] = json!([]);
            spec["context"]["acceptance_criteria"] =
                json!([{ "kind": "output_matches", "pattern": "(" }]);
        });
        for part in ["max_steps", "max_output_bytes", "allowed_models", "regular expression"] {
            assert!(fault.contains(part), "{part} in {fault}");
        }
    }

    #[test]
    fn direct_steps_need_steps_and_no_model() {
        let mut spec = document();
        spec["execution_mode"] = json!("direct_steps");
        spec["inference"] = Value::Null;
        spec["steps"] = json!([{ "kind": "run_command", "command": "true" }]);
        assert!(ValidSpec::parse(spec.to_string().as_bytes()).is_ok());
        spec["steps"] = json!([]);
        assert!(ValidSpec::parse(spec.to_string().as_bytes()).is_err());
    }

    #[test]
    fn a_program_needs_no_model_and_no_steps() {
        let mut spec = document();
        spec["inference"] = Value::Null;
        spec["program"] = json!({ "kind": "command", "command": ["true"] });
        let valid = ValidSpec::parse(spec.to_string().as_bytes()).unwrap();
        assert!(matches!(valid.program(), Some(AgentProgramSpec::Command { .. })));
        spec["execution_mode"] = json!("direct_steps");
        let invalid = ValidSpec::parse(spec.to_string().as_bytes()).unwrap_err();
        assert!(invalid.fault.contains("exclude each other"), "{invalid}");
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let mut spec = document();
        for program in [Value::Null, json!({ "kind": "acp", "command": ["agent"], "model": "m" })] {
            spec["program"] = program;
            let written: AgentJobDocument = serde_json::from_value(spec.clone()).unwrap();
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<AgentJobDocument>(&text).unwrap(), written);
            assert_eq!(
                ValidSpec::parse(text.as_bytes()).unwrap().program(),
                written.program.as_ref()
            );
        }
    }

    #[test]
    fn only_a_program_can_be_tried_out() {
        let fault = fault(|spec| spec["is_canary"] = json!(true));
        assert!(fault.contains("is_canary needs a program"), "{fault}");
    }

    #[test]
    fn faults_of_a_program_are_reported_with_the_others() {
        let fault = fault(|spec| {
            spec["constraints"]["max_steps"] = json!(0);
            spec["program"] = json!({ "kind": "command", "command": ["x", "{promt}"] });
        });
        assert!(fault.contains("max_steps") && fault.contains("{promt}"), "{fault}");
    }

    #[test]
    fn a_document_that_is_not_json_has_the_nil_id() {
        let invalid = ValidSpec::parse(b"\xff{").unwrap_err();
        assert_eq!(invalid.job_id.as_uuid(), Uuid::nil());
    }
}
