//! Interactive programs in real sandboxes.

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_sandbox::sandbox::{InteractiveProcess, InteractiveProgram};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::workbench::{SandboxWorkbench, TEST_TIMEOUT, limits, processes_naming};

fn shell_program(script: &str) -> InteractiveProgram {
    InteractiveProgram {
        owner: TaskId::generate(),
        argv: ["/bin/sh", "-c", script].map(str::to_owned).into(),
        env: BTreeMap::new(),
        has_proxy: false,
        limits: limits(),
    }
}

/// Preparing a sandbox blocks the thread.
async fn new_workbench() -> SandboxWorkbench {
    tokio::task::spawn_blocking(SandboxWorkbench::new).await.unwrap()
}

/// Reads everything a program writes, and how it ended.
async fn read_to_end(mut talk: InteractiveProcess) -> (String, String) {
    let mut text = String::new();
    let read = talk.stdout.read_to_string(&mut text);
    tokio::time::timeout(TEST_TIMEOUT, read).await.unwrap().unwrap();
    let ended = tokio::time::timeout(TEST_TIMEOUT, talk.control.wait_ended()).await.unwrap();
    (text, ended)
}

#[tokio::test]
async fn a_program_in_a_sandbox_is_talked_with_line_by_line() {
    let bench = new_workbench().await;
    let mut talk = bench
        .sandbox
        .spawn_interactive(shell_program("while read line; do echo \"you said $line\"; done"))
        .unwrap();
    let mut lines = BufReader::new(talk.stdout).lines();

    for word in ["one", "two"] {
        talk.stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        let line = tokio::time::timeout(TEST_TIMEOUT, lines.next_line()).await.unwrap().unwrap();
        assert_eq!(line.unwrap(), format!("you said {word}"));
    }
    drop(talk.stdin);

    let ended = tokio::time::timeout(TEST_TIMEOUT, talk.control.wait_ended()).await.unwrap();
    assert!(ended.contains('0'), "{ended}");
}

#[tokio::test]
async fn a_program_sees_the_variables_declared_for_it_and_no_others() {
    let bench = new_workbench().await;
    let env = BTreeMap::from([
        ("API_KEY".to_owned(), "s3cret".to_owned()),
        // Would affect the sandbox stages if it reached them.
        ("LD_PRELOAD".to_owned(), "/nowhere/evil.so".to_owned()),
    ]);
    let program = InteractiveProgram {
        env,
        ..shell_program("env | cut -d= -f1 | sort | tr '\\n' ' '; echo $API_KEY")
    };

    let (text, _) = read_to_end(bench.sandbox.spawn_interactive(program).unwrap()).await;

    let names: Vec<&str> = text.split_whitespace().filter(|name| *name != "_").collect();
    assert_eq!(names, ["API_KEY", "HOME", "LANG", "LD_PRELOAD", "PATH", "PWD", "s3cret"]);
}

#[tokio::test]
async fn a_program_has_no_network() {
    let bench = new_workbench().await;
    let interfaces = "cat /proc/net/dev | grep -c :";

    let (text, _) =
        read_to_end(bench.sandbox.spawn_interactive(shell_program(interfaces)).unwrap()).await;
    let talk = bench.sandbox.spawn_interactive(shell_program("true")).unwrap();
    let listener = tokio::time::timeout(TEST_TIMEOUT, talk.control.proxy_listener()).await.unwrap();

    assert_eq!(text.trim(), "1");
    assert!(listener.is_err(), "nothing listens for its connections");
}

#[tokio::test]
async fn the_proxy_is_the_only_way_out_of_a_sandbox() {
    let bench = new_workbench().await;
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = host.local_addr().unwrap().port();
    let script = format!(
        "cat /proc/net/dev | grep -c :; echo $HTTPS_PROXY $http_proxy
         perl -MIO::Socket::INET -e '
           $proxy = IO::Socket::INET->new(\"127.0.0.1:3128\"); print scalar <$proxy>;
           print IO::Socket::INET->new(\"127.0.0.1:{port}\") ? \"host\\n\" : \"alone\\n\"'"
    );
    let program = InteractiveProgram { has_proxy: true, ..shell_program(&script) };
    let talk = bench.sandbox.spawn_interactive(program).unwrap();

    let listener = tokio::time::timeout(TEST_TIMEOUT, talk.control.proxy_listener()).await;
    let accepted = tokio::time::timeout(TEST_TIMEOUT, listener.unwrap().unwrap().accept()).await;
    accepted.unwrap().unwrap().0.write_all(b"from outside\n").await.unwrap();
    let (text, ended) = read_to_end(talk).await;

    let proxy = "http://127.0.0.1:3128";
    assert_eq!(text, format!("1\n{proxy} {proxy}\nfrom outside\nalone\n"), "{ended}");
}

#[tokio::test]
async fn a_program_cannot_read_what_is_not_its_own() {
    let bench = new_workbench().await;
    let state = bench.state.path().display().to_string();

    let (text, _) = read_to_end(
        bench
            .sandbox
            .spawn_interactive(shell_program(&format!("ls {state} 2>&1; ls /root 2>&1")))
            .unwrap(),
    )
    .await;

    assert_eq!(text.matches("No such file").count(), 2, "{text}");
}

#[tokio::test]
async fn a_program_ends_with_the_one_who_talks_with_it() {
    let bench = new_workbench().await;
    let mut talk = bench
        .sandbox
        .spawn_interactive(shell_program("trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000"))
        .unwrap();
    let mut ready = [0; 5];
    tokio::time::timeout(TEST_TIMEOUT, talk.stdout.read_exact(&mut ready)).await.unwrap().unwrap();

    drop(talk);

    let gone = async {
        while !processes_naming(bench.state.path()).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, gone).await.unwrap();
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let bench = new_workbench().await;
    let program =
        InteractiveProgram { argv: vec!["/no/such/program".to_owned()], ..shell_program("") };

    let (_, ended) = read_to_end(bench.sandbox.spawn_interactive(program).unwrap()).await;

    assert!(ended.contains("/no/such/program cannot be started"), "{ended}");
    let left = bench.state.path().join("talks");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0);
}

#[tokio::test]
async fn a_program_that_uses_too_much_memory_is_ended() {
    let bench = new_workbench().await;
    let mut program = shell_program("exec perl -e '$x = \"x\" x 200_000_000; sleep 20'");
    program.limits.memory_mib = 50;

    let (_, ended) = read_to_end(bench.sandbox.spawn_interactive(program).unwrap()).await;

    assert!(ended.contains("memory"), "{ended}");
}
