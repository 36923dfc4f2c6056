//! The scanner of this installation: the built-in rules, with those of two settings.
//!
//! Invariant: a setting that cannot be read stops the scan; it never leaves out rules.

use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::skill::Category;
use cynode_skill_scan::{AddedRule, SkillScanner};
use cynode_store::Tx;
use serde_json::Value;

use super::SkillError;

/// Setting with further phrases to reject: lists of phrases, by category.
pub const PHRASES_SETTING: &str = "skills.scan.phrases";
/// Setting with further rules: a list of [`AddedRule`].
pub const RULES_SETTING: &str = "skills.scan.rules";

/// The newest scanner, and the settings that it was made of: compiling takes longer than a scan.
static NEWEST: Mutex<Option<([Value; 2], Arc<SkillScanner>)>> = Mutex::new(None);

/// Loads the scanner of the current settings.
pub(super) async fn load(tx: &mut Tx) -> Result<Arc<SkillScanner>, SkillError> {
    let rules = setting_value(tx, RULES_SETTING).await?;
    let phrases = setting_value(tx, PHRASES_SETTING).await?;
    let settings = [rules, phrases];
    if settings.iter().all(Value::is_null) {
        return Ok(SkillScanner::built_in());
    }
    if let Some((known, scanner)) = NEWEST.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        && *known == settings
    {
        return Ok(Arc::clone(scanner));
    }
    let scanner = Arc::new(build(&settings).map_err(SkillError::Invalid)?);
    let newest = (settings, Arc::clone(&scanner));
    *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
    Ok(scanner)
}

async fn setting_value(tx: &mut Tx, key: &str) -> Result<Value, SkillError> {
    Ok(tx.setting_get(key).await?.map_or(Value::Null, |setting| setting.value))
}

fn build([rules, phrases]: &[Value; 2]) -> Result<SkillScanner, String> {
    let phrases = if phrases.is_null() {
        vec![]
    } else {
        parse_phrases(phrases).ok_or_else(|| {
            format!(
                "the setting {PHRASES_SETTING} must be an object of lists of phrases by category"
            )
        })?
    };
    let faults = |faults: Vec<cynode_skill_scan::RuleFault>| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        format!("the setting {RULES_SETTING} has faults: {}", faults.join("; "))
    };
    let rules =
        if rules.is_null() { vec![] } else { AddedRule::parse_all(rules).map_err(faults)? };
    SkillScanner::with_additions(&rules, &phrases).map_err(faults)
}

/// Checks the value of a setting of the scan before it is set; the error names every fault.
pub fn validate_scan_setting(key: &str, value: &Value) -> Result<(), String> {
    match key {
        RULES_SETTING => build(&[value.clone(), Value::Null]).map(drop),
        PHRASES_SETTING => build(&[Value::Null, value.clone()]).map(drop),
        _ => Ok(()),
    }
}

fn parse_phrases(value: &Value) -> Option<Vec<(Category, String)>> {
    let mut all = vec![];
    for (category, phrases) in value.as_object()? {
        let category: Category = category.parse().ok()?;
        for phrase in phrases.as_array()? {
            all.push((category, phrase.as_str()?.to_owned()));
        }
    }
    Some(all)
}
