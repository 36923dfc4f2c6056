//! A conversation at a terminal, with the whole system behind it.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

use cynode_testkit::provider::{Answer, ScriptedProvider};

use crate::chat::{MODEL, provide};
use crate::processes::eventually;
use crate::programs::{call_shell, program};
use crate::system::{PATIENCE, System};

/// What a terminal sends for Ctrl-C and Ctrl-D.
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
/// What a terminal sends for the arrow keys.
const LEFT: &str = "\u{1b}[D";
const UP: &str = "\u{1b}[A";
const PROMPT: &str = "you> ";

/// A `cynork chat` in a terminal of its own, which `script` makes.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    /// How much of the screen was looked at.
    read: usize,
}

impl Terminal {
    fn open(system: &System, model: &str) -> Self {
        let (cynork, data) = (program("cynork"), system.data_dir());
        let line = format!(
            "exec script --quiet --return --flush --command \
             'exec {} --data-dir {} chat --model {model}' /dev/null",
            cynork.display(),
            data.display()
        );
        let mut script = call_shell(system.home());
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

    /// Types a line once it can be typed.
    async fn say(&mut self, line: &str) {
        self.until(PROMPT).await;
        self.press(&format!("{line}\n"));
        // The terminal shows what is typed.
        self.until(line).await;
    }

    /// Waits until something new is on the screen; all that came up to it.
    async fn until(&mut self, text: &str) -> String {
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

    /// How it ended.
    async fn end(mut self) -> Option<i32> {
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
    provide(&system, &provider).await;
    system.cynork(&["project", "create", "Weather Station"]).fine();
    let mut terminal = Terminal::open(&system, MODEL);

    terminal.say("/history").await;
    terminal.until("nothing was said yet").await;
    terminal.say("How is it in Rome?").await;
    terminal.until("It is warm.").await;
    terminal.say("/history").await;
    let history = terminal.until("It is warm.").await;
    assert!(history.contains("user") && history.contains("How is it in Rome?"), "{history}");
    terminal.say("/new The north").await;
    terminal.until("a new thread begins").await;
    terminal.say("And in Oslo?").await;
    terminal.until("It is cold.").await;
    terminal.say("/threads").await;
    terminal.until("LAST SAID").await;
    terminal.until("The north").await;
    terminal.say("/project nowhere").await;
    terminal.until("error:").await;
    terminal.say("/project weather-station").await;
    terminal.until("you are in weather-station now").await;
    terminal.say("/history").await;
    terminal.until("nothing was said yet").await;
    terminal.say("/models").await;
    terminal.until("cynodeai.pm").await;
    terminal.say("/model cynodeai.pm").await;
    terminal.until("you talk to cynodeai.pm now").await;
    terminal.say("/nonsense").await;
    terminal.until("there is no /nonsense").await;
    // A letter is put in where it is missing, and an earlier line comes back.
    terminal.until(PROMPT).await;
    terminal.press(&format!("/hep{LEFT}l\n"));
    terminal.until("what was said in one of them").await;
    terminal.until(PROMPT).await;
    terminal.press(&format!("{UP}{UP}\n"));
    terminal.until("there is no /nonsense").await;
    terminal.say("/quit").await;

    assert_eq!(terminal.end().await, Some(0));
    // A new thread is told nothing of the one before.
    assert!(!provider.requests().last().unwrap().text.contains("Rome"));
}

#[tokio::test]
async fn ctrl_c_and_faults_end_the_answer_and_not_the_conversation() {
    let system = System::new().await;
    let provider = ScriptedProvider::start();
    let long = "It was a dark and stormy night, and nobody was there. ".repeat(20);
    provider.when("story", Answer::text(&long).stalling_after(150));
    provider.when("poem", Answer::text(&long).breaking_off_after(150));
    provider.when("Rome", Answer::text("It is warm."));
    provide(&system, &provider).await;
    let mut terminal = Terminal::open(&system, MODEL);

    terminal.say("Tell me a long tale, a story").await;
    terminal.until("stormy night").await;
    terminal.press(CTRL_C);
    terminal.until("(stopped)").await;
    provider.until_abandoned(1).await;
    terminal.say("/new").await;
    terminal.say("And now a poem").await;
    terminal.until("stormy night").await;
    terminal.until("error:").await;
    terminal.say("/new").await;
    terminal.say("How is it in Rome?").await;
    terminal.until("It is warm.").await;
    terminal.until(PROMPT).await;
    terminal.press(CTRL_C);
    terminal.until("/quit or Ctrl-D leaves").await;
    terminal.until(PROMPT).await;
    terminal.press(CTRL_D);

    assert_eq!(terminal.end().await, Some(0));
}
