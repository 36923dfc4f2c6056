//! What a request is, how large it is, and what kind of project it concerns.

words! {
    /// What a request asks for.
    WorkKind("kind of work") {
        /// A project that does not exist yet.
        NewProject = "new_project",
        /// An addition to an existing project, or a change of its behaviour.
        FeatureRequest = "feature_request",
        /// The correction of something that is wrong.
        QuickFix = "quick_fix",
    }

    /// The size of work.
    WorkScope("scope") {
        /// One line.
        Trivial = "trivial",
        /// One file.
        Small = "small",
        /// Several files of one component.
        Medium = "medium",
        /// Several components, or the architecture.
        Large = "large",
    }

    /// The language or tool chain that builds a project.
    ProjectKind("project kind") {
        Rust = "rust",
        Node = "node",
        Python = "python",
        Go = "go",
        Dotnet = "dotnet",
        Java = "java",
        Cpp = "cpp",
        Ruby = "ruby",
        Php = "php",
        /// Pages without a build.
        Web = "web",
        /// A shell or make project.
        Make = "make",
        /// No known tool chain.
        Unknown = "unknown",
    }
}
