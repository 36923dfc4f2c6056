//! Unpacks an image into an empty directory.

use std::fs;
use std::path::Path;

use crate::apply_layer::{LayerBudget, apply_layer};
use crate::error::ImageError;
use crate::layer_stream::read_layer;
use crate::limits::UnpackLimits;
use crate::local_image::LocalImage;
use crate::root_tree::RootTree;
use crate::verified_reader::CancelFlag;

/// Unpacks all layers to the new directory `root`; returns the bytes that the files take.
pub(crate) fn unpack_layers(
    image: &LocalImage,
    root: &Path,
    limits: &UnpackLimits,
    flag: &CancelFlag,
) -> Result<u64, ImageError> {
    fs::create_dir(root).map_err(ImageError::io(root))?;
    let tree = RootTree::open(root)?;
    let mut budget = LayerBudget::new(*limits);
    let mut left = limits.unpacked_bytes;
    for layer in &image.layers {
        let (blob, stored_size) = image.files.open(&layer.file)?;
        if stored_size != layer.claim.stored_size {
            let (expected, found) = (layer.claim.stored_size, stored_size);
            return Err(ImageError::Digest {
                what: layer.claim.name.clone(),
                expected: format!("{expected} bytes"),
                found: format!("{found} bytes"),
            });
        }
        let size = read_layer(blob, &layer.claim, left, flag, |stream| {
            apply_layer(&tree, stream, &mut budget, flag)
        })?;
        left -= size.min(left);
    }
    if budget.skipped > 0 {
        tracing::info!(
            image.digest = %image.digest, skipped = budget.skipped,
            "devices and pipes of an image left out"
        );
    }
    Ok(budget.disk_bytes)
}
