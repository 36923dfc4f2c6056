//! Why a command did not succeed: the exit code, the words, and what to do next.

use std::io;

use cynode_client::{Error, UnreachableReason};
use cynode_wire::problem::Problem;

use crate::settings::GatewayOrigin;

const NOT_COMPLETED: u8 = 1;
const USAGE: u8 = 2;
const AUTH: u8 = 3;
const NOT_FOUND: u8 = 4;
const CONFLICT: u8 = 5;
const INVALID: u8 = 6;
const NETWORK: u8 = 7;
pub(crate) const INTERNAL: u8 = 8;
const UNVERIFIED: u8 = 9;
/// What a shell reports for a program ended by Ctrl-C.
const LEFT: u8 = 130;

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line or the configuration file cannot be used as it is.
    #[error("{0}")]
    Usage(String),
    /// The input breaks a rule that is checked before anything is sent.
    #[error("{0}")]
    Invalid(String),
    /// Something local is in the way.
    #[error("{0}")]
    Conflict(String),
    /// Something named on the command line does not exist.
    #[error("{0}")]
    NotFound(String),
    /// There is no token to present.
    #[error("you are not signed in to {url}")]
    SignedOut {
        /// The gateway.
        url: String,
    },
    /// The stored session has ended.
    #[error("your session at {url} has ended")]
    SessionEnded {
        /// The gateway.
        url: String,
    },
    /// The gateway answered, and said no.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// The machine answers, and no program listens at the address.
    #[error("CyNode is not running at {url} (connection refused)")]
    NotRunning {
        /// The gateway.
        url: String,
        /// Which setting named it.
        origin: GatewayOrigin,
    },
    /// There is no such machine, or what answers is no CyNode.
    #[error("{url} is not the address of a CyNode gateway: {cause}")]
    WrongAddress {
        /// The address.
        url: String,
        /// What is wrong with it.
        cause: String,
        /// Which setting named it.
        origin: GatewayOrigin,
    },
    /// No answer, for another reason.
    #[error("{url} does not answer ({cause})")]
    Unreachable {
        /// The gateway.
        url: String,
        /// The innermost reason.
        cause: String,
    },
    /// The task closed without completing; the output has already said so.
    #[error("the task did not complete")]
    NotCompleted,
    /// The task completed, and an acceptance criterion was not judged; the output has already said so.
    #[error("the task completed unverified")]
    Unverified,
    /// The person stopped waiting.
    #[error("stopped waiting; task {task} goes on")]
    Left {
        /// The task's name.
        task: String,
    },
    /// The person stopped an answer.
    #[error("stopped")]
    Stopped,
    /// Standard output cannot be written to.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Not the user's fault.
    #[error("{0}")]
    Internal(String),
}

impl Failure {
    /// What a call to the gateway at `url` came to.
    pub(crate) fn of_call(error: Error, url: &str, origin: GatewayOrigin) -> Self {
        let reason = error.unreachable_reason();
        let url = url.to_owned();
        match error {
            // A gateway explains every refusal.
            Error::Refused(problem)
                if problem.kind == "about:blank"
                    && matches!(problem.status, 300..=399 | 404 | 405 | 410) =>
            {
                let cause = format!("it answered {} without an explanation", problem.status);
                Self::WrongAddress { url, cause, origin }
            }
            Error::Refused(problem) => Self::Refused(problem),
            Error::Unreachable { cause, .. } => match reason {
                Some(UnreachableReason::NotListening) => Self::NotRunning { url, origin },
                Some(UnreachableReason::NoSuchHost) => {
                    Self::WrongAddress { url, cause: innermost(&*cause), origin }
                }
                Some(UnreachableReason::Other) | None => {
                    Self::Unreachable { url, cause: innermost(&*cause) }
                }
            },
            Error::NotOurs { reason, .. } => Self::WrongAddress { url, cause: reason, origin },
            error @ Error::Unreadable { .. } => Self::Internal(error.to_string()),
            error @ Error::BadAddress { .. } => Self::Usage(error.to_string()),
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::NotCompleted => NOT_COMPLETED,
            Self::Unverified => UNVERIFIED,
            Self::Usage(_) => USAGE,
            Self::SignedOut { .. } | Self::SessionEnded { .. } => AUTH,
            Self::NotFound(_) => NOT_FOUND,
            Self::Conflict(_) => CONFLICT,
            Self::Invalid(_) => INVALID,
            Self::NotRunning { .. } | Self::WrongAddress { .. } | Self::Unreachable { .. } => {
                NETWORK
            }
            Self::Refused(problem) => code_of_status(problem.status),
            Self::Left { .. } | Self::Stopped => LEFT,
            Self::Output(_) | Self::Internal(_) => INTERNAL,
        }
    }

    /// What to do next, when that is known.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::SignedOut { .. } => Some(
                "sign in with `cynork auth login`, set CYNORK_TOKEN, or start a local system with `cynode up`".to_owned(),
            ),
            Self::SessionEnded { .. } => Some("sign in again with `cynork auth login`".to_owned()),
            Self::NotRunning { origin, .. } => Some(match origin.setting() {
                None => "start it with `cynode up`".to_owned(),
                Some(setting) => format!(
                    "start it there (on this machine: `cynode up`); the address is from {setting}"
                ),
            }),
            Self::WrongAddress { origin, .. } => Some(format!(
                "check the address: it is {}",
                origin.setting().map_or("the default".to_owned(), |set| format!("from {set}"))
            )),
            Self::Unreachable { .. } => {
                Some("try again, or check the network and CYNORK_GATEWAY_URL".to_owned())
            }
            Self::Left { task } => Some(format!(
                "see it again with `cynork task watch {task}`, stop it with `cynork task cancel {task}`"
            )),
            Self::Refused(problem) => advice_on(problem),
            Self::Usage(_)
            | Self::Invalid(_)
            | Self::Conflict(_)
            | Self::NotFound(_)
            | Self::NotCompleted
            | Self::Unverified
            | Self::Stopped
            | Self::Output(_)
            | Self::Internal(_) => None,
        }
    }

    /// Every single fault, when the gateway listed several; one alone is the message itself.
    pub(crate) fn details(&self) -> &[String] {
        let Self::Refused(problem) = self else { return &[] };
        if problem.errors.len() > 1 { &problem.errors } else { &[] }
    }

    /// Whether the same call may succeed a little later.
    pub(crate) fn is_transient(&self) -> bool {
        if let Self::Refused(problem) = self {
            return !is_spent(problem) && (problem.status == 429 || problem.status >= 500);
        }
        matches!(self, Self::Unreachable { .. } | Self::NotRunning { .. })
    }

    /// Whether the reader of our output has gone away, as `head` does.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn code_of_status(status: u16) -> u8 {
    match status {
        401 | 403 => AUTH,
        404 | 410 => NOT_FOUND,
        409 | 412 => CONFLICT,
        408 | 429 | 500.. => NETWORK,
        _ => INVALID,
    }
}

fn advice_on(problem: &Problem) -> Option<String> {
    match problem.status {
        401 => Some("sign in with `cynork auth login`, or check CYNORK_TOKEN".to_owned()),
        429 if is_spent(problem) => None,
        429 => Some("wait a little and try again".to_owned()),
        // Without a trace id there is nothing to look for.
        500.. => {
            let trace = problem.instance.as_ref();
            trace.map(|trace| format!("the server's log has more under trace id {trace}"))
        }
        _ => None,
    }
}

/// Whether the budget is spent: waiting a little does not help.
fn is_spent(problem: &Problem) -> bool {
    problem.kind.ends_with(":insufficient_quota")
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> Failure {
        Failure::Refused(Box::new(Problem {
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
            if let Failure::Refused(problem) = &mut failure {
                problem.errors = errors.iter().map(|error| (*error).to_owned()).collect();
            }
            failure.details().len()
        };

        assert_eq!([with(&[]), with(&["one"]), with(&["one", "two"])], [0, 0, 2]);
    }

    #[test]
    fn a_spent_budget_is_not_waited_for() {
        let mut spent = refused(429);
        if let Failure::Refused(problem) = &mut spent {
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
        let stopped = Failure::NotRunning { url: url.clone(), origin };
        let wrong = Failure::WrongAddress { url, cause, origin };

        assert!(stopped.to_string().contains("is not running"), "{stopped}");
        assert!(stopped.advice().unwrap().contains("`cynode up`"));
        assert!(wrong.to_string().contains("not the address"), "{wrong}");
        assert!(wrong.advice().unwrap().contains("CYNORK_GATEWAY_URL"));
        assert!(!wrong.advice().unwrap().contains("cynode up"));
        assert!(stopped.is_transient() && !wrong.is_transient());
    }
}
