//! What a person types in a conversation: words for whoever answers, or a command for us.

/// What `/help` prints.
pub(super) const HELP: &str = "\
/model [NAME]      whom you talk to: cynodeai.pm is the project manager
/models            whom you can talk to
/project [NAME]    in which project
/new [TITLE]       begin a new thread
/threads           your threads
/thread ID         what was said in one of them
/history           what was said in the present thread
/quit              leave; Ctrl-D does the same
Ctrl-C stops an answer. A line that ends with \\ goes on in the next one. The arrow keys edit a line and
bring earlier ones back, and Ctrl-R finds them.";

/// What a person typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    Words(String),
    Help,
    Model(Option<String>),
    Models,
    Project(Option<String>),
    New(Option<String>),
    Threads,
    Thread(Option<String>),
    History,
    Quit,
    Unknown(String),
}

/// Reads what was typed.
pub(super) fn read(text: &str) -> Typed {
    let text = text.trim();
    if text.is_empty() {
        return Typed::Nothing;
    }
    // Two slashes say a word that begins with one.
    if let Some(words) = text.strip_prefix("//") {
        return Typed::Words(format!("/{words}"));
    }
    let Some(command) = text.strip_prefix('/') else { return Typed::Words(text.to_owned()) };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    match name {
        "help" | "?" => Typed::Help,
        "model" => Typed::Model(rest),
        "models" => Typed::Models,
        "project" => Typed::Project(rest),
        "new" => Typed::New(rest),
        "threads" => Typed::Threads,
        "thread" => Typed::Thread(rest),
        "history" => Typed::History,
        "quit" | "exit" | "q" => Typed::Quit,
        name => Typed::Unknown(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_words() {
        let table = [
            ("  ", Typed::Nothing),
            ("hello there ", Typed::Words("hello there".to_owned())),
            ("//etc/hosts is odd", Typed::Words("/etc/hosts is odd".to_owned())),
            ("/help", Typed::Help),
            ("/model", Typed::Model(None)),
            ("/model  local/tiny ", Typed::Model(Some("local/tiny".to_owned()))),
            ("/new about looms", Typed::New(Some("about looms".to_owned()))),
            ("/thread 01a1", Typed::Thread(Some("01a1".to_owned()))),
            ("/q", Typed::Quit),
            ("/dance", Typed::Unknown("dance".to_owned())),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
