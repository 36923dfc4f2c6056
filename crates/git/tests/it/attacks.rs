//! Ways in which a repository makes git execute programs. Each creates the canary if it works.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, git, git_program, write_script};

/// Changes the repository with this work tree.
pub(crate) type Attack = fn(&Fixture, &Path);

/// Attributes and a file that select the drivers of the attacks.
pub(crate) const ATTRIBUTES: &str = "*.evil filter=evil diff=evil merge=evil\n";

const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// One test for each attack.
macro_rules! attack_tests {
    ($check:path) => {
        $crate::attacks::attack_tests! { @each $check,
            hooks_are_not_executed: hooks,
            hooks_at_another_path_are_not_executed: hooks_path,
            fsmonitor_is_not_executed: fsmonitor,
            ssh_command_is_not_executed: ssh_command,
            pagers_are_not_executed: pagers,
            editors_and_askpass_are_not_executed: editors,
            external_diff_is_not_executed: external_diff,
            textconv_is_not_executed: textconv,
            filters_are_not_executed: filters,
            filter_processes_are_not_executed: filter_process,
            merge_drivers_are_not_executed: merge_driver,
            aliases_are_not_executed: aliases,
            includes_are_not_executed: includes,
            alternate_refs_command_is_not_executed: alternate_refs_command,
            pack_objects_hook_is_not_executed: pack_objects_hook,
            gpg_is_not_executed: signatures,
            credential_helpers_are_not_executed: credential_helper,
            rewritten_urls_are_not_used: url_rewrite,
            promisor_remotes_are_not_reached: promisor,
            proxies_are_not_executed: git_proxy,
        }
    };
    (@each $check:path, $($name:ident: $attack:ident,)*) => {$(
        #[tokio::test]
        async fn $name() {
            $check($crate::attacks::$attack).await;
        }
    )*};
}
pub(crate) use attack_tests;

fn append_config(work_tree: &Path, text: &str) {
    let path = work_tree.join(".git/config");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{text}").unwrap();
}

/// Appends configuration in which `@` is the canary's script.
fn add_config(fixture: &Fixture, work_tree: &Path, text: &str) {
    let script = fixture.canary_script();
    append_config(work_tree, &text.replace('@', script.to_str().unwrap()));
}

fn write_hooks(fixture: &Fixture, directory: &Path) {
    for hook in HOOKS {
        write_script(&directory.join(hook), &format!("{}\nexit 0", fixture.canary_command()));
    }
}

pub(crate) fn hooks(fixture: &Fixture, work_tree: &Path) {
    write_hooks(fixture, &work_tree.join(".git/hooks"));
    append_config(work_tree, "[receive]\n\tprocReceiveRefs = refs/for");
}

pub(crate) fn hooks_path(fixture: &Fixture, work_tree: &Path) {
    let directory = fixture.path("evil-hooks");
    write_hooks(fixture, &directory);
    append_config(work_tree, &format!("[core]\n\thooksPath = {}", directory.display()));
}

pub(crate) fn fsmonitor(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[core]\n\tfsmonitor = @\n\tfsmonitorHookVersion = 1");
}

pub(crate) fn ssh_command(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[core]\n\tsshCommand = @\n[ssh]\n\tvariant = simple");
}

pub(crate) fn pagers(fixture: &Fixture, work_tree: &Path) {
    let commands = "log = @\n\tdiff = @\n\trev-list = @\n\tfor-each-ref = @\n\tconfig = @";
    add_config(fixture, work_tree, &format!("[core]\n\tpager = @\n[pager]\n\t{commands}"));
}

pub(crate) fn editors(fixture: &Fixture, work_tree: &Path) {
    let text = "[core]\n\teditor = @\n\taskPass = @\n[sequence]\n\teditor = @";
    add_config(fixture, work_tree, text);
}

pub(crate) fn external_diff(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[diff]\n\texternal = @\n[diff \"evil\"]\n\tcommand = @");
}

pub(crate) fn textconv(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[diff \"evil\"]\n\ttextconv = @\n\tcachetextconv = true");
}

pub(crate) fn filters(fixture: &Fixture, work_tree: &Path) {
    add_config(
        fixture,
        work_tree,
        "[filter \"evil\"]\n\tsmudge = @\n\tclean = @\n\trequired = true",
    );
}

pub(crate) fn filter_process(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[filter \"evil\"]\n\tprocess = @\n\trequired = true");
}

pub(crate) fn merge_driver(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[merge \"evil\"]\n\tdriver = @ %O %A %B");
}

pub(crate) fn aliases(fixture: &Fixture, work_tree: &Path) {
    let names =
        ["upload-pack", "receive-pack", "fetch", "diff-tree", "rev-parse", "bundle", "evil"];
    let lines: Vec<String> = names.iter().map(|name| format!("\t{name} = !@")).collect();
    add_config(fixture, work_tree, &format!("[alias]\n{}", lines.join("\n")));
}

pub(crate) fn includes(fixture: &Fixture, work_tree: &Path) {
    let included = fixture.path("included");
    let script = fixture.canary_script();
    let hooks = fixture.path("included-hooks");
    write_hooks(fixture, &hooks);
    let content =
        format!("[core]\n\tfsmonitor = {}\n\thooksPath = {}\n", script.display(), hooks.display());
    fs::write(&included, content).unwrap();
    let path = included.display();
    append_config(
        work_tree,
        &format!("[include]\n\tpath = {path}\n[includeIf \"gitdir:/\"]\n\tpath = {path}"),
    );
}

pub(crate) fn alternate_refs_command(fixture: &Fixture, work_tree: &Path) {
    let other = fixture.path("alternate");
    git(fixture.directory.path(), &["init", "-q", "alternate"]);
    let info = work_tree.join(".git/objects/info");
    fs::create_dir_all(&info).unwrap();
    let objects = other.join(".git/objects");
    fs::write(info.join("alternates"), format!("{}\n", objects.display())).unwrap();
    add_config(fixture, work_tree, "[core]\n\talternateRefsCommand = @");
}

pub(crate) fn pack_objects_hook(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[uploadpack]\n\tpackObjectsHook = @");
}

pub(crate) fn signatures(fixture: &Fixture, work_tree: &Path) {
    let text = "[gpg]\n\tprogram = @\n[gpg \"ssh\"]\n\tprogram = @\n[log]\n\tshowSignature = true\n\
        [commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked";
    // A commit that claims to be signed.
    let tree = git(work_tree, &["rev-parse", "HEAD^{tree}"]);
    let parent = git(work_tree, &["rev-parse", "HEAD"]);
    let person = "Ada <ada@example.com> 1700000000 +0000";
    let commit = format!(
        "tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    );
    let input = fixture.path("signed");
    fs::write(&input, commit).unwrap();
    let arguments = ["hash-object", "-t", "commit", "-w", input.to_str().unwrap()];
    let signed = git(work_tree, &arguments);
    git(work_tree, &["update-ref", "HEAD", &signed]);
    add_config(fixture, work_tree, text);
}

pub(crate) fn credential_helper(fixture: &Fixture, work_tree: &Path) {
    add_config(fixture, work_tree, "[credential]\n\thelper = \"!@\"");
}

pub(crate) fn url_rewrite(fixture: &Fixture, work_tree: &Path) {
    let text = "[url \"ext::@ \"]\n\tinsteadOf = /\n\tpushInsteadOf = /\n\
        [protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always";
    add_config(fixture, work_tree, text);
}

pub(crate) fn promisor(fixture: &Fixture, work_tree: &Path) {
    let text = "[protocol \"ext\"]\n\tallow = always\n\
        [remote \"evil\"]\n\turl = ext::@\n\tuploadpack = @\n\tpromisor = true\n\tpartialclonefilter = blob:none";
    add_config(fixture, work_tree, text);
}

pub(crate) fn git_proxy(fixture: &Fixture, work_tree: &Path) {
    let text = "[core]\n\tgitProxy = @\n[http]\n\tproxy = http://127.0.0.1:1\n[remote \"origin\"]\n\tvcs = ext";
    add_config(fixture, work_tree, text);
}

/// A control: the attacks do work where git is run without precautions.
#[tokio::test]
async fn plain_git_executes_what_the_broker_does_not() {
    let cases: [(&str, Attack, &[&str]); 9] = [
        ("hooks", hooks, &["commit", "-q", "--allow-empty", "-m", "x"]),
        ("hooks path", hooks_path, &["commit", "-q", "--allow-empty", "-m", "x"]),
        ("fsmonitor", fsmonitor, &["status"]),
        ("external diff", external_diff, &["diff"]),
        ("textconv", textconv, &["diff"]),
        ("filters", filters, &["add", "x.evil"]),
        ("filter process", filter_process, &["add", "x.evil"]),
        ("alias", aliases, &["evil"]),
        ("includes", includes, &["status"]),
    ];
    for (name, attack, arguments) in cases {
        let fixture = Fixture::new().await;
        fixture.commit_file(".gitattributes", ATTRIBUTES);
        fixture.commit_file("x.evil", "x\n");
        attack(&fixture, &fixture.source());
        fs::write(fixture.source().join("x.evil"), "changed\n").unwrap();
        let mut command = Command::new(git_program());
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).args(arguments);
        command.current_dir(fixture.source()).output().unwrap();
        assert!(fixture.path("canary").exists(), "{name}");
    }
}
