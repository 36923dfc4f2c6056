//! Exchanges with models, recorded and replayed by the real process.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use crate::process::{PmaDataDir, PmaProcess, SECRET};

const ROLE: &str = "project_manager";
const HANDOFF: &str = r#"{"context":{"user":{"id":"01900000-0000-7000-8000-000000000001","handle":"ada"},
    "trace_id":"t","agent_token":"cyn_pm_0123456789abcdefghij","preferences":{"effective":{},"skipped":[]},
    "skill":""},"body":{"node":"collect_result","situation":"SITUATION","attempts":1}}"#;
/// The stream of egress: one chunk with the whole call, and the end.
const ANSWER: &str = concat!(
    r#"data: {"id":"1","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,"#,
    r#""finish_reason":"tool_calls","delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c","#,
    r#""type":"function","function":{"name":"respond","arguments":"{\"with\":\"retry\",\"reason\":\"it may pass\"}"}}]}}]}"#,
    "\n\ndata: [DONE]\n\n",
);

/// Starts a server that answers every request like egress; returns its address.
fn start_egress() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer_request(&mut stream.unwrap());
        }
    });
    format!("http://{address}")
}

fn answer_request(stream: &mut TcpStream) {
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    while !is_complete_request(&seen) {
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => seen.extend_from_slice(&chunk[..read]),
            _ => return,
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
    let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
}

fn is_complete_request(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_none_or(|length| body.len() >= length.trim().parse::<usize>().unwrap())
}

fn serve(dir: &PmaDataDir, url: &str, mode: &str) -> PmaProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cynode-pma"));
    command
        .args(["--data-dir", dir.dir.path().to_str().unwrap(), "--orchestrator-url", url])
        .args(["--role", ROLE, "--cassette", mode])
        .env_clear();
    dir.serve_with(command, ROLE)
}

#[test]
fn a_confined_process_records_exchanges_and_replays_them_without_a_model() {
    let dir = PmaDataDir::new();
    let recorder = serve(&dir, &start_egress(), "record");
    let live = recorder.send_handoff("continue_run", SECRET, HANDOFF);
    drop(recorder);
    let folder = dir.dir.path().join("cassettes/continue_run");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();

    let player = serve(&dir, "http://127.0.0.1:1", "replay");
    let replayed = player.send_handoff("continue_run", SECRET, HANDOFF);
    let missed =
        player.send_handoff("continue_run", SECRET, &HANDOFF.replace("SITUATION", "other"));

    assert!(live.contains(r#""with":"retry""#), "{live}");
    let [file] = &files[..] else { panic!("one record: {files:?}") };
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("SITUATION") && !text.contains("cyn_pm_0123456789"), "{text}");
    assert!(replayed.contains(r#""with":"retry""#), "{replayed}");
    assert!(missed.contains("there is no record of continue_run"), "{missed}");
}
