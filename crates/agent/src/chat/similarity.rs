//! Ranks tools by the words that their name and description share with the request.
//!
//! The ranking is deterministic: equal scores keep the order in which the tools are listed.

use std::collections::BTreeSet;

/// The weight of a word in the name relative to one in the description.
const NAME_WEIGHT: usize = 3;
/// Stop words.
const STOP_WORDS: [&str; 34] = [
    "a", "about", "all", "an", "and", "are", "be", "by", "can", "do", "for", "from", "i", "in",
    "is", "it", "its", "me", "my", "no", "of", "on", "one", "or", "please", "that", "the", "them",
    "this", "to", "was", "what", "with", "you",
];

/// Returns the indices of the tools that share a word with the request, best first.
pub(super) fn rank_tools<'a>(
    request: &str,
    tools: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<usize> {
    let wanted = stems(request);
    let score = |(name, about): (&str, &str)| {
        let shared = |text: &str| stems(text).intersection(&wanted).count();
        NAME_WEIGHT * shared(name) + shared(about)
    };
    let mut scored: Vec<(usize, usize)> = tools.into_iter().map(score).enumerate().collect();
    scored.retain(|(_, score)| *score > 0);
    scored.sort_by_key(|(index, score)| (std::cmp::Reverse(*score), *index));
    scored.into_iter().map(|(index, _)| index).collect()
}

/// Returns the stems of a text without stop words.
fn stems(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.filter(|word| !STOP_WORDS.contains(word)).map(stem).collect()
}

fn stem(word: &str) -> String {
    let shorter = ["ing", "ed", "es", "s"].iter().find_map(|end| word.strip_suffix(end));
    shorter.filter(|it| it.chars().count() >= 3).unwrap_or(word).trim_end_matches('e').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str); 5] = [
        ("db.task.list", "Lists tasks."),
        ("db.task.cancel", "Ends a task."),
        ("db.schedule.create", "Creates a schedule that makes tasks."),
        ("weather.look_up", "Tells the weather of a city."),
        ("queue.push", "Adds a message."),
    ];

    fn best(request: &str) -> Vec<&'static str> {
        rank_tools(request, TOOLS).into_iter().map(|index| TOOLS[index].0).collect()
    }

    #[test]
    fn tools_are_ranked_by_the_words_they_share_with_the_request() {
        assert_eq!(best("Cancel the tasks of yesterday")[0], "db.task.cancel");
        assert_eq!(best("how is the weather in Rome?"), ["weather.look_up"]);
        assert_eq!(best("scheduling")[0], "db.schedule.create");
        assert_eq!(best("please do it for me"), Vec::<&str>::new());
    }

    #[test]
    fn whole_words_count_and_equal_tools_keep_their_order() {
        assert_eq!(best("multitasking"), Vec::<&str>::new());
        assert_eq!(best("tasks"), ["db.task.list", "db.task.cancel", "db.schedule.create"]);
    }
}
