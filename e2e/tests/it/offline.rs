//! A system in a network namespace with a loopback device only.

use std::fs;

use crate::processes::wait_until_none_left;
use crate::programs::{ProgramOutput, binary_path, isolated_shell};
use crate::system::PATIENCE;

/// Starts a system, runs one task and stops the system. Clients must be in the namespace too.
const SCRIPT: &str = r#"
set -eu
ip link set lo up
"$CYNODE" up --json --listen 127.0.0.1:0 --data-dir data > up.out 2> up.err &
up=$!
trap 'kill -TERM $up 2> /dev/null; wait $up || true' EXIT
tries=0
until [ -s up.out ]; do
    if [ $tries -gt 800 ] || ! kill -0 $up; then
        cat up.err >&2
        exit 70
    fi
    tries=$((tries + 1))
    sleep 0.05
done
cat "/proc/$up/net/route" > routes
timeout 40 "$CYNORK" --data-dir data task create --command 'echo hello' --wait
"#;

#[test]
fn a_task_completes_in_a_network_namespace_with_loopback_only() {
    let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
    fs::write(home.path().join("offline.sh"), SCRIPT).unwrap();
    let mut command = isolated_shell(home.path());
    command.args(["-c", "exec unshare --map-root-user --net /bin/sh offline.sh"]);
    command.env("CYNODE", binary_path("cynode")).env("CYNORK", binary_path("cynork"));

    let said = ProgramOutput::from(command.output().unwrap());

    let left = wait_until_none_left(home.path(), PATIENCE);
    // Without permission for namespaces, `unshare` reports an error here and the test fails.
    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"), "{said:?}");
    let routes = fs::read_to_string(home.path().join("routes")).unwrap();
    assert_eq!(routes.lines().count(), 1, "the system has a route to a network: {routes}");
    assert!(left.is_empty(), "left behind: {left:?}");
}
