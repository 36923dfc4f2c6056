//! Verification of all chains against their signatures, the running writer, the noted heads, and heads that the caller
//! kept elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::ChainId;
use cynode_store::{ChainPosition, ChainReport, KnownPosition, LOG_CHAIN, PositionSource};
use cynode_wire::audit::{AuditHeadView, ChainView, VerifyView};

use super::{AuditError, AuditLog, verify_chain};
use crate::Caller;

impl AuditLog {
    /// Returns the newest position of every chain, to be kept elsewhere. Administrators only.
    pub async fn head(&self, caller: &Caller) -> Result<AuditHeadView, AuditError> {
        require_admin(caller)?;
        self.seal_logs().await?;
        let own = self.lane.head();
        let chains = self.list_chains().await?.0;
        let positions = chains.into_iter().map(|head| {
            // The own chain as the writer knows it, not as the database has it.
            if head.chain == own.chain { own.clone() } else { head }
        });
        let texts: Vec<String> = positions.map(|position| position.to_string()).collect();
        Ok(AuditHeadView {
            head: texts.join(","),
            public_key: STANDARD.encode(self.keys.public_key()),
        })
    }

    /// Verifies every record of every chain; with `since`, the value of an earlier [`AuditLog::head`], also that they
    /// continue from there. Administrators only.
    pub async fn verify(
        &self,
        caller: &Caller,
        since: Option<&str>,
    ) -> Result<VerifyView, AuditError> {
        require_admin(caller)?;
        let since = since.map(parse_head).transpose()?.unwrap_or_default();
        // Known before the database is read, so the database must have them.
        let logs = self.seal_logs().await?;
        let known = self.known_positions(&since);
        let (chains, strays) = self.list_chains().await?;
        let mut reports = vec![];
        for head in &chains {
            let known = known.iter().filter(|known| known.position.chain == head.chain);
            let known = known.cloned().collect();
            let report = verify_chain(&self.store, head.chain, known, &self.keys);
            let mut report = report.await?;
            if head.chain == LOG_CHAIN {
                report.faults.extend(logs.fault());
            }
            reports.push(report);
        }
        let is_missing =
            |known: &&KnownPosition| !chains.iter().any(|head| head.chain == known.position.chain);
        reports.extend(known.iter().filter(is_missing).map(ChainReport::of_missing_chain));
        reports.extend(strays.into_iter().map(ChainReport::of_unregistered_chain));
        Ok(verify_view(reports))
    }

    /// The positions that the chains must contain.
    fn known_positions(&self, since: &[ChainPosition]) -> Vec<KnownPosition> {
        let from = |source| move |position| KnownPosition { position, source };
        let mut known = vec![from(PositionSource::Writer)(self.lane.head())];
        known.extend(self.lock_heads().heads().into_iter().map(from(PositionSource::HeadFile)));
        known.extend(since.iter().cloned().map(from(PositionSource::Caller)));
        // A position that two sources know is one fault.
        let mut distinct: Vec<KnownPosition> = vec![];
        for candidate in known {
            if !distinct.iter().any(|known| known.position == candidate.position) {
                distinct.push(candidate);
            }
        }
        distinct
    }

    /// The heads of all chains, and the ids of chains that no writer created.
    async fn list_chains(&self) -> Result<(Vec<ChainPosition>, Vec<ChainId>), AuditError> {
        self.store
            .read(|tx| {
                Box::pin(async move {
                    let chains = tx.chain_list().await?;
                    let heads = chains.into_iter().map(|(head, _)| head.position()).collect();
                    Ok((heads, tx.chain_list_unregistered().await?))
                })
            })
            .await
    }
}

fn parse_head(text: &str) -> Result<Vec<ChainPosition>, AuditError> {
    Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
}

fn require_admin(caller: &Caller) -> Result<(), AuditError> {
    if caller.is_admin { Ok(()) } else { Err(AuditError::NotAdmin) }
}

fn verify_view(reports: Vec<ChainReport>) -> VerifyView {
    VerifyView {
        intact: reports.iter().all(|report| report.faults.is_empty()),
        records: reports.iter().map(|report| report.records).sum(),
        chains: reports
            .into_iter()
            .map(|report| ChainView {
                chain_id: report.head.chain,
                records: report.records,
                last_seq: report.head.seq,
                head: hex::encode(report.head.hash),
                faults: report.faults,
            })
            .collect(),
    }
}
