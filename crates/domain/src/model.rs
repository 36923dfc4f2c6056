//! Vocabulary of model calls: provider protocols, access, credentials and outcomes.

/// Words that stand for a model by what the work needs; `haiku` and `sonnet` are `fast` and `balanced`.
pub const MODEL_HINTS: [&str; 5] = ["fast", "balanced", "strong", "haiku", "sonnet"];

words! {
    /// The protocol of a model provider.
    ProviderKind("provider kind") {
        /// Anthropic's messages API.
        Anthropic = "anthropic",
        /// OpenAI's chat completions API and compatible servers.
        OpenAi = "openai",
        /// Ollama's chat API.
        Ollama = "ollama",
    }

    /// Who may use a provider. A deny rule overrides each of these.
    ProviderUse("provider use") {
        /// Every signed-in user and their agents.
        Everyone = "everyone",
        /// Administrators and their agents.
        Admins = "admins",
        /// Callers that an access rule allows.
        Rules = "rules",
    }

    /// The owner of a credential.
    CredentialOwner("credential owner") {
        /// A user; used for that user's calls.
        User = "user",
        /// A group; used for its members' calls.
        Group = "group",
        /// The installation; used if neither the user nor a group has one.
        System = "system",
    }

    /// The type of a credential. The last two are for git hosts, the others for model providers.
    CredentialKind("credential type") {
        /// An API key.
        ApiKey = "api_key",
        /// An OAuth access token.
        OauthToken = "oauth_token",
        /// Any other bearer token.
        BearerToken = "bearer_token",
        /// A password or token of a git host, alone or as `user:password`.
        Password = "password",
        /// A private key for a git host over ssh, without a passphrase.
        SshKey = "ssh_key",
    }

    /// The outcome of a model call.
    InferenceOutcome("model call outcome") {
        /// In progress, or its process ended first. Its cost is the reserved amount.
        Open = "open",
        /// The model answered.
        Success = "success",
        /// The provider failed.
        Failed = "failed",
        /// No rule allows it or one denies it; nothing was sent.
        Denied = "denied",
        /// The budget is exhausted; nothing was sent.
        OverBudget = "over_budget",
        /// The caller disconnected before the end.
        Canceled = "canceled",
    }
}

/// Action of calling a provider, in access rules.
pub const CALL_ACTION: &str = "api.call";
/// Resource type of provider operations, in access rules.
pub const OPERATION_RESOURCE: &str = "api.provider_operation";
/// The only operation; in access rules it follows the provider: `openai/chat`.
pub const CHAT_OPERATION: &str = "chat";
