//! The programs, for bash, in the checkout of a repository. `@CANARY@` is a file that appears if a command of them runs outside
//! of a sandbox, `@SECRET@` a file of the node, `@WORKSPACE@` the checkout as the node sees it, `@MIRRORS@` the node's mirrors.

/// Shared by all programs.
pub(super) const PRELUDE: &str = r#"
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Eve GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=eve@example.com

# The configuration and hooks of the checkout are read-only; a whole directory in its place is not.
own() { [ -e .git/mine ] || { cp -r .git .copy && mv .git .before && mv .copy .git && touch .git/mine && rm -rf .before; echo .before >> .git/info/exclude; } 2>/dev/null; }
conf() { own; printf '%b\n' "$1" >> .git/config; }
script() { printf '#!/bin/sh\ntouch @CANARY@\n' > "$1"; chmod +x "$1"; }
# A change to a file that the drivers of the attacks are for.
change() { echo '*.evil filter=evil diff=evil merge=evil' > .gitattributes; echo "${1:-changed}" > x.evil; }
commit() { git add -A && git commit -qm "${1:-more}"; }
# An entry of a tree that git itself would refuse to add.
tree_with() { printf '%s %s %s\t%s\0' "$1" "$2" "$3" "$4" | git mktree -z --missing 2>/dev/null; }
commit_tree() { git update-ref HEAD "$(git commit-tree -p HEAD -m crafted "$1")"; }
raw_tree() { printf "$1 $2\0%b" "$(git rev-parse HEAD:README.md | sed 's/../\\x&/g')" | git hash-object -w -t tree --literally --stdin; }
"#;

/// A program, and the command of git that would run something of it in the checkout, for the control.
pub(super) struct HostileRepository {
    pub(super) name: &'static str,
    pub(super) body: &'static str,
    /// `None` if the program is after something other than running a command, or needs a server.
    pub(super) trigger: Option<&'static str>,
}

const fn executes(
    name: &'static str,
    body: &'static str,
    trigger: &'static str,
) -> HostileRepository {
    HostileRepository { name, body, trigger: Some(trigger) }
}

const fn misleads(name: &'static str, body: &'static str) -> HostileRepository {
    HostileRepository { name, body, trigger: None }
}

#[rustfmt::skip]
pub(super) const PROGRAMS: &[HostileRepository] = &[
    // Commands of the configuration.
    executes("hooks", "own; change; for h in pre-commit post-commit post-checkout post-index-change reference-transaction pre-push update post-update pre-receive post-receive pre-auto-gc post-rewrite post-merge; do rm -f .git/hooks/$h; script .git/hooks/$h; done", "git commit -qam x"),
    executes("hooks at another path", "change; mkdir -p evil; for h in pre-commit post-commit post-index-change reference-transaction; do script evil/$h; done; conf '[core]\\n\\thooksPath = @WORKSPACE@/evil'", "git commit -qam x"),
    executes("a file system monitor", "change; conf '[core]\\n\\tfsmonitor = touch @CANARY@;'", "git status"),
    executes("a filter for clean files", "change; conf '[filter \"evil\"]\\n\\tclean = touch @CANARY@; cat\\n\\trequired = true'", "git add -A"),
    executes("a filter for checked-out files", "change; git add -A; git commit -qm x; conf '[filter \"evil\"]\\n\\tsmudge = touch @CANARY@; cat\\n\\trequired = true'; rm x.evil", "git checkout -q -f HEAD"),
    executes("a process as a filter", "change; conf '[filter \"evil\"]\\n\\tprocess = touch @CANARY@\\n\\trequired = true'", "git add -A"),
    executes("filters in the repository's own attributes", "own; change; mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; conf '[filter \"evil\"]\\n\\tclean = touch @CANARY@; cat'", "git add -A"),
    executes("attributes of another file", "own; change; echo '* filter=evil' > .git/attr; conf '[core]\\n\\tattributesFile = @WORKSPACE@/.git/attr\\n[filter \"evil\"]\\n\\tclean = touch @CANARY@; cat'", "git add -A"),
    executes("a program for differences", "change; commit; change again; conf '[diff]\\n\\texternal = touch @CANARY@;'", "git diff"),
    executes("a driver for differences", "change; commit; change again; conf '[diff \"evil\"]\\n\\tcommand = touch @CANARY@;'", "git diff"),
    executes("a converter to text", "change; commit; change again; conf '[diff \"evil\"]\\n\\ttextconv = touch @CANARY@; cat\\n\\tcachetextconv = true'", "git diff"),
    executes("a driver for merges", "change one; commit; git checkout -qb other HEAD~1; change two; commit; conf '[merge \"evil\"]\\n\\tdriver = touch @CANARY@; true'", "git merge -q cynode/change"),
    executes("an alias", "change; conf '[alias]\\n\\tevil = !touch @CANARY@\\n\\tbundle = !touch @CANARY@\\n\\trev-parse = !touch @CANARY@'", "git evil"),
    executes("an included file", "own; change; printf '[core]\\n\\tfsmonitor = touch @CANARY@;\\n' > .git/more; conf '[include]\\n\\tpath = more'", "git status"),
    executes("a file that is included on a condition", "own; change; printf '[core]\\n\\tfsmonitor = touch @CANARY@;\\n' > .git/more; conf '[includeIf \"gitdir:/\"]\\n\\tpath = more\\n[includeIf \"onbranch:**\"]\\n\\tpath = more'", "git status"),
    executes("the configuration of a work tree", "change; conf '[core]\\n\\trepositoryFormatVersion = 1\\n[extensions]\\n\\tworktreeConfig = true'; printf '[core]\\n\\tfsmonitor = touch @CANARY@;\\n' > .git/config.worktree", "git status"),
    executes("an editor", "change; conf '[core]\\n\\teditor = touch @CANARY@;\\n[sequence]\\n\\teditor = touch @CANARY@;'", "git commit --allow-empty"),
    misleads("a pager", "change; conf '[core]\\n\\tpager = touch @CANARY@;\\n[pager]\\n\\tlog = touch @CANARY@;\\n\\tdiff = touch @CANARY@;'"),
    executes("a program for signatures", "own; change; script evil.sh; conf '[gpg]\\n\\tprogram = @WORKSPACE@/evil.sh\\n[commit]\\n\\tgpgSign = true\\n[log]\\n\\tshowSignature = true'", "git commit --allow-empty -qm x"),
    executes("a command for remotes", "change; conf '[core]\\n\\tsshCommand = touch @CANARY@;\\n[remote \"evil\"]\\n\\turl = ssh://h.example/r'", "git fetch evil"),
    executes("a transport that is a program", "change; conf '[protocol \"ext\"]\\n\\tallow = always\\n[remote \"evil\"]\\n\\turl = ext::sh -c touch% @CANARY@'", "git fetch evil"),
    executes("an address that is replaced", "change; conf '[protocol \"ext\"]\\n\\tallow = always\\n[url \"ext::sh -c touch% @CANARY@ \"]\\n\\tinsteadOf = /\\n\\tpushInsteadOf = /'", "git fetch /r"),
    executes("a helper for credentials", "change; conf '[credential]\\n\\thelper = !touch @CANARY@;'", "sh -c 'echo url=https://h.example | git credential fill'"),
    executes("another program for packs", "change; conf '[remote \"evil\"]\\n\\turl = .\\n\\tuploadpack = touch @CANARY@;\\n\\treceivepack = touch @CANARY@;'", "git fetch evil"),
    executes("a command for references of alternates", "own; change; git init -q alternate; mkdir -p .git/objects/info; echo @WORKSPACE@/alternate/.git/objects > .git/objects/info/alternates; conf '[core]\\n\\talternateRefsCommand = touch @CANARY@;'", "git fetch ."),
    executes("missing objects from a remote that is a program", "change; conf '[core]\\n\\trepositoryFormatVersion = 1\\n[extensions]\\n\\tpartialClone = evil\\n[protocol \"ext\"]\\n\\tallow = always\\n[remote \"evil\"]\\n\\turl = ext::sh -c touch% @CANARY@\\n\\tpromisor = true'; rm -f .git/objects/info/alternates", "git cat-file -p 1111111111111111111111111111111111111111"),
    misleads("a hook for packs", "change; conf '[uploadpack]\\n\\tpackObjectsHook = touch @CANARY@;\\n\\tallowFilter = true'"),
    misleads("a proxy that is a program", "change; conf '[core]\\n\\tgitProxy = touch @CANARY@;\\n[http]\\n\\tproxy = http://127.0.0.1:1\\n[remote \"origin\"]\\n\\tvcs = ext'"),
    misleads("maintenance and automatic collection", "own; change; script .git/hooks/pre-auto-gc; conf '[gc]\\n\\tauto = 1\\n\\tautoDetach = true\\n[maintenance]\\n\\tauto = true\\n\\tstrategy = incremental'"),
    // A repository that is elsewhere.
    misleads("a link in place of the repository", "own; rm -rf .git; ln -s @MIRRORS@ .git; change"),
    misleads("a link to a directory of the node in place of the repository", "own; rm -rf .git; ln -s /etc .git; change"),
    misleads("a file in place of the repository", "own; rm -rf .git; echo 'gitdir: @MIRRORS@' > .git; change"),
    misleads("a link in place of the configuration", "own; rm -f .git/config; ln -s @SECRET@ .git/config; change"),
    misleads("a link in place of the head", "own; rm -f .git/HEAD; ln -s @SECRET@ .git/HEAD; change"),
    misleads("a link in place of the index", "own; rm -f .git/index; ln -s @SECRET@ .git/index; change"),
    misleads("a link in place of the objects", "own; mv .git/objects .git/o; ln -s @MIRRORS@ .git/objects; change"),
    misleads("a link in place of a branch", "own; rm -f .git/refs/heads/cynode/change; mkdir -p .git/refs/heads/cynode; ln -s @SECRET@ .git/refs/heads/cynode/change; change"),
    misleads("a link in place of the hooks", "own; rm -rf .git/hooks; ln -s @MIRRORS@ .git/hooks; change"),
    misleads("a pipe in place of the configuration", "own; rm -f .git/config; mkfifo .git/config; change"),
    misleads("alternates in directories of the node", "own; change; mkdir -p .git/objects/info; printf '@MIRRORS@\\n/etc\\n../../../../git/mirrors\\n' > .git/objects/info/alternates"),
    misleads("another common directory", "own; change; echo @MIRRORS@ > .git/commondir"),
    misleads("a work tree elsewhere", "own; conf '[core]\\n\\tworktree = /etc'; change"),
    misleads("a work tree of another repository", "own; change; git worktree add -q ../tmp/other 2>/dev/null; mkdir -p .git/worktrees/x; echo @MIRRORS@ > .git/worktrees/x/gitdir; echo ../../.. > .git/worktrees/x/commondir"),
    misleads("a shallow boundary that does not exist", "own; change; commit; echo 1111111111111111111111111111111111111111 > .git/shallow"),
    misleads("a head outside of the references", "own; change; echo 'ref: refs/heads/../../../../../etc/passwd' > .git/HEAD"),
    misleads("replaced and grafted commits", "own; echo secret-key-material > a; commit; echo clean > a; commit; git replace HEAD~1 HEAD~2; mkdir -p .git/info; echo \"$(git rev-parse HEAD) $(git rev-parse HEAD~2)\" > .git/info/grafts"),
    misleads("references of the broker", "own; change; commit; git update-ref refs/cynode/tasks/other HEAD; git update-ref refs/heads/main HEAD; git tag -f v1"),
    // Submodules.
    misleads("a submodule at a program", "change; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ext::sh -c touch% @CANARY@\\n' > .gitmodules; git update-index --add --cacheinfo 160000,2222222222222222222222222222222222222222,s; git commit -qm s -- 2>/dev/null || git commit -qm s"),
    misleads("a submodule that is updated by a program", "change; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = https://h.example/s\\n\\tupdate = !touch @CANARY@\\n' > .gitmodules"),
    misleads("a submodule whose address is an option", "change; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = --upload-pack=touch @CANARY@\\n' > .gitmodules"),
    misleads("a submodule above the checkout", "change; printf '[submodule \"../../escape\"]\\n\\tpath = ../../escape\\n\\turl = https://h.example/s\\n' > .gitmodules"),
    misleads("a submodule whose path is an option", "change; printf '[submodule \"s\"]\\n\\tpath = -s\\n\\turl = https://h.example/s\\n' > .gitmodules; git update-index --add --cacheinfo 160000,2222222222222222222222222222222222222222,-s"),
    misleads("a submodule in the repository's own directory", "own; change; mkdir -p .git/modules/s/hooks; cp .git/HEAD .git/config .git/modules/s/; script .git/modules/s/hooks/post-checkout; mkdir s; echo 'gitdir: ../.git/modules/s' > s/.git"),
    misleads("a link in place of the list of submodules", "change; ln -sf @SECRET@ .gitmodules"),
    // Names.
    misleads("an entry with the name of the repository's directory", "own; commit_tree $(raw_tree 100644 .git)"),
    misleads("an entry above the tree", "own; commit_tree $(raw_tree 100644 ..)"),
    misleads("an entry with a slash", "own; commit_tree $(raw_tree 100644 '..\\/..\\/escape')"),
    misleads("an entry that differs in case", "own; commit_tree $(tree_with 040000 tree $(tree_with 100755 blob $(git rev-parse HEAD:README.md) config) .GIT)"),
    misleads("an entry with a short name of NTFS", "own; commit_tree $(tree_with 040000 tree $(tree_with 100755 blob $(git rev-parse HEAD:README.md) config) 'git~1')"),
    misleads("an entry with a stream of NTFS", "own; commit_tree $(tree_with 100644 blob $(git rev-parse HEAD:README.md) '.git::$INDEX_ALLOCATION')"),
    misleads("an entry with characters that HFS ignores", "own; commit_tree $(tree_with 100644 blob $(git rev-parse HEAD:README.md) \"$(printf '.g\\342\\200\\214it')\")"),
    misleads("entries that collide", "echo one > Readme.md; echo two > readme.MD; mkdir -p D d; echo 1 > D/x; echo 2 > d/x; commit"),
    misleads("names that are options", "for n in --upload-pack=x --output=@CANARY@ -rf --; do echo x > ./$n; done; git add -A -- .; git commit -qm names"),
    misleads("names with control characters", "echo x > \"$(printf 'a\\nb')\"; echo x > \"$(printf 'a\\tb')\"; echo x > \"$(printf '\\033[31mred')\"; echo x > \"$(printf '\\377\\376')\"; echo x > '\"; touch @CANARY@; \"'; echo x > '$(touch @CANARY@)'; commit"),
    misleads("a branch that is an option", "own; change; commit; mkdir -p .git/refs/heads; git rev-parse HEAD > '.git/refs/heads/--output=x'; printf 'ref: refs/heads/--output=x\\n' > .git/HEAD"),
    misleads("references with unusual names", "own; change; commit; h=$(git rev-parse HEAD); printf '# pack-refs with: peeled fully-peeled sorted\\n%s refs/heads/a..b\\n%s refs/heads/../../x\\n%s refs/heads/$(touch @CANARY@)\\n' $h $h $h > .git/packed-refs"),
    misleads("a message that is a command", "change; git add -A; printf '$(touch @CANARY@)\\n`touch @CANARY@`\\033]0;x\\007\\n--exec=touch @CANARY@' | git commit -qF -"),
    misleads("a person that is a command", "change; git add -A; git -c user.name='$(touch @CANARY@)' -c user.email='--output=@CANARY@' commit -qm person"),
    // Links in the files.
    misleads("a link to a file of the node", "ln -s @SECRET@ link; commit"),
    misleads("a directory that becomes a link", "mkdir d; echo 1 > d/secret; commit; rm -r d; ln -s $(dirname @SECRET@) d; commit"),
    misleads("files below a link", "own; b=$(git rev-parse HEAD:README.md); commit_tree $(printf '120000 blob %s\\td\\0' $b | git mktree -z)"),
    misleads("files of the node with hard links", "ln @SECRET@ hard 2>/dev/null; ln /etc/passwd hard 2>/dev/null; echo x > y; commit"),
    misleads("a link in place of the collected files", "change; ln -s @SECRET@ \"$CYNODE_ARTIFACTS_DIR/changes.bundle\"; ln -s @SECRET@ \"$CYNODE_ARTIFACTS_DIR/status\""),
    // What changes while it is read, and what is too much.
    misleads("a process that replaces the repository afterwards", "change; (trap '' HUP TERM; sleep 1; rm -rf .git; ln -s @MIRRORS@ .git) > /dev/null 2>&1 &"),
    misleads("locks that stay", "own; change; touch .git/index.lock .git/HEAD.lock .git/config.lock .git/packed-refs.lock .git/shallow.lock"),
    misleads("a deep tree", "p=.; for n in $(seq 400); do p=$p/d; done; mkdir -p $p && echo x > $p/x; commit"),
    misleads("a damaged object", "own; change; commit; f=$(find .git/objects -type f -path '*/??/*' | head -1); chmod u+w $f; echo damaged > $f"),
];
