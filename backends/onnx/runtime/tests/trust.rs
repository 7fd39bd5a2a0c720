//! A library in the cache is loaded only if it is unchanged and no other user may change it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use alloquy_onnx_runtime::{DownloadPolicy, Gpu, LibraryOrigin, LocateError, Locator, Wheel};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const CONTENT: &[u8] = b"a library, or what stands for one";

/// A cache with an installed wheel that was made here.
struct Cache {
    root: TempDir,
    library: PathBuf,
}

impl Cache {
    /// Returns `None`, with a message, where the environment names a library: no cache is searched then.
    fn new() -> Option<Self> {
        if std::env::var_os("ORT_DYLIB_PATH").is_some() {
            eprintln!("Skipping: ORT_DYLIB_PATH names a library");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        set_mode(root.path(), 0o700);
        let wheel = Wheel::pinned(Gpu::None).unwrap();
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let library = format!("onnxruntime/capi/{}", wheel.library.name);
        for name in [library.as_str(), "onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(CONTENT).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        let archive = root.path().join("wheel.whl");
        fs::write(&archive, &bytes).unwrap();
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let locator = Locator::new().cache(root.path()).wheel(archive).digest(digest);
        let library = locator.locate(|_| {}).unwrap().path;
        assert!(library.starts_with(root.path()), "{library:?} is not ours to damage");
        Some(Self { root, library })
    }

    fn folder(&self) -> &Path {
        self.library.parent().unwrap()
    }

    fn locate(&self) -> Result<LibraryOrigin, LocateError> {
        let locator = Locator::new().cache(self.root.path()).policy(DownloadPolicy::Never);
        locator.locate(|event| panic!("{event}")).map(|library| library.origin)
    }

    #[track_caller]
    fn refused(&self) -> String {
        self.locate().unwrap_err().to_string()
    }

    /// Waits until the library is old enough to get a stamp.
    fn wait(&self) {
        std::thread::sleep(Duration::from_millis(3200));
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_truncated_library_is_refused() {
    let Some(cache) = Cache::new() else { return };
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    fs::write(&cache.library, &CONTENT[..10]).unwrap();
    let said = cache.refused();
    assert!(said.contains("it has 10 bytes instead of 33; remove the folder"), "{said}");
    fs::write(&cache.library, CONTENT).unwrap();
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
}

#[test]
fn a_library_with_another_byte_is_refused_whatever_its_times_say() {
    let Some(cache) = Cache::new() else { return };
    cache.wait();
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    assert!(cache.folder().join("compared.txt").exists(), "it is not read again");
    let before = fs::metadata(&cache.library).unwrap();
    let mut content = CONTENT.to_vec();
    content[3] ^= 1;
    // Changed in place, and replaced by another file; in both cases with the time of the first.
    fs::write(&cache.library, &content).unwrap();
    let modified = SystemTime::UNIX_EPOCH
        + Duration::new(before.mtime().cast_unsigned(), u32::try_from(before.mtime_nsec()).unwrap());
    fs::File::options().write(true).open(&cache.library).unwrap().set_modified(modified).unwrap();
    let said = cache.refused();
    assert!(said.contains("is not what was installed: its SHA-256 is"), "{said}");
    let other = cache.folder().join("other");
    fs::write(&other, &content).unwrap();
    fs::File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
    fs::rename(&other, &cache.library).unwrap();
    assert!(cache.refused().contains("its SHA-256 is"));
}

#[test]
fn a_library_that_did_not_change_is_read_once() {
    let Some(cache) = Cache::new() else { return };
    cache.wait();
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    let compared = cache.folder().join("compared.txt");
    let before = (fs::read_to_string(&compared).unwrap(), fs::metadata(&compared).unwrap().ino());
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    assert_eq!(before, (fs::read_to_string(&compared).unwrap(), fs::metadata(&compared).unwrap().ino()));
}

#[test]
fn an_installation_without_a_list_is_what_is_pinned_or_refused() {
    let Some(cache) = Cache::new() else { return };
    fs::remove_file(cache.folder().join("installed.txt")).unwrap();
    let pinned = Wheel::pinned(Gpu::None).unwrap().library.bytes;
    let said = cache.refused();
    assert!(said.contains(&format!("it has 33 bytes instead of {pinned}")), "{said}");
    fs::File::options().write(true).open(&cache.library).unwrap().set_len(pinned).unwrap();
    assert!(cache.refused().contains(Wheel::pinned(Gpu::None).unwrap().library.sha256));
}

#[test]
fn damaged_lists_are_refused() {
    for list in ["", "no list", "x 33", "\0\0\0"] {
        let Some(cache) = Cache::new() else { return };
        fs::write(cache.folder().join("installed.txt"), list).unwrap();
        let said = cache.refused();
        assert!(said.contains("installed.txt does not name it"), "{list:?}: {said}");
    }
    let Some(cache) = Cache::new() else { return };
    fs::write(cache.folder().join("compared.txt"), "no list").unwrap();
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache, "the digest is compared again");
}

#[test]
fn another_library_in_the_cache_does_not_count() {
    let Some(cache) = Cache::new() else { return };
    for name in ["libonnxruntime.so", "libonnxruntime.so.9.0.0", "libonnxruntime.dylib", "onnxruntime.dll"] {
        fs::write(cache.folder().join(name), "planted").unwrap();
    }
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    fs::remove_file(&cache.library).unwrap();
    assert!(matches!(cache.locate(), Err(LocateError::NotFound { .. }) | Ok(LibraryOrigin::Python)));
}

#[test]
fn what_others_may_change_is_refused() {
    let places: [fn(&Cache) -> PathBuf; 4] = [
        |cache| cache.library.clone(),
        |cache| cache.folder().to_owned(),
        |cache| cache.folder().parent().unwrap().to_owned(),
        |cache| cache.folder().join("installed.txt"),
    ];
    for place in places {
        for mode in [0o777, 0o775, 0o757, 0o722] {
            let Some(cache) = Cache::new() else { return };
            set_mode(cache.root.path(), 0o755);
            assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
            let path = place(&cache);
            set_mode(&path, mode);
            let said = cache.refused();
            assert!(
                said.contains(&format!("{path:?} may be changed by others (its mode is {mode:o})")),
                "{said}"
            );
            // Below a folder that others cannot enter, the mode does not matter.
            set_mode(cache.root.path(), 0o700);
            assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
        }
    }
}

#[test]
fn a_link_to_where_others_may_write_is_refused() {
    let Some(cache) = Cache::new() else { return };
    let open = tempfile::tempdir().unwrap();
    let moved = open.path().join("moved");
    fs::rename(cache.folder(), &moved).unwrap();
    symlink(&moved, cache.folder()).unwrap();
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
    set_mode(open.path(), 0o777);
    let said = cache.refused();
    assert!(said.contains(&format!("{:?} may be changed by others", open.path())), "{said}");
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    const NOBODY: u32 = 65534;
    let Some(cache) = Cache::new() else { return };
    if chown(&cache.library, Some(NOBODY), None).is_err() {
        eprintln!("Skipping: only root may give files away");
        return;
    }
    set_mode(cache.root.path(), 0o755);
    let said = cache.refused();
    assert!(said.contains("belongs to user 65534, who is neither root nor you"), "{said}");
    chown(&cache.library, Some(0), None).unwrap();
    chown(cache.folder(), Some(NOBODY), None).unwrap();
    assert!(cache.refused().contains("belongs to user 65534"));
}

#[test]
fn nothing_is_installed_where_others_may_change_it() {
    if Cache::new().is_none() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("onnxruntime")).unwrap();
    set_mode(root.path(), 0o755);
    set_mode(&root.path().join("onnxruntime"), 0o777);
    let locator = Locator::new().cache(root.path()).wheel(root.path().join("nothing.whl"));
    let error = match locator.locate(|_| {}) {
        Ok(library) if library.origin == LibraryOrigin::Python => {
            return eprintln!("Skipping: python has one");
        }
        found => found.unwrap_err(),
    };
    assert!(matches!(error, LocateError::Exposed { .. }), "{error}");
}

/// Not a test of its own: the process that the next one starts.
#[test]
fn installer() {
    if std::env::var_os("TEST_UMASK").is_none() {
        return;
    }
    let Some(cache) = Cache::new() else { return };
    set_mode(cache.root.path(), 0o755);
    for path in [cache.folder(), cache.folder().parent().unwrap()] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o755, "{path:?}");
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o022, 0, "{path:?}");
        }
    }
    assert_eq!(cache.locate().unwrap(), LibraryOrigin::Cache);
}

#[test]
fn only_the_owner_may_change_what_is_installed_whatever_the_umask_is() {
    let mut shell = Command::new("sh");
    shell
        .env_remove("ORT_DYLIB_PATH")
        .args(["-c", "umask 0; exec \"$0\" --exact installer"])
        .arg(std::env::current_exe().unwrap());
    let output = shell.env("TEST_UMASK", "0").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

#[test]
fn a_truncated_library_that_is_named_is_refused() {
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    if !program.starts_with(b"\x7FELF") {
        return eprintln!("Skipping: this system refuses such libraries itself");
    }
    let root = tempfile::tempdir().unwrap();
    let cut = root.path().join("libonnxruntime.so");
    for length in [100_000, 4096, 100, 64, 20] {
        fs::write(&cut, &program[..length]).unwrap();
        let error = Locator::new().library(&cut).locate(|_| {}).unwrap_err();
        assert!(matches!(error, LocateError::Truncated { .. }), "{length}: {error}");
    }
    fs::write(&cut, &program).unwrap();
    assert_eq!(Locator::new().library(&cut).locate(|_| {}).unwrap().origin, LibraryOrigin::Option);
}
