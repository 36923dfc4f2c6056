//! Knowledge: documents of a profile, split into passages that can be searched.

/// The longest path of a document.
pub const MAX_PATH_BYTES: usize = 512;
/// The largest document, as it was given.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

words! {
    /// How a document is read.
    DocumentKind("kind of document") {
        Markdown = "markdown",
        Html = "html",
        Code = "code",
        Text = "text",
        Pdf = "pdf",
    }

    /// What became of a document that was ingested.
    DocumentOutcome("outcome of a document") {
        Added = "added",
        Replaced = "replaced",
        /// The same content was stored already.
        Unchanged = "unchanged",
    }
}
