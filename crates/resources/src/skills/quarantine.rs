//! Texts that the current rules reject: not delivered, until their owner changes them or an administrator releases
//! them.
//!
//! A verdict counts for one text and one set of rules. A reader whose skill has no such verdict has it scanned on
//! the spot, so that [`Skills::rescan`] is about lists, never about safety.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cynode_domain::ids::SkillId;
use cynode_runtime::shutdown::Shutdown;
use cynode_skill_scan::{Category, ScanFinding, SkillScanner};
use cynode_store::{AccessChange, Skill, SkillScan, Tx};
use cynode_wire::skills::{MAX_REASON_CHARS, ReleaseSkill, SkillFindingView, SkillView};
use serde::{Deserialize, Serialize};

use super::{SYSTEM_TEXT, SkillError, Skills, find_skill, scanner, sha256, skill_view};
use crate::Caller;

/// Skills of one batch of a rescan.
const BATCH: u32 = 50;
/// The most quarantined skills that lists know of.
const MAX_LISTED: u32 = 1000;
/// The longest time until changed rules are applied to stored skills.
const RESCAN_INTERVAL: Duration = Duration::from_secs(15);

/// A release by an administrator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasedText {
    content_sha256: String,
    /// The rules that may match it. A release by an earlier version has their names without
    /// their patterns, so it does not count.
    rules: BTreeSet<ReleasedRule>,
}

/// A rule that may match a released text, as it was when the text was released.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasedRule {
    rule: String,
    pattern_sha256: String,
}

impl ReleasedRule {
    fn from_finding(finding: &ScanFinding) -> Self {
        let ScanFinding { rule, pattern_sha256, .. } = finding.clone();
        Self { rule, pattern_sha256 }
    }
}

/// Fails if the text of a skill is in quarantine; says why to those who may change it.
pub(super) async fn check(tx: &mut Tx, caller: &Caller, skill: &Skill) -> Result<(), SkillError> {
    let Some(finding) = judge(tx, skill).await?.into_iter().next() else { return Ok(()) };
    if may_change(caller, skill) {
        return Err(SkillError::QuarantinedBecause { id: skill.id, finding });
    }
    Err(SkillError::Quarantined(skill.id))
}

fn may_change(caller: &Caller, skill: &Skill) -> bool {
    skill.owner.map_or(caller.is_admin, |owner| caller.may_see(owner))
}

/// What the current rules find in the text, but for what an administrator released.
pub(super) async fn judge(tx: &mut Tx, skill: &Skill) -> Result<Vec<ScanFinding>, SkillError> {
    if skill.content == SYSTEM_TEXT {
        return Ok(vec![]);
    }
    let scanner = scanner::load(tx).await?;
    let stored = tx.skill_scan_get(skill.id).await?;
    let hash = sha256(&skill.content);
    if let Some(stored) = &stored
        && stored.rules == scanner.fingerprint()
        && stored.content_sha256 == hash
    {
        return Ok(stored.findings.as_deref().map(parse_findings).unwrap_or_default());
    }
    Ok(scan(&scanner, skill, &hash, stored.as_ref()))
}

/// What the rules find in the name and the text of a skill: an agent reads both, one after the other.
pub(super) fn scan_all(scanner: &SkillScanner, skill: &Skill) -> Vec<ScanFinding> {
    // A byte order mark is no disguise at the start of a file.
    let content = skill.content.strip_prefix('\u{feff}').unwrap_or(&skill.content);
    // The full stop makes the name a sentence, for rules that match at the end of one.
    scanner.scan(&format!("{}.\n\n{content}", skill.name))
}

fn scan(
    scanner: &SkillScanner,
    skill: &Skill,
    hash: &str,
    stored: Option<&SkillScan>,
) -> Vec<ScanFinding> {
    let released = stored.and_then(|stored| stored.released.as_deref());
    let released = released.and_then(|text| serde_json::from_str::<ReleasedText>(text).ok());
    let is_released = |finding: &ScanFinding| {
        released.as_ref().is_some_and(|released| {
            released.content_sha256 == hash
                && released.rules.contains(&ReleasedRule::from_finding(finding))
        })
    };
    scan_all(scanner, skill).into_iter().filter(|finding| !is_released(finding)).collect()
}

/// The findings of a verdict. A verdict that cannot be read is a finding itself.
fn parse_findings(text: &str) -> Vec<ScanFinding> {
    let unreadable = || ScanFinding {
        rule: "unreadable".to_owned(),
        category: Category::HiddenInstructions,
        reason: "the verdict about it cannot be read".to_owned(),
        text: String::new(),
        pattern_sha256: String::new(),
    };
    match serde_json::from_str::<Vec<ScanFinding>>(text) {
        Ok(findings) if !findings.is_empty() => findings,
        Ok(_) | Err(_) => vec![unreadable()],
    }
}

/// The findings about skills of a list: empty for those who may not change them.
pub(super) async fn load_findings(
    tx: &mut Tx,
    caller: &Caller,
    skills: &[Skill],
) -> Result<BTreeMap<SkillId, Vec<SkillFindingView>>, SkillError> {
    let scans = tx.skill_quarantine_list(MAX_LISTED).await?;
    let mut all = BTreeMap::new();
    for scan in scans {
        let Some(skill) = skills.iter().find(|skill| skill.id == scan.skill) else { continue };
        if skill.content_sha256 != scan.content_sha256 {
            continue;
        }
        let findings = scan.findings.as_deref().map(parse_findings).unwrap_or_default();
        let shown = if may_change(caller, skill) { findings } else { vec![] };
        all.insert(skill.id, shown.into_iter().map(finding_view).collect());
    }
    Ok(all)
}

fn finding_view(finding: ScanFinding) -> SkillFindingView {
    let ScanFinding { rule, category, reason, text, .. } = finding;
    SkillFindingView { rule, category: category.to_string(), reason, text }
}

/// Stores that a text passed, which was scanned just now.
pub(super) async fn record_passed(tx: &mut Tx, skill: &Skill) -> Result<(), SkillError> {
    let scanner = scanner::load(tx).await?;
    let scan = SkillScan {
        skill: skill.id,
        content_sha256: skill.content_sha256.clone(),
        rules: scanner.fingerprint().to_owned(),
        findings: None,
        released: None,
        scanned_at: skill.updated_at,
    };
    Ok(tx.skill_scan_put(&scan).await?)
}

impl Skills {
    /// Scans every skill that the current rules have not judged, in batches; returns how many of
    /// these are now in quarantine. It can be stopped at any time; the next call continues where it stopped.
    pub async fn rescan(&self) -> Result<usize, SkillError> {
        let (mut after, mut quarantined) = (None, 0);
        loop {
            let now = self.clock.now();
            let (last, found) = self
                .store
                .write(move |tx| {
                    Box::pin(async move {
                        let scanner = scanner::load(tx).await?;
                        let rules = scanner.fingerprint().to_owned();
                        let due = tx.skill_list_unscanned(&rules, after, BATCH).await?;
                        let mut found = 0;
                        for skill in &due {
                            // An administrator may release it at this moment.
                            let stored = tx.skill_scan_lock(skill.id).await?;
                            let findings = if skill.content == SYSTEM_TEXT {
                                // The text of the release is part of this program.
                                vec![]
                            } else {
                                let hash = sha256(&skill.content);
                                scan(&scanner, skill, &hash, stored.as_ref())
                            };
                            if !findings.is_empty() {
                                found += 1;
                                let id = skill.id;
                                tracing::warn!(skill.id = %id, rule = findings[0].rule, "skill quarantined");
                            }
                            let scan = SkillScan {
                                skill: skill.id,
                                // The hash of the row, so that a row with a wrong hash is not scanned forever.
                                content_sha256: skill.content_sha256.clone(),
                                rules: rules.clone(),
                                findings: render(&findings)?,
                                released: stored.and_then(|stored| stored.released),
                                scanned_at: now,
                            };
                            tx.skill_scan_put(&scan).await?;
                        }
                        Ok::<_, SkillError>((due.last().map(|skill| skill.id), found))
                    })
                })
                .await?;
            quarantined += found;
            match last {
                Some(last) => after = Some(last),
                None => return Ok(quarantined),
            }
        }
    }

    /// Rescans at start, and whenever the rules changed, until `shutdown`.
    pub async fn run(self, shutdown: Shutdown) {
        loop {
            if let Err(error) = self.rescan().await {
                tracing::warn!(%error, "rescan of skills failed, retrying");
            }
            tokio::select! {
                () = tokio::time::sleep(RESCAN_INTERVAL) => {}
                () = shutdown.triggered() => return,
            }
        }
    }

    /// Releases the text of a skill from quarantine, for the rules that match it now. Administrators only; a change of
    /// the text ends the release.
    pub async fn release(
        &self,
        caller: &Caller,
        id: SkillId,
        request: ReleaseSkill,
    ) -> Result<SkillView, SkillError> {
        if !caller.is_admin {
            return Err(SkillError::Forbidden(
                "only an administrator may release a skill from quarantine",
            ));
        }
        let reason = request.reason.trim().to_owned();
        if !(1..=MAX_REASON_CHARS).contains(&reason.chars().count()) {
            let rule = format!("a release needs a reason of 1 to {MAX_REASON_CHARS} characters");
            return Err(SkillError::Invalid(rule));
        }
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let skill = find_skill(tx, &caller, id).await?;
                    let scanner = scanner::load(tx).await?;
                    let hash = sha256(&skill.content);
                    let findings = scan_all(&scanner, &skill);
                    let rules: BTreeSet<ReleasedRule> =
                        findings.iter().map(ReleasedRule::from_finding).collect();
                    if rules.is_empty() {
                        return Err(SkillError::Invalid(
                            "the skill is not in quarantine".to_owned(),
                        ));
                    }
                    let names: BTreeSet<&str> =
                        rules.iter().map(|released| released.rule.as_str()).collect();
                    let names: Vec<&str> = names.into_iter().collect();
                    let change = AccessChange {
                        by: Some(caller.user),
                        action: "skill.release",
                        resource_type: "skill",
                        resource: id.to_string(),
                        allowed: true,
                        reason: Some(format!("{reason} (rules: {})", names.join(", "))),
                        task: None,
                        at: now,
                    };
                    tx.access_change_append(&change).await?;
                    let released = ReleasedText { content_sha256: hash, rules };
                    let scan = SkillScan {
                        skill: id,
                        content_sha256: skill.content_sha256.clone(),
                        rules: scanner.fingerprint().to_owned(),
                        findings: None,
                        released: Some(to_json(&released)?),
                        scanned_at: now,
                    };
                    tx.skill_scan_put(&scan).await?;
                    Ok(skill_view(skill))
                })
            })
            .await
    }
}

fn render(findings: &[ScanFinding]) -> Result<Option<String>, SkillError> {
    if findings.is_empty() { Ok(None) } else { to_json(&findings).map(Some) }
}

fn to_json(value: &impl Serialize) -> Result<String, SkillError> {
    serde_json::to_string(value).map_err(|error| SkillError::Invalid(error.to_string()))
}
