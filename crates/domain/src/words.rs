//! Closed sets of words: enums with one spelling in the database and on the wire.

/// A closed set of words, each with one spelling in the database and on the wire.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $name:ident($what:literal) { $($(#[$vdoc:meta])* $variant:ident = $wire:literal,)* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $wire)] #[schema(rename = $wire)] $variant,)*
        }

        impl $name {
            /// Every word, in the order of its definition.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in the database and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or_else(|| {
                    let allowed: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
                    $crate::words::UnknownWord { what: $what, word: word.to_owned(), allowed: allowed.join(", ") }
                })
            }
        }
    )*};
}

/// A word outside its closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is no {what}; use one of: {allowed}")]
pub struct UnknownWord {
    /// What was asked for.
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The words that exist, comma separated.
    pub allowed: String,
}
