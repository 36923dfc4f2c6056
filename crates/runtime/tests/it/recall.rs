//! Recall of the redaction by kind of secret, measured on generated secrets.

mod kinds;

use cynode_runtime::redact::{REDACTED, redact, redact_with_marker};

use kinds::{SAMPLE_KINDS, SampleKind, SecretAlphabet};

/// Secrets per kind.
const SAMPLES: u64 = 20;
/// Minimum percentage of kinds whose samples must all be found.
const LEAST_KINDS: usize = 96;
/// Minimum share of samples that must be found, per mille.
const LEAST_SAMPLES: usize = 990;

/// A deterministic pseudo-random number generator (xorshift).
struct SampleRng(u64);

impl SampleRng {
    fn new(name: &str, sample: u64) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed ^ (sample + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn text(&mut self, letters: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }
}

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";

/// Generates a secret of a kind, without its prefix.
fn secret((name, alphabet, length, _, _): &SampleKind, sample: u64) -> String {
    let mut numbers = SampleRng::new(name, sample);
    let hex = [DIGITS, b"abcdef"].concat();
    let upper = [CAPITALS, DIGITS].concat();
    let letters = match alphabet {
        SecretAlphabet::Plain => [LOWER, CAPITALS, DIGITS].concat(),
        SecretAlphabet::UrlSafe => [LOWER, CAPITALS, DIGITS, b"-_"].concat(),
        SecretAlphabet::Word => [LOWER, CAPITALS, DIGITS, b"_"].concat(),
        SecretAlphabet::Base64 => [LOWER, CAPITALS, DIGITS, b"+/"].concat(),
        SecretAlphabet::Hex => hex.clone(),
        SecretAlphabet::Upper => upper.clone(),
        SecretAlphabet::Uuid => {
            let mut part = |length| numbers.text(&hex, length);
            let (first, second, third, last) = (part(8), part(4), part(3), part(12));
            return format!("{first}-{second}-4{third}-8{}-{last}", part(3));
        }
        SecretAlphabet::Groups => {
            let parts = [6, 6, 5, 5, 5, 5].map(|length| numbers.text(&upper, length));
            return parts.join("-");
        }
    };
    // The first and last characters are not separators: providers do not issue such secrets.
    let middle = numbers.text(&letters, length.saturating_sub(2));
    let edge = if *alphabet == SecretAlphabet::Hex { &hex } else { &upper };
    format!("{}{middle}{}", numbers.text(edge, 1), numbers.text(edge, 1))
}

/// A text with a generated secret, and the secret.
fn sample(kind: &SampleKind, number: u64) -> (String, String) {
    let (_, _, _, prefix, text) = kind;
    let secret = secret(kind, number);
    (text.replace("{}", &format!("{prefix}{secret}")), secret)
}

#[test]
fn secrets_of_almost_every_kind_are_found() {
    let (mut whole, mut found, mut missed) = (0, 0, vec![]);
    for kind in &SAMPLE_KINDS {
        let is_found = |number: &u64| {
            let (text, secret) = sample(kind, *number);
            !redact(&text).contains(&secret)
        };
        let of_kind = (0..SAMPLES).filter(is_found).count();
        found += of_kind;
        if of_kind == usize::try_from(SAMPLES).unwrap() {
            whole += 1;
        } else {
            missed.push(format!("{} ({of_kind} of {SAMPLES})", kind.0));
        }
    }
    let (kinds, samples) =
        (SAMPLE_KINDS.len(), SAMPLE_KINDS.len() * usize::try_from(SAMPLES).unwrap());
    println!("recall: {whole} of {kinds} kinds, {found} of {samples} samples; missed: {missed:?}");

    assert!(kinds >= 120);
    assert!(whole * 100 >= kinds * LEAST_KINDS, "{whole} of {kinds} kinds: {missed:?}");
    assert!(found * 1000 >= samples * LEAST_SAMPLES, "{found} of {samples}: {missed:?}");
}

#[test]
fn every_kind_stays_json_and_clean_once_it_is_redacted() {
    for kind in &SAMPLE_KINDS {
        let (text, _) = sample(kind, 0);
        let line = serde_json::json!({ "message": text, "after": "kept" }).to_string();
        let clean = redact(&line).into_owned();
        let back: serde_json::Value = serde_json::from_str(&clean)
            .unwrap_or_else(|error| panic!("{}: {error}: {clean}", kind.0));
        assert_eq!(back["after"], "kept", "{}: {clean}", kind.0);
        assert_eq!(redact(&clean), clean, "{}", kind.0);
        let again = redact_with_marker(&redact(&text), REDACTED).kinds;
        assert!(again.is_empty(), "{}: {again:?}", kind.0);
    }
}
