//! Tests of lane selection and list caching.

use chrono::DateTime;
use cynode_domain::model::ProviderUse;
use serde_json::json;

use super::*;

fn row(base_url: &str) -> ModelProvider {
    ModelProvider {
        name: "p".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: base_url.to_owned(),
        is_local: false,
        is_enabled: true,
        allow: ProviderUse::Everyone,
        models: vec![],
        concurrency: 1,
        prices: json!({}),
        version: 1,
        updated_at: DateTime::UNIX_EPOCH,
        updated_by: None,
    }
}

#[test]
fn whoever_knows_a_provider_as_it_was_takes_nobody_s_lane_away() {
    let (lanes, now, none) = (LanePool::default(), Instant::now(), SettingValues::new());
    let (old, new) = (row("http://127.0.0.1:1"), row("http://127.0.0.1:2"));
    let (first, second) = (lanes.lane(&old, &none).unwrap(), lanes.lane(&new, &none).unwrap());
    let dearer = ModelProvider { prices: json!({ "m": 1 }), version: 2, ..new.clone() };

    assert!(Arc::ptr_eq(&first, &lanes.lane(&old, &none).unwrap()));
    assert!(Arc::ptr_eq(&second, &lanes.lane(&new, &none).unwrap()));
    assert!(Arc::ptr_eq(&second, &lanes.lane(&dearer, &none).unwrap()));
    lanes.get_or_open(&row("http://127.0.0.1:3"), &none, now + 2 * IDLE_TIMEOUT).unwrap();
    assert_eq!(lanes.open.lock().unwrap().len(), 1, "idle lanes are evicted");
}

fn listed(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn an_old_list_is_told_while_the_provider_fails_to_give_a_new_one() {
    let (mut list, now) = (ModelListCache::default(), Instant::now());
    assert_eq!(list.cached(now), None);
    list.store(Ok(listed(&["a"])), now).unwrap();
    assert_eq!(list.cached(now), Some(Ok(listed(&["a"]))));
    let later = now + LIST_TTL;
    assert_eq!(list.cached(later), None);

    let reported = list.store(Err(ProviderError::Truncated), later);

    assert_eq!(reported, Ok(listed(&["a"])));
    assert_eq!(list.cached(later), Some(Ok(listed(&["a"]))), "it is not fetched again at once");
    assert_eq!(list.cached(later + LIST_RETRY_DELAY), None);
}

#[test]
fn a_provider_that_lists_nothing_is_not_asked_again_at_once_unless_the_credential_was_bad() {
    let (mut list, now) = (ModelListCache::default(), Instant::now());
    let refused = ProviderError::Unauthorized { message: "no".to_owned() };
    assert_eq!(list.store(Err(refused.clone()), now), Err(refused));
    assert_eq!(list.cached(now), None, "another credential may be accepted");

    let gone = ProviderError::Connect { reason: "gone".to_owned() };
    assert_eq!(list.store(Err(gone.clone()), now), Err(gone.clone()));

    assert_eq!(list.cached(now), Some(Err(gone)));
}
