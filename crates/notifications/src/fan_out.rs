//! Turns events of the outbox into deliveries, each event once.

use cynode_domain::event_cursor::EventCursor;
use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::DeliveryStatus;
use cynode_store::{NoticeDelivery, OutboxEvent, Tx};

use crate::content::compose;
use crate::{NotificationError, Notifications};

/// Events of one transaction.
const PAGE: u32 = 100;

/// Deliveries of a page of events.
struct FanOutPage {
    from: EventCursor,
    to: EventCursor,
    deliveries: Vec<NoticeDelivery>,
}

impl Notifications {
    /// Creates the deliveries of all events since the last call of any process. Returns whether there are any.
    pub(crate) async fn fan_out(&self) -> Result<bool, NotificationError> {
        let mut has_new = false;
        while let Some(page) = self.store.read(|tx| Box::pin(load_page(tx))).await? {
            has_new |= !page.deliveries.is_empty();
            self.store.write(move |tx| Box::pin(persist_page(tx, page))).await?;
        }
        Ok(has_new)
    }
}

/// The next page; `None` if there are no events, or no channels.
async fn load_page(tx: &mut Tx) -> Result<Option<FanOutPage>, NotificationError> {
    if !tx.notice_channel_exists().await? {
        return Ok(None);
    }
    let from = tx.notice_cursor().await?;
    let events = tx.notice_events(from, PAGE).await?;
    let Some((last, _)) = events.last() else { return Ok(None) };
    let to = last.cursor;
    let mut deliveries = vec![];
    for (event, owner) in &events {
        let task = match event.task {
            Some(task) => match tx.task_get(task).await {
                // Neither a task that is deleted nor one that cannot be decoded stops the others.
                Err(error) if error.is_unreadable() => None,
                found => found?,
            },
            None => None,
        };
        let Some(message) = compose(event, task.as_ref()) else { continue };
        // An administrator approves tools.
        let with_admins = event.task.is_none();
        for channel in tx.notice_channels_of(*owner, with_admins).await? {
            let in_project = channel.project.is_none() || (event.project == channel.project);
            let is_wanted = channel.notices.contains(&message.kind)
                && in_project
                && event.occurred_at >= channel.created_at;
            if is_wanted {
                deliveries.push(new_delivery(&channel, event, message.clone()));
            }
        }
    }
    Ok(Some(FanOutPage { from, to, deliveries }))
}

fn new_delivery(
    channel: &cynode_store::NoticeChannel,
    event: &OutboxEvent,
    message: cynode_domain::notice::NoticeMessage,
) -> NoticeDelivery {
    NoticeDelivery {
        id: NoticeDeliveryId::generate(),
        channel: channel.id,
        event: event.cursor,
        message,
        status: DeliveryStatus::Pending,
        attempts: 0,
        due_at: event.occurred_at,
        last_error: None,
        created_at: event.occurred_at,
        finished_at: None,
    }
}

/// Inserts the deliveries and advances the cursor, unless another process did.
async fn persist_page(tx: &mut Tx, page: FanOutPage) -> Result<(), NotificationError> {
    if !tx.notice_cursor_advance(page.from, page.to).await? {
        return Ok(());
    }
    for delivery in &page.deliveries {
        tx.notice_insert(delivery).await?;
    }
    Ok(())
}
