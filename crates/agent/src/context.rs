//! What a model is told before it is asked: fragments in a fixed order, each with a size cap.

/// The instructions of a role, as its bundle has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Identity, responsibilities and non-goals: the first file of the bundle.
    pub baseline: String,
    /// The rest of the bundle, in the order of its file names.
    pub role: String,
}
