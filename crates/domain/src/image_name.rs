//! Names of the images that jobs run in. A worker node knows what is behind a name.

/// The image of every node: its own system, read-only.
pub const HOST_IMAGE: &str = "host";
/// The setting that lists the images that tasks and sandboxes may use.
pub const ALLOWED_IMAGES_KEY: &str = "sandbox.allowed_images";
/// The most images of a node besides `host`.
pub const MAX_NODE_IMAGES: usize = 64;
const MAX_CHARS: usize = 63;

/// A text that is not the name of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the image name \"{0}\" is invalid: a name is 1 to {MAX_CHARS} lowercase letters, digits, dots, dashes and \
     underscores, and begins with a letter or digit"
)]
pub struct InvalidImageName(String);

/// Checks the name of an image.
pub fn check_image_name(name: &str) -> Result<(), InvalidImageName> {
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_valid = (1..=MAX_CHARS).contains(&name.len())
        && name.bytes().next().is_some_and(is_first)
        && name.bytes().all(|byte| is_first(byte) || b"._-".contains(&byte));
    if is_valid { Ok(()) } else { Err(InvalidImageName(name.chars().take(MAX_CHARS).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_name_is_plain() {
        for name in ["host", "python-3.12", "a", "0_x"] {
            assert_eq!(check_image_name(name), Ok(()));
        }
        for name in ["", "Python", "a/b", "../a", ".a", "-a", "a b", "a:1", "ä", &"x".repeat(64)] {
            assert!(check_image_name(name).is_err(), "{name}");
        }
    }
}
