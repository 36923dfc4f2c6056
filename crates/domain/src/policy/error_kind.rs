//! Error kinds of tool calls, as returned to agents and stored in audit records.

words! {
    /// Why a tool call was denied or failed.
    ErrorKind("error kind") {
        /// The request has no token.
        MissingBearer = "missing_bearer",
        /// The token is unknown, expired or revoked.
        InvalidAgentToken = "invalid_agent_token",
        /// The tool, its server or the resource does not exist for this caller.
        NotFound = "not_found",
        /// The tool or its server is disabled.
        ToolDisabled = "tool_disabled",
        /// An administrator must approve the tool's changed definition first.
        ReviewRequired = "review_required",
        /// The allowlist of the caller's role does not contain the tool.
        AgentAllowlistDenied = "agent_allowlist_denied",
        /// The tool's scope does not admit the caller.
        ScopeDenied = "scope_denied",
        /// The setting that guards the tool is off.
        SettingDenied = "setting_denied",
        /// The arguments are longer than allowed.
        RequestTooLarge = "request_too_large",
        /// The tool's schema is invalid.
        InvalidSchema = "invalid_schema",
        /// The arguments do not match the tool's schema.
        InvalidArguments = "invalid_arguments",
        /// An id in the arguments does not belong to the caller.
        ContextMismatch = "context_mismatch",
        /// A rule denies the call, or none allows it.
        PolicyViolation = "policy_violation",
        /// The caller may read the resource but not do this.
        Forbidden = "forbidden",
        /// The current state does not allow it, or a concurrent change won.
        Conflict = "conflict",
        /// A dependency is unavailable or busy.
        ServiceUnavailable = "service_unavailable",
        /// The call timed out.
        Timeout = "timeout",
        /// The caller canceled the request.
        Canceled = "canceled",
        /// The process ended during the call; only in audit records.
        Interrupted = "interrupted",
        /// The result is longer than allowed.
        ResponseTooLarge = "response_too_large",
        /// The result violates the protocol or the tool's schema.
        BadResponse = "bad_response",
        /// The server returned a protocol error.
        UpstreamError = "upstream_error",
        /// The tool reported an error.
        ToolError = "tool_error",
        /// A web document could not be fetched.
        FetchFailed = "fetch_failed",
        /// A web document has an unsupported content type.
        UnsupportedContentType = "unsupported_content_type",
        /// This process does not implement the tool.
        NotImplemented = "not_implemented",
        /// An internal error.
        InternalError = "internal_error",
    }
}

impl ErrorKind {
    /// Whether a retry of the same call may succeed.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::ServiceUnavailable | Self::Timeout)
    }
}
