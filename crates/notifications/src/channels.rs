//! Channels of a user: create, list, enable, remove, try out.

use cynode_domain::ids::{NoticeChannelId, NoticeDeliveryId};
use cynode_domain::name::Slug;
use cynode_domain::notice::{NoticeKind, NoticeMessage};
use cynode_resources::sealed_values::seal_value;
use cynode_resources::{Caller, projects};
use cynode_store::{ChannelHealth, NoticeChannel, Tx};
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{ChannelView, CreateChannel, CreatedChannel, UpdateChannel};
use secrecy::SecretString;

use crate::send::{SendContext, load_reach};
use crate::target::{SealedTarget, TargetAddress, sealed_name};
use crate::{NotificationError, Notifications};

/// The most channels of one user.
const MAX_CHANNELS: usize = 20;
const MAX_NAME_BYTES: usize = 60;

impl Notifications {
    /// Creates a channel. It delivers what happens from now on.
    pub async fn create_channel(
        &self,
        caller: &Caller,
        request: CreateChannel,
    ) -> Result<CreatedChannel, NotificationError> {
        validate_name(&request.name)?;
        let reach = self.store.read(|tx| Box::pin(load_reach(tx))).await?;
        let (address, generated) = TargetAddress::parse(request.target, &reach)?;
        if let TargetAddress::Email { address } = &address {
            let server = self.load_mail_server().await?.ok_or(NotificationError::NoMailServer)?;
            server.check_recipient(address)?;
        }
        let mut notices = request.notices;
        if notices.is_empty() {
            notices.extend(NoticeKind::subscribable());
        }
        notices.retain(|kind| *kind != NoticeKind::Test);
        notices.sort_unstable();
        notices.dedup();
        if notices.is_empty() {
            return Err(NotificationError::invalid("name a kind other than test"));
        }
        let channel = NoticeChannel {
            id: NoticeChannelId::generate(),
            owner: caller.user,
            name: request.name,
            kind: address.kind(),
            project: None,
            notices,
            target: address.shown(),
            is_enabled: true,
            created_at: self.clock.now(),
            health: ChannelHealth::default(),
        };
        let target = SealedTarget { owner: caller.user, address };
        let text = SecretString::from(serde_json::to_string(&target).unwrap_or_default());
        let sealed = seal_value(self.sealer.as_ref(), sealed_name(channel.id), &text).await?;
        let (who, project) = (caller.clone(), request.project);
        let created = self
            .store
            .write(move |tx| {
                let mut channel = channel;
                Box::pin(async move {
                    if let Some(project) = project {
                        channel.project = Some(projects::find(tx, &who, &project.into()).await?.id);
                    }
                    if !tx.notice_channel_exists().await? {
                        skip_past_events(tx).await?;
                    }
                    if tx.notice_channel_list(Some(who.user)).await?.len() >= MAX_CHANNELS {
                        let fault = format!("you have {MAX_CHANNELS} channels already: remove one");
                        return Err(NotificationError::invalid(fault));
                    }
                    if !tx.notice_channel_insert(&channel).await? {
                        return Err(NotificationError::Duplicate(channel.name));
                    }
                    tx.sealed_value_put(&sealed).await?;
                    let stored = tx.notice_channel_get(channel.id).await?;
                    stored.ok_or_else(|| NotificationError::NoChannel(channel.name))
                })
            })
            .await?;
        self.wake.notify_waiters();
        Ok(CreatedChannel { channel: channel_view(created), secret: generated.map(GivenSecret) })
    }

    /// Lists the channels of the caller, by name.
    pub async fn list_channels(
        &self,
        caller: &Caller,
    ) -> Result<Vec<ChannelView>, NotificationError> {
        let user = caller.user;
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                Ok::<_, NotificationError>(tx.notice_channel_list(Some(user)).await?)
            })
        });
        Ok(found.await?.into_iter().map(channel_view).collect())
    }

    /// Enables or disables a channel.
    pub async fn update_channel(
        &self,
        caller: &Caller,
        channel: &str,
        request: UpdateChannel,
    ) -> Result<ChannelView, NotificationError> {
        let (who, name) = (caller.clone(), channel.to_owned());
        let updated = self
            .store
            .write(move |tx| {
                let is_enabled = request.is_enabled;
                Box::pin(async move {
                    let found = find_channel(tx, &who, &name).await?;
                    tx.notice_channel_enable(found.id, is_enabled).await?;
                    Ok::<_, NotificationError>(NoticeChannel { is_enabled, ..found })
                })
            })
            .await?;
        self.wake.notify_waiters();
        Ok(channel_view(updated))
    }

    /// Removes a channel with its deliveries.
    pub async fn remove_channel(
        &self,
        caller: &Caller,
        channel: &str,
    ) -> Result<(), NotificationError> {
        let (who, name) = (caller.clone(), channel.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = find_channel(tx, &who, &name).await?;
                    tx.sealed_value_delete(&sealed_name(found.id)).await?;
                    Ok::<_, NotificationError>(tx.notice_channel_delete(found.id).await?)
                })
            })
            .await
    }

    /// Sends a test through a channel, at once and once.
    pub async fn test_channel(
        &self,
        caller: &Caller,
        channel: &str,
    ) -> Result<(), NotificationError> {
        let (who, name) = (caller.clone(), channel.to_owned());
        let found = self
            .store
            .read(move |tx| Box::pin(async move { find_channel(tx, &who, &name).await }))
            .await?;
        let message = NoticeMessage {
            kind: NoticeKind::Test,
            title: format!("Test of the notification channel {}", found.name),
            task_id: None,
            task_name: None,
            project_id: None,
            text: String::new(),
            details: vec![],
            command: Some("cynork notify channel list".to_owned()),
            occurred_at: self.clock.now(),
        };
        let context = SendContext::load(&self.store, self.sealer.as_ref(), &found).await?;
        let sent = context.send(NoticeDeliveryId::generate(), &message, self.clock.now()).await;
        sent.map_err(|failure| NotificationError::Undelivered(failure.reason))
    }
}

/// Skips the events before the first channel: they notify no person.
async fn skip_past_events(tx: &mut Tx) -> Result<(), NotificationError> {
    let (now, newest) = (tx.notice_cursor().await?, tx.event_latest().await?);
    tx.notice_cursor_advance(now, newest.max(now)).await?;
    Ok(())
}

fn validate_name(name: &str) -> Result<(), NotificationError> {
    let is_plain = Slug::normalise(name).is_ok_and(|plain| plain.as_str() == name);
    // A name in the form of an id would be read as an id.
    if !is_plain || name.len() > MAX_NAME_BYTES || name.parse::<NoticeChannelId>().is_ok() {
        let rule = format!(
            "a channel has a name of 1 to {MAX_NAME_BYTES} lowercase letters, digits and single dashes"
        );
        return Err(NotificationError::invalid(rule));
    }
    Ok(())
}

/// Finds a channel of the caller by id or name. A channel of another user is not found, not even by
/// administrators.
pub(crate) async fn find_channel(
    tx: &mut Tx,
    caller: &Caller,
    name: &str,
) -> Result<NoticeChannel, NotificationError> {
    let all = tx.notice_channel_list(Some(caller.user)).await?;
    let id = name.parse::<NoticeChannelId>().ok();
    let found = all.into_iter().find(|channel| channel.name == name || Some(channel.id) == id);
    found.ok_or_else(|| NotificationError::NoChannel(name.chars().take(MAX_NAME_BYTES).collect()))
}

pub(crate) fn channel_view(channel: NoticeChannel) -> ChannelView {
    ChannelView {
        id: channel.id,
        name: channel.name,
        kind: channel.kind,
        target: channel.target,
        project_id: channel.project,
        notices: channel.notices,
        is_enabled: channel.is_enabled,
        failures: channel.health.failures,
        failing_since: channel.health.failing_since,
        last_error: channel.health.last_error,
        last_delivered_at: channel.health.last_delivered_at,
        created_at: channel.created_at,
    }
}
