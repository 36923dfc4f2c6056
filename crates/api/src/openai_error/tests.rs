//! Every error as it is sent to the client.

use std::time::Duration;

use cynode_models::credentials::CredentialError;
use cynode_resources::StoreError;
use serde_json::Value;

use super::*;

/// Asserts status, type, code and `Retry-After` of an error response.
fn assert_response(
    refusal: impl Into<OpenAiError>,
    expected: (u16, &str, &str),
    retry: Option<&str>,
) {
    let refusal = refusal.into();
    let detail = refusal.body().error.clone();
    let response = refusal.into_response();
    let status = response.status().as_u16();
    let code = detail.code.as_ref().and_then(Value::as_str).unwrap();
    assert_eq!((status, &*detail.kind, code), expected, "{}", detail.message);
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    assert_eq!(header(RETRY_AFTER), retry, "{}", detail.message);
    assert_eq!(header(WWW_AUTHENTICATE).is_some(), status == 401, "{}", detail.message);
}

fn store_closed() -> StoreError {
    StoreError::Closed
}

fn invalid(param: Option<&'static str>) -> ChatError {
    ChatError::Invalid { message: "no".to_owned(), param }
}

#[test]
fn every_refusal_of_a_chat_has_its_status_and_code() {
    use ChatError as E;
    let text = || "why".to_owned();
    let table = [
        (invalid(None), 400, "invalid_request"),
        (invalid(Some("messages")), 400, "invalid_request"),
        (E::Store(StoreError::NulCharacter), 400, "invalid_request"),
        (E::UnknownProject(text()), 404, "project_not_found"),
        (E::UnknownModel(text()), 404, "model_not_found"),
        (E::Denied(text()), 403, "permission_denied"),
        (E::OverBudget(text()), 429, "insufficient_quota"),
        (E::Busy, 503, "model_unavailable"),
        (E::Unavailable(text()), 503, "model_unavailable"),
        (E::Store(store_closed()), 503, "storage_unavailable"),
        (E::Failed(text()), 502, "orchestrator_inference_failed"),
        (E::Timeout(Duration::from_secs(2)), 504, "cynodeai_completion_timeout"),
        (E::Canceled, 408, "request_canceled"),
        (E::Stopping, 503, "orchestrator_stopping"),
        (E::AlreadyHandedOff, 409, "already_handed_over"),
    ];
    for (error, status, code) in table {
        let retry = (status == 503).then_some("1");
        assert_response(error, (status, USER_ERROR_TYPE, code), retry);
    }
}

#[test]
fn a_bad_token_is_told_apart_from_none() {
    let said = |refusal: OpenAiError| refusal.body().error.message.clone();

    assert!(said(OpenAiError::unauthenticated()).starts_with("send an API token"));
    assert!(said(AccountError::BadToken.into()).starts_with("the token is unknown"));
    assert_response(
        AccountError::BadToken,
        (401, USER_ERROR_TYPE, "authentication_required"),
        None,
    );
}

#[test]
fn the_wait_that_a_provider_asks_for_is_told_to_whoever_chats() {
    let later = |millis| {
        let retry_after = Duration::from_millis(millis);
        ChatError::RetryLater { message: "not now".to_owned(), retry_after }
    };
    for (millis, reported) in [(59_200, "60"), (7_000, "7"), (0, "1")] {
        assert_response(later(millis), (503, USER_ERROR_TYPE, "model_unavailable"), Some(reported));
    }
}

#[test]
fn a_refusal_of_a_chat_names_the_field_at_fault() {
    let param = |error: ChatError| OpenAiError::from(error).body().error.param.clone();

    assert_eq!(param(invalid(Some("messages"))).as_deref(), Some("messages"));
    assert_eq!(param(ChatError::UnknownModel("m".to_owned())).as_deref(), Some("model"));
    assert_eq!(param(invalid(None)), None);
    assert_eq!(param(ChatError::Busy), None);
}

#[test]
fn whoever_is_not_let_in_is_told_in_openai_s_shape() {
    assert_response(
        AccountError::BadToken,
        (401, USER_ERROR_TYPE, "authentication_required"),
        None,
    );
    assert_response(
        AccountError::TooManyAttempts,
        (429, USER_ERROR_TYPE, "rate_limit_exceeded"),
        None,
    );
    let away = AccountError::Store(store_closed());
    assert_response(away, (503, USER_ERROR_TYPE, "storage_unavailable"), Some("1"));
    let unknown = OpenAiError::unknown_model("m");
    assert_response(unknown, (404, USER_ERROR_TYPE, "model_not_found"), None);
}

fn provider(cause: ProviderError) -> EgressError {
    EgressError::Provider { provider: "far".to_owned(), cause }
}

#[test]
fn every_refusal_of_the_way_out_has_its_status_class_and_code() {
    use EgressError as E;
    let text = || "why".to_owned();
    let ambiguous = E::Ambiguous { model: text(), full_names: vec![text()] };
    let table = [
        (E::NoProvider, (404, "invalid_request_error", "no_provider")),
        (E::UnknownModel(text()), (404, "invalid_request_error", "model_not_found")),
        (ambiguous, (400, "invalid_request_error", "model_ambiguous")),
        (E::Denied(text()), (403, "permission_error", "permission_denied")),
        (E::OverBudget(text()), (403, "insufficient_quota", "insufficient_quota")),
        (E::Credential(CredentialError::NotFound), (503, "server_error", "credential_unusable")),
        (E::Aborted("the client stopped reading"), (408, "server_error", "request_canceled")),
        (E::Store(store_closed()), (503, "server_error", "storage_unavailable")),
    ];
    for (error, expected) in table {
        assert_response(error, expected, None);
    }
}

#[test]
fn every_failure_of_a_provider_has_its_status_class_and_code() {
    use ProviderError as P;
    let text = || "why".to_owned();
    let soon = Some(Duration::from_millis(300));
    let unavailable = (503, "server_error", "provider_unavailable");
    let limited = (429, "rate_limit_error", "rate_limit_exceeded");
    let failed = (502, "server_error", "provider_failed");
    let rejected = P::Rejected { status: 422, message: text(), code: None };
    let unauthorized = P::Unauthorized { message: text() };
    let table = [
        (P::RateLimited { retry_after: Some(Duration::from_secs(7)) }, limited, Some("7")),
        (P::RateLimited { retry_after: None }, limited, None),
        (rejected, (400, "invalid_request_error", "provider_rejected"), None),
        (P::Refused { message: text() }, (400, "invalid_request_error", "content_filter"), None),
        (unauthorized, (502, "server_error", "provider_unauthorized"), None),
        (P::Unavailable { status: 500, retry_after: soon }, unavailable, Some("1")),
        (P::Connect { reason: text() }, unavailable, None),
        (P::Busy, unavailable, None),
        (P::CircuitOpen { retry_after: Duration::from_secs(9) }, unavailable, Some("9")),
        (P::Malformed { reason: text() }, failed, None),
        (P::Truncated, failed, None),
        (P::TooLarge { limit: 1 }, failed, None),
    ];
    for (cause, expected, retry) in table {
        assert_response(provider(cause), expected, retry);
    }
}

#[test]
fn what_may_have_been_acted_on_is_not_asked_for_again_by_itself() {
    let reported = |error: ChatError| {
        let response = OpenAiError::from(error).into_response();
        let header = |name: &HeaderName| response.headers().get(name).cloned();
        (response.status().as_u16(), header(&SHOULD_RETRY), header(&RETRY_AFTER))
    };
    let begun = |error| ChatError::FailedAfterHandoff(Box::new(error));
    let never = Some(HeaderValue::from_static("false"));

    assert_eq!(reported(begun(ChatError::Failed("no".to_owned()))), (502, never.clone(), None));
    assert_eq!(reported(begun(ChatError::Stopping)), (503, never.clone(), None));
    assert_eq!(reported(ChatError::OverBudget("spent".to_owned())), (429, never.clone(), None));
    assert_eq!(reported(ChatError::AlreadyHandedOff), (409, never, None));
    assert_eq!(reported(ChatError::Failed("no".to_owned())), (502, None, None));
}

#[test]
fn an_agent_is_told_apart_from_a_database_that_does_not_answer() {
    let denied = (401, "authentication_error", "invalid_api_key");
    assert_response(AgentTokenError::BadToken, denied, None);
    let away = AgentTokenError::Store(store_closed());
    assert_response(away, (503, "server_error", "storage_unavailable"), Some("1"));
}

#[test]
fn a_fault_of_a_credential_is_told_to_administrators_alone() {
    let refusal = OpenAiError::from(EgressError::Credential(CredentialError::NotFound));

    let message = &refusal.body().error.message;
    assert_eq!(message, "the credential for the provider cannot be used: ask an administrator");
}
