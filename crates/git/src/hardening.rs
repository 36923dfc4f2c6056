//! The environment and configuration of every git process of the broker.
//!
//! Invariant: git reads no configuration file of the system or of a user, runs no hook, filter, helper, pager or
//! editor, and reaches only the protocol that the operation names.

use std::ffi::OsString;
use std::path::Path;

use cynode_runtime::child_env::Allowlist;

/// Where git finds `ssh` helpers and the shell's programs; its own programs are in its exec path.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The tree without entries, which git knows without storing it. Used as the source of attributes.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A larger allocation ends git: a delta of a few bytes can claim any size. The list of objects of the largest
/// public repositories fits.
const MAX_ALLOCATION: &str = "4g";

/// The same for objects that a job made.
pub(crate) const MAX_ALLOCATION_FOR_JOBS: &str = "512m";

/// Configuration of every command. It beats the configuration of the repository.
pub(crate) const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.alternateRefsCommand", "true"),
    ("core.protectNTFS", "true"),
    ("core.protectHFS", "true"),
    ("core.quotePath", "true"),
    // Larger files are streamed, and never held in memory.
    ("core.bigFileThreshold", "32m"),
    ("attr.tree", EMPTY_TREE),
    ("color.ui", "false"),
    ("commit.gpgSign", "false"),
    ("credential.helper", ""),
    ("diff.renames", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("gpg.program", "/bin/false"),
    ("gpg.ssh.program", "/bin/false"),
    ("gpg.x509.program", "/bin/false"),
    // The server answers for the address that was allowed, and for no other. A credential never follows a redirect.
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
    ("http.sslVerify", "true"),
    ("init.templateDir", ""),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    ("transfer.credentialsInUrl", "die"),
    ("transfer.fsckObjects", "true"),
    // Objects arrive in packs, so that a fetch that is interrupted leaves no loose objects.
    ("transfer.unpackLimit", "1"),
];

/// Faults of old, real history that do no harm: dates, names and file modes that early programs wrote wrong.
///
/// Every fault that could mislead a program stays an error: `.git` and `..` in trees, hostile `.gitmodules`,
/// duplicate or unsorted entries.
pub(crate) const TOLERATED_FSCK_FAULTS: &[&str] = &[
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badFilemode",
    "badName",
    "badTagName",
    "badTimezone",
    "emptyName",
    "extraHeaderEntry",
    "gitmodulesParse",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTaggerEntry",
    "multipleAuthors",
    "nullSha1",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
];

/// Options for `git upload-pack` and `git receive-pack` of a repository on this machine: git does not pass the
/// configuration of its environment to them.
///
/// A path that the operator named may belong to another user, hence `safe.directory`.
pub(crate) const LOCAL_SERVICE_OPTIONS: &str = "-c 'safe.directory=*' -c core.hooksPath=/dev/null \
    -c core.fsmonitor=false -c core.alternateRefsCommand=true -c gc.auto=0 -c maintenance.auto=false \
    -c receive.autogc=false -c receive.denyCurrentBranch=refuse -c receive.updateServerInfo=false \
    -c receive.certNonceSeed= -c uploadpack.allowAnySHA1InWant=true -c uploadpack.allowFilter=false";

/// What a git process inherits of the broker's environment: nothing.
pub(crate) fn inherited_variables() -> Allowlist {
    Allowlist::none()
}

/// The environment of every git process. `home` is an empty directory of the broker.
pub(crate) fn environment(home: &Path, protocol: &str) -> Vec<(&'static str, OsString)> {
    let fixed = [
        ("PATH", PATH),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_PROTOCOL_FROM_USER", "0"),
        ("GIT_ALLOW_PROTOCOL", protocol),
        // A partial clone would fetch what is missing, from where its configuration says.
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_ADVICE", "0"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "/bin/false"),
        ("GIT_SEQUENCE_EDITOR", "/bin/false"),
        ("GIT_ALLOC_LIMIT", MAX_ALLOCATION),
    ];
    let mut environment: Vec<_> =
        fixed.into_iter().map(|(name, value)| (name, OsString::from(value))).collect();
    // A command without a repository does not look for one above the broker's directory.
    let ceiling = home.parent().unwrap_or(home).as_os_str().to_owned();
    let home = home.as_os_str().to_owned();
    environment.extend([
        ("HOME", home.clone()),
        ("XDG_CONFIG_HOME", home),
        ("GIT_CEILING_DIRECTORIES", ceiling),
    ]);
    environment
}

/// A text as one word of `/bin/sh`.
pub(crate) fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
