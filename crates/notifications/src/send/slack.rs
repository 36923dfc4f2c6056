//! Messages for incoming webhooks of Slack and of servers that are compatible with it.
//!
//! Texts of others are in a block of code, in which no server interprets markup or mentions; `&`, `<` and `>` are
//! escaped everywhere.

use cynode_domain::notice::NoticeMessage;
use reqwest::{Client, RequestBuilder, Url};
use serde_json::json;

pub(crate) fn request(client: &Client, url: &Url, message: &NoticeMessage) -> RequestBuilder {
    let body = json!({
        "text": render(message),
        "unfurl_links": false,
        "unfurl_media": false,
    });
    client.post(url.clone()).json(&body)
}

fn render(message: &NoticeMessage) -> String {
    let mut text = plain(&message.title);
    let mut quoted = message.text.clone();
    for line in &message.details {
        quoted.push_str("\n- ");
        quoted.push_str(line);
    }
    if !quoted.trim().is_empty() {
        text = format!("{text}\n```\n{}\n```", escape(quoted.trim()));
    }
    if let Some(command) = &message.command {
        text = format!("{text}\n`{}`", escape(command));
    }
    text
}

/// Text without markup: names of tasks are chosen by people and models.
fn plain(text: &str) -> String {
    escape(text).replace(['*', '_', '~', '[', ']', '@', '#', '!'], " ")
}

fn escape(text: &str) -> String {
    // A backtick would end the block.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::notice::NoticeKind;

    use super::*;

    #[test]
    fn what_others_wrote_is_quoted_and_mentions_nobody() {
        let message = NoticeMessage {
            kind: NoticeKind::Question,
            title: "Request <!channel> *x* asks".to_owned(),
            task_id: None,
            task_name: None,
            project_id: None,
            text: "```\n<https://evil.example|click> & @here".to_owned(),
            details: vec!["<@U1>".to_owned()],
            command: Some("cynork pm show x".to_owned()),
            occurred_at: DateTime::UNIX_EPOCH,
        };

        assert_eq!(
            render(&message),
            "Request &lt; channel&gt;  x  asks\n```\n'''\n&lt;https://evil.example|click&gt; &amp; @here\n- \
             &lt;@U1&gt;\n```\n`cynork pm show x`"
        );
    }
}
