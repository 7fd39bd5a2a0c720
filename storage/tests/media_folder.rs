//! Documents name files of one folder, and reach no others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fs;
use std::path::Path;

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind};
use alloquy_formats::messages::{MediaReference, MediaSource};
use alloquy_storage::{MediaFolder, read_media};
use tempfile::TempDir;

const GIF: &[u8] = b"GIF89a and so on";

/// A folder with an image, and one outside of it.
fn folders() -> (TempDir, MediaFolder) {
    let all = TempDir::new().unwrap();
    fs::create_dir_all(all.path().join("root/below")).unwrap();
    fs::write(all.path().join("root/below/cat.gif"), GIF).unwrap();
    fs::write(all.path().join("secret.gif"), GIF).unwrap();
    let folder = MediaFolder::new(all.path().join("root")).unwrap();
    (all, folder)
}

fn refused(folder: &MediaFolder, path: &str) -> Error {
    folder.read(MediaKind::Image, path).unwrap_err()
}

#[test]
fn files_below_the_folder_are_read_and_say_what_they_are() {
    let (all, folder) = folders();
    let absolute = fs::canonicalize(all.path()).unwrap().join("root/below/cat.gif");
    for path in ["below/cat.gif", "./below/../below/cat.gif", absolute.to_str().unwrap()] {
        let cat = folder.read(MediaKind::Image, path).unwrap();
        assert_eq!((cat.media_type(), cat.bytes().map(|bytes| &**bytes)), ("image/gif", Some(GIF)), "{path}");
    }
    assert_eq!(folder.read(MediaKind::Audio, "below/cat.gif").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(refused(&folder, "dog.gif").kind(), ErrorKind::NotFound);
}

#[test]
fn no_path_leads_out_and_none_tells_what_is_there() {
    let (all, folder) = folders();
    let outside = all.path().join("secret.gif").display().to_string();
    for path in ["../secret.gif", "../nothing", "below/../../secret.gif", "/etc/passwd", "/nothing", &outside]
    {
        let error = refused(&folder, path);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{path}");
        assert!(error.to_string().contains("leads out of the folder"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn no_link_leads_out() {
    let (all, folder) = folders();
    let link =
        |from: &str, to: &Path| std::os::unix::fs::symlink(to, all.path().join("root").join(from)).unwrap();
    link("out.gif", &all.path().join("secret.gif"));
    link("up", Path::new(".."));
    link("in.gif", Path::new("below/cat.gif"));
    for path in ["out.gif", "up/secret.gif", "below/../up/secret.gif"] {
        assert!(refused(&folder, path).to_string().contains("leads out"), "{path}");
    }
    assert!(folder.read(MediaKind::Image, "in.gif").is_ok());
}

#[test]
fn what_is_no_regular_file_or_too_large_is_refused_unread() {
    let (_all, folder) = folders();
    assert!(refused(&folder, "below").to_string().ends_with("is not a regular file"));
    let few = folder.clone().max_bytes(GIF.len() as u64 - 1);
    let error = few.read(MediaKind::Image, "below/cat.gif").unwrap_err();
    assert!(error.to_string().ends_with("has 16 bytes, but media may have at most 15"), "{error}");
    assert!(folder.max_bytes(GIF.len() as u64).read(MediaKind::Image, "below/cat.gif").is_ok());
    #[cfg(unix)]
    assert!(
        read_media(MediaKind::Image, "/dev/zero").unwrap_err().to_string().ends_with("is not a regular file")
    );
}

#[test]
fn addresses_are_not_fetched() {
    let (_all, folder) = folders();
    let error =
        folder.fetch(MediaKind::Image, MediaReference::Url("https://example.org/cat.gif")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`MediaSource`"), "{error}");
    assert_eq!(MediaFolder::new("/nowhere").unwrap_err().kind(), ErrorKind::NotFound);
}
