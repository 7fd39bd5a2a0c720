//! A wheel is installed into the cache completely or not at all. The wheels are made here; the pinned one is only
//! fetched when `ALLOQUY_TEST_FETCH` is set.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, clippy::print_stderr)]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use alloquy_onnx_runtime::{DownloadEvent, Gpu, LibraryOrigin, LocateError, Locator, Wheel};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn wheel_bytes(gpu: Gpu, leave_out: &str) -> Vec<u8> {
    let wheel = Wheel::pinned(gpu).unwrap();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let files = wheel.companions.iter().chain([&wheel.library]).map(|file| file.name);
    let mut names: Vec<_> =
        files.chain(["not_wanted.so"]).map(|name| format!("onnxruntime/capi/{name}")).collect();
    names
        .extend(["onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt", "../outside"].map(String::from));
    for name in names.iter().filter(|name| !name.ends_with(leave_out) || leave_out.is_empty()) {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(name.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns a folder that no other user may change, whatever the umask is: libraries in other folders are not loaded.
fn private_folder() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir().unwrap()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("wheel.whl");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_wheel_becomes_a_folder_with_library_and_licences() {
    for gpu in [Gpu::None, Gpu::Cuda] {
        let Ok(wheel) = Wheel::pinned(gpu) else { continue };
        let root = private_folder();
        let bytes = wheel_bytes(gpu, "");
        let locator = Locator::new().cache(root.path()).gpu(gpu);
        let locator = locator.wheel(put(root.path(), &bytes)).digest(digest(&bytes));
        let mut events = Vec::new();
        let library = locator.locate(|event| events.push(event)).unwrap();
        assert_eq!(library.origin, LibraryOrigin::Fetched);
        let written = std::fs::read_to_string(&library.path).unwrap();
        assert_eq!(written, format!("onnxruntime/capi/{}", wheel.library.name));
        let mut wanted = vec!["LICENSE", "ThirdPartyNotices.txt", "installed.txt", wheel.library.name];
        wanted.extend(wheel.companions.iter().map(|file| file.name));
        wanted.sort_unstable();
        assert_eq!(files(library.path.parent().unwrap()), wanted);
        assert!(matches!(
            (&events[0], events.last()),
            (DownloadEvent::Verified, Some(DownloadEvent::Installed { .. }))
        ));
        assert_eq!(locator.locate(|event| panic!("{event:?}")).unwrap().origin, LibraryOrigin::Cache);
    }
}

#[test]
fn a_wrong_digest_is_refused_and_leaves_nothing() {
    let root = private_folder();
    let locator = Locator::new().cache(root.path()).wheel(put(root.path(), &wheel_bytes(Gpu::None, "")));
    let error = locator.locate(|_| {}).unwrap_err();
    assert!(matches!(error, LocateError::Digest { .. }), "{error}");
    assert!(error.to_string().contains(Wheel::pinned(Gpu::None).unwrap().sha256), "{error}");
    assert_eq!(files(&root.path().join("onnxruntime")), [".lock"]);
}

#[test]
fn a_truncated_or_incomplete_archive_leaves_nothing() {
    let whole = wheel_bytes(Gpu::None, "");
    let cases =
        [whole[..whole.len() / 2].to_vec(), wheel_bytes(Gpu::None, "ThirdPartyNotices.txt"), Vec::new()];
    for bytes in cases {
        let root = private_folder();
        let locator = Locator::new().cache(root.path());
        let locator = locator.wheel(put(root.path(), &bytes)).digest(digest(&bytes));
        let error = locator.locate(|_| {}).unwrap_err();
        assert!(matches!(error, LocateError::Archive { .. }), "{error}");
        assert_eq!(files(&root.path().join("onnxruntime")), [".lock"], "{error}");
    }
}

#[test]
fn an_installation_succeeds_after_a_killed_process() {
    let root = private_folder();
    let wheel = Wheel::pinned(Gpu::None).unwrap();
    let cache = root.path().join("onnxruntime");
    std::fs::create_dir_all(cache.join(format!(".{}.partial/download", wheel.version))).unwrap();
    std::fs::create_dir_all(cache.join(wheel.version)).unwrap();
    let bytes = wheel_bytes(Gpu::None, "");
    let locator = Locator::new().cache(root.path()).wheel(put(root.path(), &bytes)).digest(digest(&bytes));
    assert_eq!(locator.locate(|_| {}).unwrap().origin, LibraryOrigin::Fetched);
    assert_eq!(files(&cache), [".lock", wheel.version]);
}

/// Not a test of its own: one of the racing processes.
#[test]
fn racer() {
    let Some(root) = std::env::var_os("TEST_RACE").map(PathBuf::from) else {
        return;
    };
    let bytes = wheel_bytes(Gpu::None, "");
    let locator = Locator::new().cache(&root).wheel(root.join("wheel.whl")).digest(digest(&bytes));
    let library = locator.locate(|event| println!("event: {event}")).unwrap();
    assert!(library.path.is_file());
    println!("origin: {:?}", library.origin);
}

#[test]
fn racing_processes_all_succeed_and_one_of_them_installs() {
    let root = private_folder();
    put(root.path(), &wheel_bytes(Gpu::None, ""));
    let mut racers: Vec<Child> = Vec::new();
    for _ in 0..4 {
        let mut racer = Command::new(std::env::current_exe().unwrap());
        racer.args(["--exact", "racer", "--nocapture"]).env("TEST_RACE", root.path());
        racers.push(racer.env_remove("ORT_DYLIB_PATH").stdout(Stdio::piped()).spawn().unwrap());
    }
    let mut printed = Vec::new();
    for racer in racers {
        let output = racer.wait_with_output().unwrap();
        assert!(output.status.success());
        printed.push(String::from_utf8(output.stdout).unwrap());
    }
    let installs = printed.iter().filter(|text| text.contains("origin: Fetched")).count();
    assert_eq!(installs, 1, "{printed:?}");
    let wheel = Wheel::pinned(Gpu::None).unwrap();
    assert_eq!(files(&root.path().join("onnxruntime")), [".lock", wheel.version]);
}

#[test]
fn the_pinned_wheel_is_fetched() {
    if std::env::var_os("ALLOQUY_TEST_FETCH").is_none() {
        eprintln!("skipping: set ALLOQUY_TEST_FETCH=1 to download the pinned wheel");
        return;
    }
    let root = private_folder();
    let library = Locator::new().cache(root.path()).locate(|event| eprintln!("{event}")).unwrap();
    assert_eq!(library.origin, LibraryOrigin::Fetched);
    // An installation without a list, as earlier versions made it, is compared with the pinned digests, so these must be right.
    std::fs::remove_file(library.path.parent().unwrap().join("installed.txt")).unwrap();
    let again = Locator::new().cache(root.path()).locate(|event| panic!("{event}")).unwrap();
    assert_eq!(again.origin, LibraryOrigin::Cache);
}
