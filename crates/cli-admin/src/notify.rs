//! `notify`: where you are notified, and notifications that could not be delivered.

mod arguments;
mod view;

use clap::Subcommand;
use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::DeliveryStatus;
use cynode_wire::notifications::{DeliveryQuery, PurgeDeliveries, UpdateChannel};
use cynode_wire::page::MAX_LIMIT;

use self::arguments::{ChannelAddArgs, SmtpSetArgs};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Be notified of what needs you and of requests that end, by webhook, e-mail or Slack.
#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Add, list, remove and try out channels.
    #[command(subcommand, visible_alias = "channels")]
    Channel(ChannelCommand),
    /// List, retry and delete notifications that could not be delivered.
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Set the mail server for all users. Administrators only.
    #[command(subcommand)]
    Smtp(SmtpCommand),
}

/// Channels.
#[derive(Debug, Subcommand)]
pub enum ChannelCommand {
    /// Add a channel; prompts for the URL of a webhook, or reads it from standard input.
    #[command(after_help = arguments::EXAMPLES)]
    Add(ChannelAddArgs),
    /// List your channels, and whether they fail.
    List,
    /// Stop using a channel without removing it.
    Disable {
        /// The channel, by name or id.
        channel: String,
    },
    /// Use a disabled channel again; also attempts a failing one at once.
    Enable {
        /// The channel, by name or id.
        channel: String,
    },
    /// Remove a channel with its notifications.
    #[command(visible_alias = "delete")]
    Remove {
        /// The channel, by name or id.
        channel: String,
    },
    /// Send a test through a channel.
    Test {
        /// The channel, by name or id.
        channel: String,
    },
}

/// Notifications that could not be delivered.
#[derive(Debug, Subcommand)]
pub enum DeadCommand {
    /// List them, newest first.
    List {
        /// Only those of this channel, by name or id.
        #[arg(long)]
        channel: Option<String>,
    },
    /// Deliver one again, or all that are listed.
    Retry {
        /// The delivery.
        #[arg(required_unless_present = "all")]
        delivery: Option<NoticeDeliveryId>,
        /// All of them.
        #[arg(long, conflicts_with = "delivery")]
        all: bool,
        /// With --all: only those of this channel, by name or id.
        #[arg(long, requires = "all")]
        channel: Option<String>,
    },
    /// Delete them.
    Purge {
        /// Only those of this channel, by name or id.
        #[arg(long)]
        channel: Option<String>,
    },
}

/// The mail server.
#[derive(Debug, Subcommand)]
pub enum SmtpCommand {
    /// Set the mail server; prompts for the password, or reads it from standard input.
    Set(SmtpSetArgs),
    /// Show the mail server, without its password.
    Show,
    /// Remove the mail server.
    Remove,
}

pub async fn run(command: NotifyCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        NotifyCommand::Channel(command) => run_channel(command, app).await,
        NotifyCommand::Dead(command) => run_dead(command, app).await,
        NotifyCommand::Smtp(command) => run_smtp(command, app).await,
    }
}

async fn run_channel(command: ChannelCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ChannelCommand::Add(args) => {
            let body = args.request()?;
            let created =
                app.session.call(async |client| client.channel_create(&body).await).await?;
            app.out.show(&created, view::render_created)?;
            let name = &created.channel.name;
            app.out.print_message(&format!("try it with `cynork notify channel test {name}`"));
            Ok(())
        }
        ChannelCommand::List => {
            let list = app.session.call(async |client| client.channel_list().await).await?;
            app.out.list(list.items, view::render_channels)
        }
        ChannelCommand::Disable { channel } => set_enabled(&channel, false, app).await,
        ChannelCommand::Enable { channel } => set_enabled(&channel, true, app).await,
        ChannelCommand::Remove { channel } => {
            app.session.call(async |client| client.channel_remove(&channel).await).await?;
            app.out.print_message(&format!("channel {channel} removed"));
            Ok(())
        }
        ChannelCommand::Test { channel } => {
            app.session.call(async |client| client.channel_test(&channel).await).await?;
            app.out.print_message("delivered");
            Ok(())
        }
    }
}

async fn set_enabled(
    channel: &str,
    is_enabled: bool,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let body = UpdateChannel { is_enabled };
    let call = async |client: &cynode_client::Client| client.channel_update(channel, &body).await;
    let view = app.session.call(call).await?;
    app.out.list(vec![view], view::render_channels)
}

async fn run_dead(command: DeadCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        DeadCommand::List { channel } => {
            let all = load_dead(channel, app).await?;
            app.out.list(all, view::render_deliveries)
        }
        DeadCommand::Retry { delivery, channel, .. } => {
            let ids = match delivery {
                Some(id) => vec![id],
                None => load_dead(channel, app).await?.into_iter().map(|one| one.id).collect(),
            };
            let mut retried = vec![];
            for id in ids {
                let call = async |client: &cynode_client::Client| client.delivery_retry(id).await;
                retried.push(app.session.call(call).await?);
            }
            app.out.list(retried, view::render_deliveries)
        }
        DeadCommand::Purge { channel } => {
            let body = PurgeDeliveries { channel };
            let call = async |client: &cynode_client::Client| client.delivery_purge(&body).await;
            let purged = app.session.call(call).await?;
            app.out.show(&purged, |purged, _| format!("{} deleted", purged.deleted))
        }
    }
}

async fn load_dead(
    channel: Option<String>,
    app: &mut CliContext,
) -> Result<Vec<cynode_wire::notifications::DeliveryView>, CliFailure> {
    let mut query = DeliveryQuery {
        limit: Some(MAX_LIMIT),
        cursor: None,
        channel,
        status: Some(DeliveryStatus::Dead),
    };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.delivery_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn run_smtp(command: SmtpCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        SmtpCommand::Set(args) => {
            let body = args.request()?;
            let set = app.session.call(async |client| client.smtp_set(&body).await).await?;
            app.out.show(&set, view::render_smtp)
        }
        SmtpCommand::Show => {
            let found = app.session.call(async |client| client.smtp_get().await).await?;
            app.out.show(&found, view::render_smtp)
        }
        SmtpCommand::Remove => {
            app.session.call(async |client| client.smtp_remove().await).await?;
            app.out.print_message("mail server removed");
            Ok(())
        }
    }
}
