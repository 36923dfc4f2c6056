//! Faults of a scripted forge.

/// How a request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// An error status; nothing is changed.
    Status(u16),
    /// The answer of this forge to too many requests; nothing is changed.
    RateLimit { retry_after_s: u64 },
    /// No answer; nothing is changed.
    Hang,
    /// The connection is closed; nothing is changed.
    Cut,
    /// The change is applied, then the connection is closed without an answer.
    CutAfterApply,
    /// The change is applied, then no answer is sent.
    HangAfterApply,
    /// A redirect with this status and target.
    Redirect { status: u16, target: String },
    /// A successful answer with this body.
    Body(String),
    /// A successful answer with this many bytes, without a `Content-Length`.
    Huge { bytes: usize },
    /// 403 with this message.
    Forbidden { message: String },
}

/// Makes some requests fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedFault {
    /// Requests with this method; empty for all.
    pub method: &'static str,
    /// Requests whose path and query contain this text.
    pub path_part: String,
    pub kind: FaultKind,
    /// How many requests fail.
    pub times: usize,
}

impl ScriptedFault {
    /// Fails the next matching request.
    pub fn once(method: &'static str, path_part: &str, kind: FaultKind) -> Self {
        Self { method, path_part: path_part.to_owned(), kind, times: 1 }
    }

    /// Fails every matching request.
    pub fn always(method: &'static str, path_part: &str, kind: FaultKind) -> Self {
        Self { times: usize::MAX, ..Self::once(method, path_part, kind) }
    }

    pub(crate) fn matches(&self, method: &str, target: &str) -> bool {
        self.times > 0
            && (self.method.is_empty() || self.method == method)
            && target.contains(&self.path_part)
    }
}
