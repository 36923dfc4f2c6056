//! Layers that try to leave the directory of the image, or to exhaust the node.

use std::fs;

use cynode_image::{StoreLimits, UnpackLimits};

use crate::fixture::{
    GZIP, ImageBench, ImageBuilder, LayerBuilder, StoredLayer, blob_file, digest, gzip, layer, root,
};

/// Unpacks a layer that must be rejected; nothing may be left.
async fn rejection(layer: LayerBuilder) -> String {
    rejection_within(UnpackLimits::default(), StoredLayer::plain(layer.build())).await
}

async fn rejection_within(image: UnpackLimits, layer: StoredLayer) -> String {
    let bench = ImageBench::with_limits(StoreLimits { image, ..StoreLimits::default() });
    let refused = bench.unpack(&ImageBuilder::new(vec![layer])).await;
    assert_eq!(bench.stored(), Vec::<String>::new(), "a rejected image leaves nothing");
    refused.unwrap_err().describe()
}

#[tokio::test]
async fn paths_that_leave_the_image_are_rejected() {
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().join("absolute");
    for path in ["../escape", "a/../../escape", "..", absolute.to_str().unwrap()] {
        for entry in [layer().file(path, "x"), layer().dir(path), layer().symlink(path, "x")] {
            let reason = rejection(entry).await;
            assert!(
                reason.contains("path contains ..") || reason.contains("is absolute"),
                "{reason}"
            );
        }
    }
    assert!(!absolute.exists());
}

#[tokio::test]
async fn links_out_of_the_image_lead_to_files_inside_it() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "untouched").unwrap();
    let target = outside.path().to_str().unwrap();
    let upward = format!("{}{}", "../".repeat(15), target.trim_start_matches('/'));
    let layer = layer()
        .symlink("absolute", target)
        .file("absolute/file", "written")
        .symlink("upward", &upward)
        .file("upward/other", "written")
        .symlink("one", "two")
        .symlink("two", "absolute")
        .file("one/third", "written")
        // A file entry replaces a link, and does not write to its target.
        .symlink("direct", &format!("{target}/file"))
        .file("direct", "written");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![layer.build()]).await.unwrap();

    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let inside = root(&unpacked).join(target.trim_start_matches('/'));
    let mut names: Vec<_> =
        fs::read_dir(inside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["file", "other", "third"]);
}

#[tokio::test]
async fn whiteouts_and_replacements_do_not_follow_links() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "untouched").unwrap();
    let target = outside.path().to_str().unwrap();
    let lower =
        layer().symlink("link", target).symlink("other", target).dir("d/").symlink("d/l", target);
    let upper = layer()
        .file("link/.wh.file", "")
        .file("link/.wh..wh..opq", "")
        .file(".wh.other", "")
        .file("d", "replaces a directory with a link in it");

    let bench = ImageBench::new();
    bench.unpack_layers(vec![lower.build(), upper.build()]).await.unwrap();

    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "untouched");
}

#[tokio::test]
async fn whiteouts_of_the_directory_itself_or_above_it_are_rejected() {
    for name in [".wh...", ".wh..", "a/.wh...", "a/.wh."] {
        let reason = rejection(layer().dir("a/").file(name, "")).await;
        assert!(reason.contains("would remove a directory above it"), "{name}: {reason}");
    }
}

#[tokio::test]
async fn hard_links_to_files_outside_the_image_are_rejected() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let path = secret.to_str().unwrap();
    let absolute = rejection(layer().hard_link("mine", path)).await;
    assert!(absolute.contains("is absolute"), "{absolute}");
    let upward = rejection(layer().hard_link("mine", &format!("../../../..{path}"))).await;
    assert!(upward.contains("contains .."), "{upward}");
    let through =
        layer().symlink("out", outside.path().to_str().unwrap()).hard_link("mine", "out/secret");
    let through = rejection(through).await;
    assert!(through.contains("is not in the image"), "{through}");
    // The link itself, not the file that it points to.
    let of_link = layer().symlink("out", path).hard_link("mine", "out");
    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![of_link.build()]).await.unwrap();
    assert!(root(&unpacked).join("mine").is_symlink());
    let of_dir = rejection(layer().dir("d/").hard_link("mine", "d")).await;
    assert!(of_dir.contains("rejected"), "{of_dir}");
}

#[tokio::test]
async fn devices_and_pipes_are_left_out() {
    let layer = layer()
        .entry(b'3', "dev/mem", "", 0o666, b"")
        .entry(b'4', "dev/sda", "", 0o666, b"")
        .entry(b'6', "pipe", "", 0o666, b"")
        .file("kept", "x");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![layer.build()]).await.unwrap();

    assert!(root(&unpacked).join("kept").exists());
    assert!(!root(&unpacked).join("dev").exists() && !root(&unpacked).join("pipe").exists());
}

#[tokio::test]
async fn a_layer_that_differs_from_its_digests_is_rejected() {
    let content = layer().file("a", "x").build();
    let other = layer().file("a", "y").build();
    let wrong_content =
        StoredLayer { media_type: GZIP, stored: gzip(&other), plain: content.clone() };
    let reason = rejection_within(UnpackLimits::default(), wrong_content).await;
    assert!(reason.contains(&digest(&content)) && reason.contains(&digest(&other)), "{reason}");

    for damage in [Damage::Flip, Damage::Truncate, Damage::Append, Damage::Empty] {
        let bench = ImageBench::new();
        let image = ImageBuilder::new(vec![StoredLayer::gzip(content.clone())]);
        let layout = bench.home.path().join("layout");
        image.write_layout(&layout);
        let path = blob_file(&layout, &digest(&image.layers[0].stored));
        let mut bytes = fs::read(&path).unwrap();
        match damage {
            Damage::Flip => *bytes.last_mut().unwrap() ^= 1,
            Damage::Truncate => bytes.truncate(bytes.len() / 2),
            Damage::Append => bytes.extend_from_slice(&gzip(b"more")),
            Damage::Empty => bytes.clear(),
        }
        fs::write(&path, bytes).unwrap();

        let refused = bench.acquire(&layout).await;

        assert!(refused.is_err(), "{damage:?}");
        assert_eq!(bench.stored(), Vec::<String>::new());
    }
}

#[derive(Debug)]
enum Damage {
    Flip,
    Truncate,
    Append,
    Empty,
}

#[tokio::test]
async fn a_changed_manifest_or_configuration_is_rejected() {
    let bench = ImageBench::new();
    let image = ImageBuilder::new(vec![StoredLayer::plain(layer().file("a", "x").build())]);
    for blob in [image.manifest(), image.config()] {
        let layout = bench.home.path().join("layout");
        image.write_layout(&layout);
        let changed = String::from_utf8(blob.clone()).unwrap().replace("linux", "linuy");
        let changed = changed.replace("schemaVersion\":2", "schemaVersion\":3");
        fs::write(blob_file(&layout, &digest(&blob)), changed).unwrap();

        let reason = bench.acquire(&layout).await.unwrap_err().describe();

        assert!(reason.contains("not what its digest promises"), "{reason}");
    }
}

#[tokio::test]
async fn a_decompression_bomb_ends_at_the_limit() {
    let limits = UnpackLimits { unpacked_bytes: 64 << 10, ..UnpackLimits::default() };
    let zeros = "\0".repeat(2 << 20);
    let in_a_file = layer().file("zeros", &zeros).build();
    let in_an_extension = layer().entry(b'x', "x", "", 0, zeros.as_bytes()).file("a", "").build();
    let in_a_name = layer().entry(b'L', "x", "", 0, zeros.as_bytes()).file("a", "").build();
    let after_the_end = [layer().file("a", "").build(), zeros.clone().into_bytes()].concat();
    for content in [in_a_file, in_an_extension, in_a_name, after_the_end] {
        for stored in [StoredLayer::gzip(content.clone()), StoredLayer::zstd(content.clone())] {
            let reason = rejection_within(limits, stored).await;
            assert!(
                reason.contains("exceeds the limit") || reason.contains("more than"),
                "{reason}"
            );
        }
    }
}

#[tokio::test]
async fn too_many_entries_layers_and_names_are_rejected() {
    let default = UnpackLimits::default();
    let many = (0..100_000).fold(layer(), |layer, number| layer.file(&format!("f{number}"), ""));
    let many = StoredLayer::gzip(many.build());
    let reason = rejection_within(UnpackLimits { entries: 99_999, ..default }, many).await;
    assert!(reason.contains("number of entries"), "{reason}");

    let names = (0..100).fold(layer(), |layer, _| layer.file(&"n".repeat(90), ""));
    let names = StoredLayer::plain(names.build());
    let reason = rejection_within(UnpackLimits { name_bytes: 8000, ..default }, names).await;
    assert!(reason.contains("length of all names"), "{reason}");

    let layers = vec![StoredLayer::plain(layer().build()); 129];
    let refused = ImageBench::new().unpack(&ImageBuilder::new(layers)).await.unwrap_err();
    assert!(refused.to_string().contains("number of layers"), "{refused}");
}

#[tokio::test]
async fn links_in_circles_and_bottomless_directories_are_rejected() {
    let circle = layer().symlink("a", "b").symlink("b", "a").file("a/x", "");
    let reason = rejection(circle).await;
    assert!(reason.contains("too many links"), "{reason}");

    // Each link lengthens the path of the next by forty directories.
    let down = format!("{}l", "d/".repeat(40));
    let mut deep = layer().symlink("l", "d");
    for _ in 0..5 {
        deep = deep.symlink(&down, "d").file(&format!("{down}/{}x", "e/".repeat(40)), "");
    }
    let deep =
        deep.file(&format!("{0}{0}{0}{0}x", "d/".repeat(10)), "").symlink("far", &"d/".repeat(40));
    let deep = deep
        .file(&format!("far/{}x", "d/".repeat(45)), "")
        .symlink("far2", &format!("far/{}", "d/".repeat(45)));
    let deep = deep.file(&format!("far2/{}x", "d/".repeat(45)), "");
    let reason = rejection(deep).await;
    assert!(reason.contains("more than 128 directories"), "{reason}");
}

#[tokio::test]
async fn extended_headers_cannot_smuggle_a_path_or_a_size() {
    let reason =
        rejection(layer().entry(b'x', "p", "", 0, b"18 path=../escape\n").file("a", "")).await;
    assert!(reason.contains("path contains .."), "{reason}");
    let reason = rejection(layer().entry(b'x', "p", "", 0, b"11 size=99\n").file("a", "x")).await;
    assert!(reason.contains("disagree about its size"), "{reason}");
    let reason = rejection(layer().entry(b'g', "p", "", 0, b"12 path=etc\n").file("a", "x")).await;
    assert!(reason.contains("global header names a file"), "{reason}");
    let reason = rejection(layer().entry(b'x', "p", "", 0, b"10 path=\0\n").file("a", "x")).await;
    assert!(reason.contains("NUL byte"), "{reason}");
    let reason = rejection(layer().entry(b'S', "sparse", "", 0o644, b"")).await;
    assert!(reason.contains("not supported"), "{reason}");
}
