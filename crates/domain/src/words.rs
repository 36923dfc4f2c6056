//! String enums: one spelling in the database and on the wire.

/// Defines string enums with serde, `Display`, `FromStr`, and schemas for OpenAPI and tools.
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
            /// Every variant, in the order of definition.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The spelling in the database and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)*
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($wire),*] })
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

/// An unknown variant of a string enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is not a valid {what}; use one of: {allowed}")]
pub struct UnknownWord {
    /// The name of the enum, for people.
    pub what: &'static str,
    pub word: String,
    /// Comma separated.
    pub allowed: String,
}
