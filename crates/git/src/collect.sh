#!/bin/sh
# Collects the work of a job as a bundle. Runs inside the sandbox, with the rights of the job: whatever the job's
# repository makes git execute here gains nothing. Its result is data that the broker checks.
#
#   WORKSPACE OUTPUT BASE BRANCH SUBJECT [EXCLUDED-PATTERN...]
#
# The job's configuration, hooks, index, exclusions, grafts and replacements are left out: a new repository in OUTPUT
# borrows the job's objects, and the work tree is compared with the job's HEAD. Writes OUTPUT/status, and
# OUTPUT/commits.bundle if there is something to collect.
set -u
umask 077
workspace=$1 output=$2 base=$3 branch=$4 subject=$5
shift 5
scratch=$output/scratch.git
job_git=$workspace/.git

unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
export HOME="$output" XDG_CONFIG_HOME="$output" LC_ALL=C GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat GIT_EDITOR=false
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_ALLOW_PROTOCOL= GIT_NO_REPLACE_OBJECTS=1
export GIT_NO_LAZY_FETCH=1 GIT_LITERAL_PATHSPECS=1
export GIT_AUTHOR_NAME=CyNode GIT_AUTHOR_EMAIL=agent@cynode.invalid
export GIT_COMMITTER_NAME=CyNode GIT_COMMITTER_EMAIL=agent@cynode.invalid

finish() {
	rm -rf "$scratch"
	{
		printf 'result=%s\n' "$1"
		printf 'detail=%s\n' "${2-}"
		printf 'head=%s\n' "${head-}"
		printf 'job_ref=%s\n' "${job_ref-}"
		printf 'committed=%s\n' "${committed-no}"
	} >"$output/status.part" && mv -f "$output/status.part" "$output/status"
	exit 0
}

# git on the job's repository: only to read where HEAD is.
job() {
	git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false \
		--git-dir="$job_git" "$@" 2>/dev/null
}

# git on our own repository and the job's files.
own() {
	git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false -c gc.auto=0 \
		-c core.attributesFile=/dev/null -c core.excludesFile=/dev/null -c core.bare=false -c core.autocrlf=false \
		-c commit.gpgSign=false -c advice.addEmbeddedRepo=false -c safe.directory='*' \
		--git-dir="$scratch" --work-tree="$workspace" "$@"
}

rm -rf "$scratch" "$output/commits.bundle" "$output/status"
[ -d "$job_git" ] && [ ! -L "$job_git" ] || finish failed 'the workspace has no repository'
cd "$workspace" || finish failed 'the workspace cannot be entered'
# Git would wait for ever for a pipe in place of a file that it reads.
pipe=$(find . -type p \( -name '.git*' -o -path '*/.git/*' \) -print 2>/dev/null | head -n 1)
[ -z "$pipe" ] || finish failed 'a file that git reads is a pipe'

job_ref=$(job symbolic-ref -q HEAD) || job_ref=
head=$(job rev-parse -q --verify 'HEAD^{commit}') ||
	head=$(job rev-parse -q --verify "refs/heads/$branch^{commit}") ||
	head=$base

git init -q --bare --template= "$scratch" || finish failed 'git init failed'
mkdir -p "$scratch/objects/info" || finish failed 'the output cannot be written'
printf '%s\n' "$job_git/objects" >"$scratch/objects/info/alternates"
mkdir -p "$scratch/info" && printf '%s\n' "$@" >"$scratch/info/exclude"
if [ -f "$job_git/shallow" ] && [ ! -L "$job_git/shallow" ]; then
	cp "$job_git/shallow" "$scratch/shallow"
fi
own cat-file -e "$head^{commit}" 2>/dev/null || finish failed 'the commit of HEAD is missing'
own cat-file -e "$base^{commit}" 2>/dev/null || finish failed 'the base commit is missing'

own read-tree "$head" || finish failed 'git read-tree failed'
own add -A . >"$output/add.log" 2>&1 || finish failed 'git add failed'
tree=$(own write-tree) || finish failed 'git write-tree failed'
if [ "$tree" != "$(own rev-parse "$head^{tree}")" ]; then
	head=$(own commit-tree -p "$head" -m "$subject" "$tree") ||
		finish failed 'git commit-tree failed'
	committed=yes
fi
[ "$head" != "$base" ] || finish unchanged
own update-ref "refs/heads/$branch" "$head" || finish failed 'git update-ref failed'
own bundle create -q "$output/commits.bundle.part" "refs/heads/$branch" "^$base" ||
	finish failed 'git bundle failed'
mv -f "$output/commits.bundle.part" "$output/commits.bundle"
finish bundled
