//! Tests of settings.

use cynode_domain::ids::UserId;
use cynode_store::{Setting, SettingChange, Store};
use serde_json::{Value, json};

use crate::world::at;

fn setting(key: &str, value: Value, version: i64) -> Setting {
    let updated_by = Some(UserId::generate());
    Setting { key: key.to_owned(), value, version, updated_at: at(1), updated_by }
}

pub(crate) async fn a_setting_is_replaced_by_its_next_version_only(store: Store) {
    let first = setting("a.b", json!(true), 1);
    let row = first.clone();
    assert!(write_tx!(store, tx => tx.setting_put(&row).await));
    for version in [1, 3] {
        let stale = setting("a.b", json!("other"), version);
        assert!(!write_tx!(store, tx => tx.setting_put(&stale).await), "{version}");
    }
    assert_eq!(write_tx!(store, tx => tx.setting_lock("a.b").await), Some(first.clone()));
    assert_eq!(first.value_type(), "boolean");

    let second = setting("a.b", json!({"days": 30}), 2);
    let row = second.clone();
    assert!(write_tx!(store, tx => tx.setting_put(&row).await));
    assert_eq!(write_tx!(store, tx => tx.setting_lock("a.b").await), Some(second.clone()));
    let change = SettingChange {
        key: "a.b".to_owned(),
        old: Some(json!(true)),
        new: None,
        by: None,
        at: at(2),
        reason: Some("tidying".to_owned()),
    };
    write_tx!(store, tx => tx.setting_change_append(&change).await);
    assert!(write_tx!(store, tx => tx.setting_delete("a.b").await));
    assert!(!write_tx!(store, tx => tx.setting_delete("a.b").await));
}

pub(crate) async fn settings_are_listed_by_prefix_and_page(store: Store) {
    for key in ["mcp.b", "mcp.a", "Mcp.c", "other", "mcp.A"] {
        let row = setting(key, json!(1), 1);
        write_tx!(store, tx => tx.setting_put(&row).await);
    }
    let keys = |settings: Vec<Setting>| -> Vec<String> {
        settings.into_iter().map(|setting| setting.key).collect()
    };

    let all = read_tx!(store, tx => tx.setting_list("mcp.", None, 10).await);
    let second = read_tx!(store, tx => tx.setting_list("mcp.", Some("mcp.A"), 1).await);
    let every = read_tx!(store, tx => tx.setting_list("", None, 10).await);

    assert_eq!(keys(all), ["mcp.A", "mcp.a", "mcp.b"]);
    assert_eq!(keys(second), ["mcp.a"]);
    assert_eq!(every.len(), 5);
}

pub(crate) async fn every_touch_raises_the_policy_revision(store: Store) {
    let before = read_tx!(store, tx => tx.policy_revision().await);

    write_tx!(store, tx => tx.policy_bump_revision().await);

    assert_eq!(read_tx!(store, tx => tx.policy_revision().await), before + 1);
}
