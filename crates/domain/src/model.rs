//! The words of calls to models: what providers speak, who may use them, and what came of a call.

words! {
    /// What a provider of models speaks.
    ProviderKind("provider kind") {
        /// Anthropic's messages.
        Anthropic = "anthropic",
        /// Chat completions, as OpenAI and everything compatible with it speaks them.
        OpenAi = "openai",
        /// Ollama's own chat.
        Ollama = "ollama",
    }

    /// Who may use a provider. A rule that denies wins over each of these.
    ProviderUse("provider use") {
        /// Every signed-in user, and the agents that act for one.
        Everyone = "everyone",
        /// Administrators, and the agents that act for one.
        Admins = "admins",
        /// Whoever an access rule allows.
        Rules = "rules",
    }

    /// Whose a credential is.
    CredentialOwner("credential owner") {
        /// One user's: used for calls of that user.
        User = "user",
        /// A group's: used for calls of its members.
        Group = "group",
        /// The installation's: used where nobody has one of their own.
        System = "system",
    }

    /// What a credential is.
    CredentialKind("credential type") {
        /// A key of an API.
        ApiKey = "api_key",
        /// A token of an OAuth grant.
        OauthToken = "oauth_token",
        /// Any other bearer token.
        BearerToken = "bearer_token",
    }

    /// What came of a call to a model.
    InferenceOutcome("outcome of a model call") {
        /// It is under way, or its process ended before it did. Its cost is what was set aside for it.
        Open = "open",
        /// The model answered.
        Success = "success",
        /// The provider failed.
        Failed = "failed",
        /// No rule allows it, or one denies it; nothing was sent.
        Denied = "denied",
        /// The budget is spent; nothing was sent.
        OverBudget = "over_budget",
        /// Whoever asked went away before the end.
        Canceled = "canceled",
    }
}

/// Calling a provider, as rules name it.
pub const CALL: &str = "api.call";
/// Operations of providers, as rules name them.
pub const OPERATION: &str = "api.provider_operation";
/// The one operation there is, as rules name it after the provider: `openai/chat`.
pub const CHAT: &str = "chat";
