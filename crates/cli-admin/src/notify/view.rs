//! Renders channels and deliveries.

use cynode_wire::notifications::{ChannelView, CreatedChannel, DeliveryView, SmtpTls, SmtpView};

use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

pub(super) fn render_created(created: &CreatedChannel, ctx: RenderContext) -> String {
    let list = render_channels(std::slice::from_ref(&created.channel), ctx);
    match &created.secret {
        Some(secret) => {
            format!("{list}\n\nThe key of its signatures, shown only now:\n{}", secret.0)
        }
        None => list,
    }
}

pub(super) fn render_channels(channels: &[ChannelView], ctx: RenderContext) -> String {
    if channels.is_empty() {
        return "no channels; add one with `cynork notify channel add`".to_owned();
    }
    let row = |channel: &ChannelView| {
        let kinds: Vec<&str> = channel.notices.iter().map(|kind| kind.as_str()).collect();
        vec![
            channel.name.clone(),
            channel.kind.to_string(),
            table::truncate(&channel.target, 40),
            describe_state(channel, ctx),
            kinds.join(","),
        ]
    };
    table::render_table(&["NAME", "KIND", "TO", "STATE", "ON"], channels.iter().map(row), ctx)
}

fn describe_state(channel: &ChannelView, ctx: RenderContext) -> String {
    if !channel.is_enabled {
        return "disabled".to_owned();
    }
    match (channel.failing_since, channel.last_delivered_at) {
        (Some(since), _) => {
            let since = relative_time::format_relative(ctx.now, since);
            let reason = channel.last_error.as_deref().unwrap_or_default();
            format!("failing since {since}: {}", table::truncate(reason, 80))
        }
        (None, Some(last)) => {
            format!("delivered {}", relative_time::format_relative(ctx.now, last))
        }
        (None, None) => "not used yet".to_owned(),
    }
}

pub(super) fn render_deliveries(deliveries: &[DeliveryView], ctx: RenderContext) -> String {
    if deliveries.is_empty() {
        return "none".to_owned();
    }
    let row = |delivery: &DeliveryView| {
        vec![
            delivery.id.to_string(),
            delivery.channel.clone(),
            table::truncate(&delivery.title, 50),
            delivery.status.to_string(),
            delivery.attempts.to_string(),
            table::truncate(delivery.last_error.as_deref().unwrap_or_default(), 60),
            relative_time::format_relative(ctx.now, delivery.created_at),
        ]
    };
    let header = ["ID", "CHANNEL", "TITLE", "STATUS", "ATTEMPTS", "ERROR", "SINCE"];
    table::render_table(&header, deliveries.iter().map(row), ctx)
}

pub(super) fn render_smtp(server: &SmtpView, _: RenderContext) -> String {
    let tls = match server.tls {
        SmtpTls::Starttls => "STARTTLS",
        SmtpTls::Tls => "TLS",
        SmtpTls::None => "no TLS",
    };
    let user = server.username.as_deref().unwrap_or("no user");
    let mut text = format!("{}:{} ({tls}, {user}), from {}", server.host, server.port, server.from);
    if !server.allowed_domains.is_empty() {
        text = format!("{text}, to {} only", server.allowed_domains.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failing_channel_says_since_when_and_why() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::hours(2), width: None };
        let channel = json!({
            "id": "0193a4b2-0000-7000-8000-000000000001", "name": "phone", "kind": "webhook",
            "target": "https://hooks.example", "project_id": null, "notices": ["question"],
            "is_enabled": true, "failures": 3, "failing_since": "1970-01-01T00:00:00Z",
            "last_error": "no connection can be made", "last_delivered_at": null,
            "created_at": "1970-01-01T00:00:00Z",
        });

        let shown = render_channels(&[serde_json::from_value(channel).unwrap()], ctx);

        for part in ["phone", "https://hooks.example", "failing since", "no connection can be made"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
