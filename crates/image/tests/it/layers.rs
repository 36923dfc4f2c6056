//! How layers become files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::fixture::{GZIP, ImageBench, ImageBuilder, StoredLayer, gzip, layer, read, root, zstd};

#[tokio::test]
async fn layers_of_every_compression_are_applied_in_order() {
    let first = layer().dir("etc/").file("etc/name", "one").file("etc/kept", "kept").build();
    let second = layer().file("etc/name", "two").build();
    let third = layer().file("./bin/run", "three").build();
    let image = ImageBuilder::new(vec![
        StoredLayer::plain(first),
        StoredLayer::gzip(second),
        StoredLayer::zstd(third),
    ]);

    let bench = ImageBench::new();
    let unpacked = bench.unpack(&image).await.unwrap();

    assert_eq!(unpacked.digest().to_string(), image.digest());
    assert_eq!(read(&unpacked, "etc/name"), "two");
    assert_eq!(read(&unpacked, "etc/kept"), "kept");
    assert_eq!(read(&unpacked, "bin/run"), "three");
    assert_eq!(unpacked.env()["PATH"], "/bin");
}

#[tokio::test]
async fn members_and_frames_of_a_compressed_layer_are_read_to_the_last() {
    let content = layer().file("a", &"x".repeat(5000)).file("b", "last").build();
    let (start, end) = content.split_at(3000);
    let skipped: &[u8] = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc";
    for (media_type, stored) in [
        (GZIP, [gzip(start), gzip(end)].concat()),
        (crate::fixture::ZSTD, [&zstd(start), skipped, &zstd(end), skipped].concat()),
    ] {
        let plain = content.clone();
        let image = ImageBuilder::new(vec![StoredLayer { media_type, stored, plain }]);

        let bench = ImageBench::new();
        let unpacked = bench.unpack(&image).await.unwrap();

        assert_eq!(read(&unpacked, "b"), "last", "{media_type}");
    }
}

#[tokio::test]
async fn whiteouts_hide_files_of_lower_layers_and_never_those_of_their_own() {
    let lower = layer()
        .file("etc/gone", "x")
        .file("etc/stays", "x")
        .file("tree/a/deep", "x")
        .file("opaque/lower", "x")
        .file("opaque/sub/lower", "x");
    let upper = layer()
        .file("etc/.wh.gone", "")
        .file("etc/.wh.never-there", "")
        .file(".wh.tree", "")
        .file("opaque/upper", "y")
        .file("opaque/sub/upper", "y")
        .file("opaque/.wh..wh..opq", "")
        .file("own", "y")
        .file(".wh.own", "")
        .file("nowhere/.wh.x", "")
        .file(".wh..wh.plnk", "");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![lower.build(), upper.build()]).await.unwrap();

    let exists = |path: &str| root(&unpacked).join(path).exists();
    for path in ["etc/stays", "opaque/upper", "opaque/sub/upper", "own"] {
        assert!(exists(path), "{path}");
    }
    for path in ["etc/gone", "tree", "opaque/lower", "opaque/sub/lower", "nowhere", ".wh..wh.plnk"]
    {
        assert!(!exists(path), "{path}");
    }
}

#[tokio::test]
async fn links_point_inside_the_image_and_hard_links_share_a_file() {
    let lower = layer().dir("usr/lib/").symlink("lib", "/usr/lib").file("usr/lib/a", "a");
    let upper = layer()
        .file("lib/b", "through a link, inside")
        .hard_link("usr/lib/c", "lib/a")
        .symlink("dangling", "/nowhere/at/all");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![lower.build(), upper.build()]).await.unwrap();

    assert_eq!(read(&unpacked, "usr/lib/b"), "through a link, inside");
    assert!(root(&unpacked).join("lib").is_symlink());
    let inode = |path: &str| fs::metadata(root(&unpacked).join(path)).unwrap().ino();
    assert_eq!(inode("usr/lib/a"), inode("usr/lib/c"));
    assert_eq!(
        fs::read_link(root(&unpacked).join("dangling")).unwrap().to_str(),
        Some("/nowhere/at/all")
    );
}

#[tokio::test]
async fn files_keep_their_permissions_without_special_bits_and_belong_to_the_node() {
    let layer = layer()
        .entry(b'5', "closed/", "", 0o1000, b"")
        .file("closed/inner", "x")
        .file_with_mode("su", "x", 0o6755)
        .file_with_mode("secret", "x", 0o000);

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![layer.build()]).await.unwrap();

    let found = |path: &str| fs::metadata(root(&unpacked).join(path)).unwrap();
    let mode = |path: &str| found(path).permissions().mode() & 0o7777;
    assert_eq!((mode("su"), mode("secret"), mode("closed")), (0o755, 0o400, 0o700));
    assert_eq!(found("su").mtime(), 0o14_371_573_000);
    assert_eq!(found("su").uid(), fs::metadata(root(&unpacked)).unwrap().uid());
}

#[tokio::test]
async fn a_later_entry_of_one_name_replaces_the_earlier_whatever_it_was() {
    let first =
        layer().dir("d/").file("d/x", "1").file("f", "1").symlink("l", "d").file("dup", "1");
    let second = layer()
        .file("d", "now a file")
        .dir("f/")
        .dir("l/")
        .file("l/y", "2")
        .file("dup", "2")
        .file("dup", "3");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![first.build(), second.build()]).await.unwrap();

    assert_eq!(read(&unpacked, "d"), "now a file");
    assert!(root(&unpacked).join("f").is_dir());
    assert_eq!(read(&unpacked, "l/y"), "2");
    assert_eq!(read(&unpacked, "dup"), "3");
}

#[tokio::test]
async fn long_names_of_both_kinds_are_read() {
    let long = "d/".repeat(40) + &"n".repeat(120);
    let pax_path = format!("p/{}", "q".repeat(200));
    let record = |key: &str, value: &str| {
        let body = format!(" {key}={value}\n");
        let length = (1..5).find_map(|digits| {
            let length = body.len() + digits;
            (length.to_string().len() == digits).then_some(length)
        });
        format!("{}{body}", length.unwrap())
    };
    let layer = layer()
        .entry(b'L', "././@LongLink", "", 0, format!("{long}\0").as_bytes())
        .file("short", "gnu")
        .entry(b'x', "pax", "", 0, record("path", &pax_path).as_bytes())
        .file("short", "pax")
        .entry(b'g', "global", "", 0, record("comment", "a commit").as_bytes())
        .file("plain", "plain");

    let bench = ImageBench::new();
    let unpacked = bench.unpack_layers(vec![layer.build()]).await.unwrap();

    assert_eq!(read(&unpacked, &long), "gnu");
    assert_eq!(read(&unpacked, &pax_path), "pax");
    assert_eq!(read(&unpacked, "plain"), "plain");
    assert!(!root(&unpacked).join("short").exists());
}
