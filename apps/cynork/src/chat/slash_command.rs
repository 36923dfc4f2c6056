//! Parses a line of an interactive conversation: a message or a slash command.

/// Text of `/help`.
pub(super) const HELP: &str = "\
/model [NAME]      show or change the model: cynodeai.pm is the project manager
/models            list the models
/project [NAME]    show or change the project
/new [TITLE]       start a new thread
/threads           list your threads
/thread ID         show the messages of a thread
/history           show the messages of the current thread
/quit              leave, as Ctrl-D does
Ctrl-C stops an answer. End a line with \\ to continue it on the next one. The arrow keys edit a line and
recall earlier ones; Ctrl-R searches them.";

/// A parsed input line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput {
    Empty,
    Message(String),
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

/// Parses an input line.
pub(super) fn parse_input(text: &str) -> ChatInput {
    let text = text.trim();
    if text.is_empty() {
        return ChatInput::Empty;
    }
    // Two slashes escape a message that starts with one.
    if let Some(words) = text.strip_prefix("//") {
        return ChatInput::Message(format!("/{words}"));
    }
    let Some(command) = text.strip_prefix('/') else { return ChatInput::Message(text.to_owned()) };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    match name {
        "help" | "?" => ChatInput::Help,
        "model" => ChatInput::Model(rest),
        "models" => ChatInput::Models,
        "project" => ChatInput::Project(rest),
        "new" => ChatInput::New(rest),
        "threads" => ChatInput::Threads,
        "thread" => ChatInput::Thread(rest),
        "history" => ChatInput::History,
        "quit" | "exit" | "q" => ChatInput::Quit,
        name => ChatInput::Unknown(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_words() {
        let table = [
            ("  ", ChatInput::Empty),
            ("hello there ", ChatInput::Message("hello there".to_owned())),
            ("//etc/hosts is odd", ChatInput::Message("/etc/hosts is odd".to_owned())),
            ("/help", ChatInput::Help),
            ("/model", ChatInput::Model(None)),
            ("/model  local/tiny ", ChatInput::Model(Some("local/tiny".to_owned()))),
            ("/new about looms", ChatInput::New(Some("about looms".to_owned()))),
            ("/thread 01a1", ChatInput::Thread(Some("01a1".to_owned()))),
            ("/q", ChatInput::Quit),
            ("/dance", ChatInput::Unknown("dance".to_owned())),
        ];
        for (text, expected) in table {
            assert_eq!(parse_input(text), expected, "{text}");
        }
    }
}
