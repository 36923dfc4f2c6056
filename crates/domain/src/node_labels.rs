//! Labels of worker nodes, such as `zone=eu`, by which tasks choose a node.

use std::collections::BTreeMap;

/// The labels of a node, or those that a task demands.
pub type NodeLabels = BTreeMap<String, String>;

/// The most labels of a node or a task.
const MAX_LABELS: usize = 16;
const MAX_CHARS: usize = 63;
/// Labels that every node has, from its machine.
pub const MACHINE_LABELS: [&str; 2] = ["arch", "os"];

/// An invalid label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    #[error("\"{0}\" is not a label; write KEY=VALUE, such as zone=eu")]
    NoValue(String),
    #[error(
        "the label \"{0}\" is invalid: a key and a value are 1 to {MAX_CHARS} letters, digits, dots, dashes and \
         underscores"
    )]
    Format(String),
    #[error("\"{0}\" is set from the machine of the node; choose another key")]
    Machine(String),
    #[error("more than {MAX_LABELS} labels")]
    TooMany,
}

/// Parses `KEY=VALUE`.
pub fn parse_label(text: &str) -> Result<(String, String), InvalidLabel> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| InvalidLabel::NoValue(text.to_owned()))?;
    check_label(key, value)?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Checks the labels that a task demands.
pub fn check_demanded(labels: &NodeLabels) -> Result<(), InvalidLabel> {
    if labels.len() > MAX_LABELS {
        return Err(InvalidLabel::TooMany);
    }
    labels.iter().try_for_each(|(key, value)| check_label(key, value))
}

/// Checks the labels that a node is given.
pub fn check_given(labels: &NodeLabels) -> Result<(), InvalidLabel> {
    check_demanded(labels)?;
    match labels.keys().find(|key| MACHINE_LABELS.contains(&key.as_str())) {
        Some(key) => Err(InvalidLabel::Machine(key.clone())),
        None => Ok(()),
    }
}

fn check_label(key: &str, value: &str) -> Result<(), InvalidLabel> {
    let is_valid = |text: &str| {
        (1..=MAX_CHARS).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
    };
    if is_valid(key) && is_valid(value) {
        return Ok(());
    }
    Err(InvalidLabel::Format(format!("{key}={value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_key_and_a_value_of_plain_characters() {
        assert_eq!(parse_label("zone=eu-1"), Ok(("zone".to_owned(), "eu-1".to_owned())));
        assert_eq!(parse_label("zone"), Err(InvalidLabel::NoValue("zone".to_owned())));
        for invalid in ["=x", "zone=", "a b=c", "zone=a=b", "zone=ä", &"k".repeat(64)] {
            assert!(parse_label(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_node_is_not_given_the_labels_of_its_machine() {
        let labels = NodeLabels::from([("arch".to_owned(), "x86_64".to_owned())]);

        assert_eq!(check_demanded(&labels), Ok(()));
        assert_eq!(check_given(&labels), Err(InvalidLabel::Machine("arch".to_owned())));
        let many = (0..17).map(|number| (format!("k{number}"), "v".to_owned())).collect();
        assert_eq!(check_demanded(&many), Err(InvalidLabel::TooMany));
    }
}
