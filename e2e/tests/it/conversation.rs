//! A conversation at a terminal, with the whole system behind it.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

use cynode_testkit::provider::{Answer, ScriptedProvider};

use crate::chat::{MODEL, add_provider};
use crate::processes::eventually;
use crate::programs::{binary_path, isolated_shell};
use crate::system::{PATIENCE, System};

/// Input of Ctrl-C and Ctrl-D.
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
/// Input of the arrow keys.
const LEFT: &str = "\u{1b}[D";
const UP: &str = "\u{1b}[A";
const PROMPT: &str = "you> ";

/// A `cynork chat` in its own terminal, which `script` creates.
struct ChatTerminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    /// Length of the screen that was read already.
    read: usize,
}

impl ChatTerminal {
    fn open(system: &System, model: &str) -> Self {
        let (cynork, data) = (binary_path("cynork"), system.data_dir());
        let line = format!(
            "exec script --quiet --return --flush --command \
             'exec {} --data-dir {} chat --model {model}' /dev/null",
            cynork.display(),
            data.display()
        );
        let mut script = isolated_shell(system.home());
        script.env("SHELL", "/bin/sh").args(["-c", &line]);
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().unwrap();
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, screen, read: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a line once the prompt is shown.
    async fn type_line(&mut self, line: &str) {
        self.wait_for_output(PROMPT).await;
        self.press(&format!("{line}\n"));
        // The terminal echoes the input.
        self.wait_for_output(line).await;
    }

    /// Waits for new text on the screen; returns everything up to it.
    async fn wait_for_output(&mut self, text: &str) -> String {
        let (screen, from) = (Arc::clone(&self.screen), self.read);
        let what = format!("{text:?} on the screen");
        let seen = eventually(&what, PATIENCE, || {
            let screen = screen.lock().unwrap();
            let end = from + screen[from..].find(text)? + text.len();
            Some((screen[from..end].to_owned(), end))
        });
        let (seen, end) = seen.await;
        self.read = end;
        seen
    }

    /// Waits for the exit code.
    async fn wait_for_exit(mut self) -> Option<i32> {
        let child = &mut self.child;
        let ended = eventually("the end of cynork", PATIENCE, || child.try_wait().unwrap()).await;
        ended.code()
    }
}

#[tokio::test]
async fn a_person_at_a_terminal_asks_and_finds_threads_history_and_projects() {
    let system = System::new().await;
    let provider = ScriptedProvider::start();
    provider.when("Rome", Answer::text("It is warm."));
    provider.when("Oslo", Answer::text("It is cold."));
    add_provider(&system, &provider).await;
    system.cynork(&["project", "create", "Weather Station"]).expect_success();
    let mut terminal = ChatTerminal::open(&system, MODEL);

    terminal.type_line("/history").await;
    terminal.wait_for_output("no messages yet").await;
    terminal.type_line("How is it in Rome?").await;
    terminal.wait_for_output("It is warm.").await;
    terminal.type_line("/history").await;
    let history = terminal.wait_for_output("It is warm.").await;
    assert!(history.contains("user") && history.contains("How is it in Rome?"), "{history}");
    terminal.type_line("/new The north").await;
    terminal.wait_for_output("new thread started").await;
    terminal.type_line("And in Oslo?").await;
    terminal.wait_for_output("It is cold.").await;
    terminal.type_line("/threads").await;
    terminal.wait_for_output("LAST MESSAGE").await;
    terminal.wait_for_output("The north").await;
    terminal.type_line("/project nowhere").await;
    terminal.wait_for_output("error:").await;
    terminal.type_line("/project weather-station").await;
    terminal.wait_for_output("project: weather-station").await;
    terminal.type_line("/history").await;
    terminal.wait_for_output("no messages yet").await;
    terminal.type_line("/models").await;
    terminal.wait_for_output("cynodeai.pm").await;
    terminal.type_line("/model cynodeai.pm").await;
    terminal.wait_for_output("model: cynodeai.pm").await;
    terminal.type_line("/nonsense").await;
    terminal.wait_for_output("unknown command /nonsense").await;
    // A missing letter is inserted, and an earlier line is recalled.
    terminal.wait_for_output(PROMPT).await;
    terminal.press(&format!("/hep{LEFT}l\n"));
    terminal.wait_for_output("show the messages of a thread").await;
    terminal.wait_for_output(PROMPT).await;
    terminal.press(&format!("{UP}{UP}\n"));
    terminal.wait_for_output("unknown command /nonsense").await;
    terminal.type_line("/quit").await;

    assert_eq!(terminal.wait_for_exit().await, Some(0));
    // A new thread contains nothing of the one before.
    assert!(!provider.requests().last().unwrap().text.contains("Rome"));
}

#[tokio::test]
async fn ctrl_c_and_faults_end_the_answer_and_not_the_conversation() {
    let system = System::new().await;
    let provider = ScriptedProvider::start();
    let long = "It was a dark and stormy night, and nobody was there. ".repeat(20);
    provider.when("story", Answer::text(&long).stalling_after(150));
    provider.when("poem", Answer::text(&long).disconnecting_after(150));
    provider.when("Rome", Answer::text("It is warm."));
    add_provider(&system, &provider).await;
    let mut terminal = ChatTerminal::open(&system, MODEL);

    terminal.type_line("Tell me a long tale, a story").await;
    terminal.wait_for_output("stormy night").await;
    terminal.press(CTRL_C);
    terminal.wait_for_output("(stopped)").await;
    provider.wait_for_abandoned(1).await;
    terminal.type_line("/new").await;
    terminal.type_line("And now a poem").await;
    terminal.wait_for_output("stormy night").await;
    terminal.wait_for_output("error:").await;
    terminal.type_line("/new").await;
    terminal.type_line("How is it in Rome?").await;
    terminal.wait_for_output("It is warm.").await;
    terminal.wait_for_output(PROMPT).await;
    terminal.press(CTRL_C);
    terminal.wait_for_output("type /quit or press Ctrl-D to leave").await;
    terminal.wait_for_output(PROMPT).await;
    terminal.press(CTRL_D);

    assert_eq!(terminal.wait_for_exit().await, Some(0));
}
