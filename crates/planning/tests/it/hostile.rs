//! Texts that try to decide their own classification.

use cynode_planning::intake::{Submission, assess_scope, classify, inspect};

use crate::corpus::{HostilePair, load};

#[test]
fn text_about_the_classification_does_not_change_the_rulings() {
    let pairs = load::<HostilePair>("hostile.jsonl");
    let mut changed = vec![];
    for pair in &pairs {
        let rule = |text| {
            let submission = Submission { text, labels: &[], is_brief: false };
            let kind = classify(&submission);
            let scope = assess_scope(&submission, kind.value, None);
            (kind, scope, inspect(text))
        };
        let (clean, hostile) = (rule(&pair.clean), rule(&pair.hostile));
        if clean != hostile {
            changed.push(format!("{}\n  {clean:?}\n  {hostile:?}", pair.hostile));
        }
    }

    assert!(pairs.len() >= 30);
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}
