//! The git broker of a worker node: mirrors, checkouts, collected commits and pushes.
//!
//! Start reading at [`GitBroker`]. The broker runs outside the sandbox, with the network and the credential of one
//! operation. Everything that a remote repository or a job wrote is data to it:
//!
//! 1. [`GitBroker::update_mirror`] fetches a repository into a bare mirror that only the broker writes.
//! 2. [`GitBroker::create_checkout`] writes a self-contained repository into the workspace of a task.
//!    For a task that builds on others, it merges their imported commits first.
//! 3. The node runs [`collect_script`] inside a sandbox; it writes a bundle of the job's commits.
//! 4. [`GitBroker::import_bundle`] reads the bundle as data, checks the commits and reports findings.
//! 5. [`GitBroker::write_patch`], [`GitBroker::write_bundle`] and [`GitBroker::push`] work from the mirror.
//!
//! Invariant: no process that the broker starts has a directory that a job can write as its git repository, and every
//! such process ignores hooks, filters, helpers and configuration other than the broker's own.
//! Invariant: a secret is in no argument, no environment variable, no error and no file that outlives its operation.

mod broker;
mod bundle;
mod changes;
mod checkout;
mod checkout_error;
mod checkout_record;
mod collect_script;
mod command;
mod credential;
mod diff_lines;
mod directory_size;
mod error;
mod export;
mod garbage;
mod hardening;
mod host_resolver;
mod import;
mod inspect;
mod lock;
mod merge_tree;
mod mirror;
mod new_objects;
mod operation_dir;
mod path_pattern;
mod policy;
mod push;
mod quarantine;
mod redaction;
mod remote;
mod staging;
mod start_commit;
mod submodule;
mod tree;
mod tree_path;

pub use broker::{BrokerLimits, BrokerOptions, GitBroker, GitVersion, NetworkOptions};
pub use bundle::BundleError;
pub use changes::{ChangeKind, ChangedFile, CommitSummary};
pub use checkout::{BaseRevision, Checkout, CheckoutRequest, LinkCheckout, Owner};
pub use checkout_error::CheckoutError;
pub use collect_script::{
    BUNDLE_FILE, CollectRequest, CollectResult, CollectStatus, DEFAULT_COMMIT_SUBJECT, STATUS_FILE,
    StatusError, collect_script,
};
pub use credential::{GitCredential, KnownHosts};
pub use cynode_domain::git::{
    BranchName, CommitId, NameError, RepositoryUrl, TaskKey, UrlError, UrlPolicy,
};
pub use error::GitError;
pub use garbage::{GarbageReport, RetentionPolicy};
pub use host_resolver::{HostResolver, ResolvedHost, SharedResolver};
pub use import::{CollectedCommits, CommitRange, ImportError, ImportRequest, ImportTarget};
pub use mirror::{HistoryDepth, Mirror};
pub use path_pattern::{PathPattern, PatternError};
pub use policy::{ImportPolicy, PolicyFinding, PolicyRule, SecretScanner, Severity};
pub use push::{ForceMode, PushError, PushOutcome, PushRequest, PushResult};
pub use start_commit::{ConflictMode, MergeSource};
pub use submodule::Submodule;
