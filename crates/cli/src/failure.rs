//! Command failures: exit code, message and advice.

use std::io;

use cynode_client::{ClientError, UnreachableReason};
use cynode_wire::problem::Problem;

use crate::resolved_settings::GatewayOrigin;

const NOT_COMPLETED: u8 = 1;
const USAGE: u8 = 2;
const UNAUTHORIZED: u8 = 3;
const NOT_FOUND: u8 = 4;
const CONFLICT: u8 = 5;
const INVALID: u8 = 6;
const NETWORK: u8 = 7;
pub const INTERNAL: u8 = 8;
const UNVERIFIED: u8 = 9;
/// Exit code that shells report for a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliFailure {
    /// The command line or the configuration file is invalid.
    #[error("{0}")]
    Usage(String),
    /// The input is invalid; detected before anything is sent.
    #[error("{0}")]
    Invalid(String),
    /// A local conflict, such as an existing file.
    #[error("{0}")]
    Conflict(String),
    /// Something named on the command line does not exist.
    #[error("{0}")]
    NotFound(String),
    /// There is no token to present.
    #[error("you are not signed in to {url}")]
    SignedOut { url: String },
    /// The stored session has expired.
    #[error("your session at {url} has expired")]
    SessionExpired { url: String },
    /// The gateway rejected the request.
    #[error("{}", .0.detail)]
    Rejected(Box<Problem>),
    /// The host is reachable, but nothing listens on the port.
    #[error("CyNode is not running at {url} (connection refused)")]
    NotRunning { url: String, origin: GatewayOrigin },
    /// The host does not exist, or the server is not a CyNode gateway.
    #[error("{url} is not the address of a CyNode gateway: {cause}")]
    WrongAddress { url: String, cause: String, origin: GatewayOrigin },
    /// No response, for another reason.
    #[error("{url} does not answer ({cause})")]
    Unreachable {
        url: String,
        /// The innermost error.
        cause: String,
    },
    /// The task closed without completing; already printed.
    #[error("the task did not complete")]
    NotCompleted,
    /// The task completed, but an acceptance criterion was not judged; already printed.
    #[error("the task completed unverified")]
    Unverified,
    /// Ctrl-C while waiting for a task.
    #[error("stopped waiting; task {task} is still running")]
    WaitInterrupted { task: String },
    /// Ctrl-C during an answer.
    #[error("stopped")]
    AnswerInterrupted,
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A bug or an incompatible server.
    #[error("{0}")]
    Internal(String),
}

impl CliFailure {
    /// Converts a client error of the gateway at `url`.
    pub fn from_client_error(error: ClientError, url: &str, origin: GatewayOrigin) -> Self {
        let reason = error.unreachable_reason();
        let url = url.to_owned();
        match error {
            // A CyNode gateway sends a problem document with every error.
            ClientError::Refused(problem)
                if problem.kind == "about:blank"
                    && matches!(problem.status, 300..=399 | 404 | 405 | 410) =>
            {
                let cause = format!("HTTP {} without a problem document", problem.status);
                Self::WrongAddress { url, cause, origin }
            }
            ClientError::Refused(problem) => Self::Rejected(problem),
            ClientError::Unreachable { cause, .. } => match reason {
                Some(UnreachableReason::NotListening) => Self::NotRunning { url, origin },
                Some(UnreachableReason::NoSuchHost) => {
                    Self::WrongAddress { url, cause: innermost_cause(&*cause), origin }
                }
                Some(UnreachableReason::Other) | None => {
                    Self::Unreachable { url, cause: innermost_cause(&*cause) }
                }
            },
            ClientError::NotAnOrchestrator { reason, .. } => {
                Self::WrongAddress { url, cause: reason, origin }
            }
            error @ ClientError::InvalidResponse { .. } => Self::Internal(error.to_string()),
            error @ ClientError::InvalidAddress { .. } => Self::Usage(error.to_string()),
        }
    }

    pub fn code(&self) -> u8 {
        match self {
            Self::NotCompleted => NOT_COMPLETED,
            Self::Unverified => UNVERIFIED,
            Self::Usage(_) => USAGE,
            Self::SignedOut { .. } | Self::SessionExpired { .. } => UNAUTHORIZED,
            Self::NotFound(_) => NOT_FOUND,
            Self::Conflict(_) => CONFLICT,
            Self::Invalid(_) => INVALID,
            Self::NotRunning { .. } | Self::WrongAddress { .. } | Self::Unreachable { .. } => {
                NETWORK
            }
            Self::Rejected(problem) => code_of_status(problem.status),
            Self::WaitInterrupted { .. } | Self::AnswerInterrupted => INTERRUPTED,
            Self::Output(_) | Self::Internal(_) => INTERNAL,
        }
    }

    /// The next step, if there is one.
    pub fn advice(&self) -> Option<String> {
        match self {
            Self::SignedOut { .. } => Some(
                "sign in with `cynork auth login`, set CYNORK_TOKEN, or start a local `cynode up`"
                    .to_owned(),
            ),
            Self::SessionExpired { .. } => {
                Some("sign in again with `cynork auth login`".to_owned())
            }
            Self::NotRunning { origin, .. } => Some(match origin.setting_name() {
                None => "start it with `cynode up`".to_owned(),
                Some(setting) => format!(
                    "start it there (on this machine: `cynode up`); the address comes from {setting}"
                ),
            }),
            Self::WrongAddress { origin, .. } => Some(format!(
                "check the address: it comes from {}",
                origin.setting_name().unwrap_or("the built-in default")
            )),
            Self::Unreachable { .. } => {
                Some("try again, or check the network and CYNORK_GATEWAY_URL".to_owned())
            }
            Self::WaitInterrupted { task } => Some(format!(
                "follow it with `cynork task watch {task}`, stop it with `cynork task cancel {task}`"
            )),
            Self::Rejected(problem) => advice_for_problem(problem),
            Self::Usage(_)
            | Self::Invalid(_)
            | Self::Conflict(_)
            | Self::NotFound(_)
            | Self::NotCompleted
            | Self::Unverified
            | Self::AnswerInterrupted
            | Self::Output(_)
            | Self::Internal(_) => None,
        }
    }

    /// All errors, if the gateway listed several; a single one is the message itself.
    pub fn details(&self) -> &[String] {
        let Self::Rejected(problem) = self else { return &[] };
        if problem.errors.len() > 1 { &problem.errors } else { &[] }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        if let Self::Rejected(problem) = self {
            return !is_quota_exhausted(problem)
                && (problem.status == 429 || problem.status >= 500);
        }
        matches!(self, Self::Unreachable { .. } | Self::NotRunning { .. })
    }

    /// Whether the reader of standard output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn code_of_status(status: u16) -> u8 {
    match status {
        401 | 403 => UNAUTHORIZED,
        404 | 410 => NOT_FOUND,
        409 | 412 => CONFLICT,
        408 | 429 | 500.. => NETWORK,
        _ => INVALID,
    }
}

fn advice_for_problem(problem: &Problem) -> Option<String> {
    match problem.status {
        401 => Some("sign in with `cynork auth login`, or check CYNORK_TOKEN".to_owned()),
        429 if is_quota_exhausted(problem) => None,
        429 => Some("wait a moment and try again".to_owned()),
        // Without a trace id there is nothing to search for.
        500.. => {
            let trace = problem.instance.as_ref();
            trace.map(|trace| format!("search the server log for trace id {trace}"))
        }
        _ => None,
    }
}

/// Whether the budget is exhausted, so that a retry does not help.
fn is_quota_exhausted(problem: &Problem) -> bool {
    problem.kind.ends_with(":insufficient_quota")
}

fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> CliFailure {
        CliFailure::Rejected(Box::new(Problem {
            kind: "about:blank".to_owned(),
            title: String::new(),
            status,
            detail: String::new(),
            instance: None,
            errors: vec![],
        }))
    }

    #[test]
    fn each_http_status_has_its_documented_exit_code() {
        let table = [
            (400, 6),
            (401, 3),
            (403, 3),
            (404, 4),
            (409, 5),
            (413, 6),
            (422, 6),
            (429, 7),
            (500, 7),
            (503, 7),
        ];
        for (status, code) in table {
            assert_eq!(refused(status).code(), code, "for status {status}");
        }
    }

    #[test]
    fn one_fault_is_said_once_and_several_are_listed() {
        let with = |errors: &[&str]| {
            let mut failure = refused(400);
            if let CliFailure::Rejected(problem) = &mut failure {
                problem.errors = errors.iter().map(|error| (*error).to_owned()).collect();
            }
            failure.details().len()
        };

        assert_eq!([with(&[]), with(&["one"]), with(&["one", "two"])], [0, 0, 2]);
    }

    #[test]
    fn a_spent_budget_is_not_waited_for() {
        let mut spent = refused(429);
        if let CliFailure::Rejected(problem) = &mut spent {
            "urn:cynode:error:insufficient_quota".clone_into(&mut problem.kind);
        }

        assert_eq!((spent.advice(), spent.is_transient()), (None, false));
        assert!(refused(429).advice().is_some() && refused(429).is_transient());
        assert_eq!(refused(503).advice(), None);
    }

    #[test]
    fn a_gateway_that_does_not_run_and_a_wrong_address_are_told_apart() {
        let (url, origin) = ("http://localhost:1".to_owned(), GatewayOrigin::Environment);
        let cause = "no such host".to_owned();
        let stopped = CliFailure::NotRunning { url: url.clone(), origin };
        let wrong = CliFailure::WrongAddress { url, cause, origin };

        assert!(stopped.to_string().contains("is not running"), "{stopped}");
        assert!(stopped.advice().unwrap().contains("`cynode up`"));
        assert!(wrong.to_string().contains("not the address"), "{wrong}");
        assert!(wrong.advice().unwrap().contains("CYNORK_GATEWAY_URL"));
        assert!(!wrong.advice().unwrap().contains("cynode up"));
        assert!(stopped.is_transient() && !wrong.is_transient());
    }
}
