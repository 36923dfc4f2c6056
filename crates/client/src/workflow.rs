//! The workflow API, for runners: one method for every request of [`cynode_wire::runner_calls`].

use bytes::Bytes;
use cynode_wire::problem::Problem;
use cynode_wire::runner_calls::{CallMethod, RunnerRequest};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue};

use crate::plain_http::FullResponse;
use crate::request::parse_json;
use crate::{Client, ClientError};

/// A [`RunnerRequest`] that is ready to be sent, so that one function can send them all.
#[derive(Debug, Clone)]
pub struct EncodedRequest {
    pub method: CallMethod,
    /// [`RunnerRequest::PATH`] of the request.
    pub path: &'static str,
    /// Replaces the parameter in `path`.
    pub path_parameter: Option<String>,
    pub query: Vec<(&'static str, String)>,
    /// JSON; empty for `GET`.
    pub body: Bytes,
}

impl EncodedRequest {
    /// Encodes a request.
    pub fn new<R: RunnerRequest>(request: &R) -> Result<Self, ClientError> {
        let body = match R::METHOD {
            CallMethod::Get => Bytes::new(),
            CallMethod::Post => {
                serde_json::to_vec(request).map_err(|error| unencodable_error(&error))?.into()
            }
        };
        Ok(Self {
            method: R::METHOD,
            path: R::PATH,
            path_parameter: request.path_parameter(),
            query: request.query(),
            body,
        })
    }

    /// The segments of the path, with the parameter replaced.
    fn segments(&self) -> Vec<&str> {
        let parameter = self.path_parameter.as_deref().unwrap_or_default();
        let segments = self.path.split('/').skip(1);
        segments.map(|name| if name.starts_with('{') { parameter } else { name }).collect()
    }
}

/// Decodes the response to a request of type `R`, sent to the orchestrator at `base_url`.
pub fn decode_response<R: RunnerRequest>(
    response: Result<FullResponse, ClientError>,
    base_url: &str,
) -> Result<R::Response, ClientError> {
    match response {
        Ok(FullResponse { body, .. }) => match R::empty_response().filter(|_| body.is_empty()) {
            Some(empty) => Ok(empty),
            None => parse_json(&body, base_url),
        },
        Err(ClientError::Refused(problem)) if problem.status == 404 => {
            R::unsupported_response().ok_or(ClientError::Refused(problem))
        }
        Err(error) => Err(error),
    }
}

impl Client {
    /// Sends any request of the workflow API.
    pub async fn workflow_call<R: RunnerRequest>(
        &self,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let response = self.workflow_send(&EncodedRequest::new(request)?).await;
        decode_response::<R>(response, self.base_url())
    }

    /// Sends an encoded request and returns the response undecoded.
    pub async fn workflow_send(
        &self,
        request: &EncodedRequest,
    ) -> Result<FullResponse, ClientError> {
        let segments = request.segments();
        let sent = match request.method {
            CallMethod::Get => self.request(Method::GET, &segments).query(&request.query),
            CallMethod::Post => self
                .request(Method::POST, &segments)
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(request.body.clone()),
        };
        self.exchange(sent).await
    }
}

fn unencodable_error(error: &serde_json::Error) -> ClientError {
    ClientError::Refused(Box::new(Problem {
        kind: "about:blank".to_owned(),
        title: "Bad Request".to_owned(),
        status: 400,
        detail: format!("the request cannot be encoded as JSON: {error}"),
        instance: None,
        errors: vec![],
    }))
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{JobId, TaskId};
    use cynode_wire::continuing::{ContinuationView, ContinueRun};
    use cynode_wire::run_suspension::CheckpointAckView;
    use cynode_wire::workflow::{PollJob, ResumeRun, SaveCheckpoint};

    use super::*;

    const URL: &str = "http://orchestrator";

    fn empty() -> FullResponse {
        FullResponse { status: 204, body: Bytes::new() }
    }

    fn not_found() -> ClientError {
        let (kind, title, detail) = (String::new(), String::new(), String::new());
        let problem = Problem { kind, title, status: 404, detail, instance: None, errors: vec![] };
        ClientError::Refused(Box::new(problem))
    }

    #[test]
    fn a_parameter_replaces_its_segment_and_only_a_post_has_a_body() {
        let job_id = JobId::generate();

        let poll = EncodedRequest::new(&PollJob { job_id, wait_ms: 7 }).unwrap();
        let resume = EncodedRequest::new(&ResumeRun { task_id: TaskId::generate() }).unwrap();

        assert_eq!(poll.segments(), ["v1", "workflow", "jobs", &job_id.to_string()]);
        assert_eq!((poll.query, poll.body.is_empty()), (vec![("wait_ms", "7".to_owned())], true));
        assert_eq!(resume.segments(), ["v1", "workflow", "resume"]);
        assert!(resume.body.starts_with(b"{\"task_id\":"));
    }

    #[test]
    fn an_older_orchestrator_may_return_nothing_or_lack_a_call() {
        let saved = decode_response::<SaveCheckpoint>(Ok(empty()), URL).unwrap();
        let continued = decode_response::<ContinueRun>(Err(not_found()), URL).unwrap();

        assert_eq!(saved, CheckpointAckView::default());
        assert!(matches!(continued, ContinuationView::NoManager { .. }), "{continued:?}");
        assert_eq!(
            decode_response::<ResumeRun>(Err(not_found()), URL).unwrap_err().status(),
            Some(404)
        );
        let error = decode_response::<ResumeRun>(Ok(empty()), URL).unwrap_err();
        assert!(matches!(error, ClientError::InvalidResponse { .. }), "{error:?}");
    }
}
