//! Deliveries of a user: list, retry, purge.

use std::collections::BTreeMap;

use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::DeliveryStatus;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_store::{DeliveryFilter, NoticeDelivery, Tx};
use cynode_wire::notifications::{DeliveryQuery, DeliveryView, PurgeDeliveries, PurgedDeliveries};
use cynode_wire::page::Page;

use crate::channels::find_channel;
use crate::{NotificationError, Notifications};

impl Notifications {
    /// Lists the deliveries of the caller, newest first.
    pub async fn list_deliveries(
        &self,
        caller: &Caller,
        query: DeliveryQuery,
    ) -> Result<Page<DeliveryView>, NotificationError> {
        let page = PageRequest::<NoticeDeliveryId>::parse(&query.page())?;
        let (who, before, fetch) = (caller.clone(), page.before, page.fetch);
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                let channel = match &query.channel {
                    Some(channel) => Some(find_channel(tx, &who, channel).await?.id),
                    None => None,
                };
                let filter = DeliveryFilter {
                    owner: who.user,
                    channel,
                    status: query.status,
                    before,
                    limit: fetch,
                };
                let deliveries = tx.notice_list(&filter).await?;
                views(tx, &who, deliveries).await
            })
        });
        Ok(page.page(found.await?, |view| view.id.to_string(), |view| view))
    }

    /// Makes a dead delivery pending again. It keeps its id.
    pub async fn retry_delivery(
        &self,
        caller: &Caller,
        id: NoticeDeliveryId,
    ) -> Result<DeliveryView, NotificationError> {
        let who = caller.clone();
        let retried = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let missing = || NotificationError::NoDelivery(id.to_string());
                    let found = tx.notice_get(id).await?.ok_or_else(missing)?;
                    let channels = tx.notice_channel_list(Some(who.user)).await?;
                    if !channels.iter().any(|channel| channel.id == found.channel) {
                        return Err(missing());
                    }
                    if !tx.notice_retry(id).await? {
                        return Err(NotificationError::NotDead(found.status.to_string()));
                    }
                    let retried = NoticeDelivery {
                        status: DeliveryStatus::Pending,
                        attempts: 0,
                        finished_at: None,
                        ..found
                    };
                    views(tx, &who, vec![retried]).await?.pop().ok_or_else(missing)
                })
            })
            .await?;
        self.wake.notify_waiters();
        Ok(retried)
    }

    /// Deletes dead deliveries of the caller.
    pub async fn purge_deliveries(
        &self,
        caller: &Caller,
        request: PurgeDeliveries,
    ) -> Result<PurgedDeliveries, NotificationError> {
        let who = caller.clone();
        let deleted = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let channel = match &request.channel {
                        Some(channel) => Some(find_channel(tx, &who, channel).await?.id),
                        None => None,
                    };
                    Ok::<_, NotificationError>(tx.notice_purge(who.user, channel).await?)
                })
            })
            .await?;
        Ok(PurgedDeliveries { deleted })
    }
}

async fn views(
    tx: &mut Tx,
    caller: &Caller,
    deliveries: Vec<NoticeDelivery>,
) -> Result<Vec<DeliveryView>, NotificationError> {
    let channels = tx.notice_channel_list(Some(caller.user)).await?;
    let names: BTreeMap<_, _> =
        channels.into_iter().map(|channel| (channel.id, channel.name)).collect();
    let view = |delivery: NoticeDelivery| DeliveryView {
        id: delivery.id,
        channel_id: delivery.channel,
        channel: names.get(&delivery.channel).cloned().unwrap_or_default(),
        kind: delivery.message.kind,
        title: delivery.message.title,
        task_id: delivery.message.task_id,
        task_name: delivery.message.task_name,
        status: delivery.status,
        attempts: delivery.attempts,
        last_error: delivery.last_error,
        created_at: delivery.created_at,
        due_at: delivery.due_at,
        finished_at: delivery.finished_at,
    };
    Ok(deliveries.into_iter().map(view).collect())
}
