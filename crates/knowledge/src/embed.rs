//! The default embedder: hashed term frequencies. Deterministic, offline, without a model.
//!
//! A text becomes a vector of [`DIMENSIONS`]: each term, and each four letters of a longer term, adds to one dimension that
//! its hash chooses, with a sign from the hash, so that collisions cancel out on average. Terms count by the logarithm of
//! their frequency, and function words by a tenth. The vector has length one; that of a text without words is zero.

use std::collections::BTreeMap;

use crate::words::{hash, is_function_word, stem, words};

/// The length of a vector.
pub const DIMENSIONS: usize = 512;

/// The weight of four letters of a term, relative to the term.
const GRAM_WEIGHT: f32 = 0.25;
const FUNCTION_WORD_WEIGHT: f32 = 0.1;

/// The vector of a text.
pub fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    for (word, count) in counts(text) {
        let weight = 1.0 + log2(count);
        let weight = if is_function_word(&word) { weight * FUNCTION_WORD_WEIGHT } else { weight };
        add_term(&mut vector, &stem(&word), weight);
    }
    normalise(&mut vector);
    vector
}

/// The similarity of two vectors of length one, from 0 to 1; opposite directions count as 0.
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product: f32 = one.iter().zip(other).map(|(one, other)| one * other).sum();
    f64::from(product).clamp(0.0, 1.0)
}

fn counts(text: &str) -> BTreeMap<String, u16> {
    let mut counts: BTreeMap<String, u16> = BTreeMap::new();
    for word in words(text) {
        let count = counts.entry(word).or_insert(0);
        *count = count.saturating_add(1);
    }
    counts
}

fn log2(count: u16) -> f32 {
    f32::from(count).log2()
}

fn add_term(vector: &mut [f32], term: &str, weight: f32) {
    add(vector, term.as_bytes(), 1, weight);
    let letters: Vec<(usize, char)> = term.char_indices().collect();
    if letters.len() > 4 {
        for window in letters.windows(4) {
            let end = window[3].0 + window[3].1.len_utf8();
            add(vector, &term.as_bytes()[window[0].0..end], 2, weight * GRAM_WEIGHT);
        }
    }
}

fn add(vector: &mut [f32], bytes: &[u8], seed: u64, weight: f32) {
    let hash = hash(bytes, seed);
    let place = usize::try_from(hash % DIMENSIONS as u64).unwrap_or(0);
    vector[place] += if hash >> 63 == 0 { weight } else { -weight };
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in vector.iter_mut() {
            *value /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_have_similar_vectors_and_the_same_text_the_same() {
        let text = embed("how a lease of a run expires");

        assert_eq!(text, embed("how a lease of a run expires"));
        assert!((cosine(&text, &text) - 1.0).abs() < 1e-5);
        let near = cosine(&text, &embed("the run's lease has expired"));
        let far = cosine(&text, &embed("colours of the web console"));
        assert!(near > 0.5 && far < 0.3, "{near} {far}");
    }

    #[test]
    fn a_text_without_words_is_similar_to_nothing() {
        assert!(embed(" … ").iter().all(|value| value.abs() < f32::EPSILON));
        assert!(cosine(&embed(""), &embed("lease")) < f64::EPSILON);
    }
}
