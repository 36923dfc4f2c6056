//! The words of a verification's findings.

words! {
    /// What a finding says about the work.
    FindingStatus("finding status") {
        /// It is as it should be.
        Pass = "pass",
        /// It is not.
        Fail = "fail",
        /// Nobody can tell before somebody answers.
        NeedsClarification = "needs_clarification",
    }

    /// How much a finding matters.
    Severity("severity") {
        /// Good to know.
        Info = "info",
        /// Should be mended.
        Warning = "warning",
        /// Must be mended.
        Error = "error",
    }
}
