//! What kinds of refusals and failures a tool call can have, as agents are told and records keep.

words! {
    /// Why a tool call was refused or failed, for programs.
    ErrorKind("error kind") {
        /// There was no token.
        MissingBearer = "missing_bearer",
        /// The token is unknown, expired or revoked.
        InvalidAgentToken = "invalid_agent_token",
        /// The tool, its server or what the call is about does not exist for this caller.
        NotFound = "not_found",
        /// The tool or its server is turned off.
        ToolDisabled = "tool_disabled",
        /// An administrator has to look at the tool first.
        ReviewRequired = "review_required",
        /// The caller's role may never reach the tool.
        AgentAllowlistDenied = "agent_allowlist_denied",
        /// The tool may not be called from where the caller is.
        ScopeDenied = "scope_denied",
        /// The setting that guards the tool is off.
        SettingDenied = "setting_denied",
        /// The arguments are longer than allowed.
        RequestTooLarge = "request_too_large",
        /// The schema of the tool cannot be used.
        InvalidSchema = "invalid_schema",
        /// The arguments are not what the tool takes.
        InvalidArguments = "invalid_arguments",
        /// An id in the arguments does not belong to the caller.
        ContextMismatch = "context_mismatch",
        /// A rule denies it, or none allows it.
        PolicyViolation = "policy_violation",
        /// The caller may see it and not do this with it.
        Forbidden = "forbidden",
        /// The state does not allow it, or somebody else was faster.
        Conflict = "conflict",
        /// Something that the call needs does not answer, or is busy.
        ServiceUnavailable = "service_unavailable",
        /// There was no answer in time.
        Timeout = "timeout",
        /// The caller withdrew the request.
        Canceled = "canceled",
        /// The process ended while the call was going on; only records say so.
        Interrupted = "interrupted",
        /// The answer is longer than allowed.
        ResponseTooLarge = "response_too_large",
        /// The answer is not what the protocol or the tool's schema promises.
        BadResponse = "bad_response",
        /// A server answered with an error of the protocol.
        UpstreamError = "upstream_error",
        /// A server's tool said itself that it failed.
        ToolError = "tool_error",
        /// A document of the web could not be had.
        FetchFailed = "fetch_failed",
        /// A document of the web is of a type that is not read.
        UnsupportedContentType = "unsupported_content_type",
        /// This process does not have the tool.
        NotImplemented = "not_implemented",
        /// Something failed on our side.
        InternalError = "internal_error",
    }
}

impl ErrorKind {
    /// Whether the same call may succeed later, though nothing about it changes.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::ServiceUnavailable | Self::Timeout)
    }
}
