//! The order of the search, and the error when it ends without a library. Each search runs in a process of
//! its own, because the environment belongs to the process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use alloquy_onnx_runtime::{DownloadPolicy, Locator, Wheel};

const LIBRARY: &str = if cfg!(windows) {
    "onnxruntime.dll"
} else if cfg!(target_vendor = "apple") {
    "libonnxruntime.dylib"
} else {
    "libonnxruntime.so"
};

/// Not a test of its own: the process that [`search`] starts.
#[test]
fn child() {
    let Ok(policy) = std::env::var("TEST_POLICY") else {
        return;
    };
    let policy = if policy == "never" { DownloadPolicy::Never } else { DownloadPolicy::Fetch };
    match Locator::new().policy(policy).locate(|event| println!("event: {event}")) {
        Ok(library) => println!("found: {:?} {}", library.origin, library.path.display()),
        Err(error) => println!("error: {error}"),
    }
}

/// A package manager links `bin/NAME` to where it keeps the package.
#[cfg(unix)]
#[test]
fn a_link_to_the_program_finds_what_is_beside_the_program() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let name = std::env::current_exe().unwrap().file_name().unwrap().to_owned();
    search(&root.join("package"), "never", &[]);
    let library = put(&root.join("package/bin"), LIBRARY);
    std::fs::create_dir(root.join("bin")).unwrap();
    std::os::unix::fs::symlink(root.join("package/bin").join(name), root.join("bin/linked")).unwrap();
    let mut child = Command::new(root.join("bin/linked"));
    child.args(["--exact", "child", "--nocapture"]).env("TEST_POLICY", "never");
    child.env_remove("ORT_DYLIB_PATH").env("PATH", root.join("bin"));
    let found = answer(&output(&mut child));
    assert_eq!(found, format!("found: Executable {}", library.display()));
}

/// Runs a copy of this test program in `bin/` of `root`, so that the test decides what is beside the executable.
fn search(root: &Path, policy: &str, variables: &[(&str, &Path)]) -> String {
    let executable = root.join("bin").join(std::env::current_exe().unwrap().file_name().unwrap());
    std::fs::create_dir_all(root.join("bin")).unwrap();
    if !executable.exists() {
        std::fs::copy(std::env::current_exe().unwrap(), &executable).unwrap();
    }
    let mut child = Command::new(executable);
    child.args(["--exact", "child", "--nocapture"]).current_dir(root);
    child.env("TEST_POLICY", policy).env("ALLOQUY_CACHE", root.join("cache"));
    // No Python on the path: what this machine has installed must not matter.
    child.env("PATH", root.join("bin")).env_remove("ORT_DYLIB_PATH").env_remove("ALLOQUY_OFFLINE");
    child.envs(variables.iter().copied());
    answer(&output(&mut child))
}

/// Runs a program that was just copied. A child process of another test may hold the copy open for a moment.
fn output(child: &mut Command) -> Output {
    for _ in 0..200 {
        match child.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            ended => return ended.unwrap(),
        }
    }
    panic!("{child:?} stays busy")
}

fn answer(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines = printed
        .lines()
        .filter_map(|line| line.find("found: ").or(line.find("error: ")).map(|at| &line[at..]));
    lines.next_back().unwrap_or_else(|| panic!("no answer in {printed:?}")).to_owned()
}

fn put(folder: &Path, name: &str) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), "").unwrap();
    folder.join(name)
}

#[test]
fn the_places_are_searched_in_order() {
    let mut root = tempfile::Builder::new();
    // A library that others may change is not loaded, and the umask may allow that.
    #[cfg(unix)]
    root.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let root = root.tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let wheel = Wheel::pinned(alloquy_onnx_runtime::Gpu::None).unwrap();
    let folder = root.join("cache/onnxruntime").join(wheel.version);
    let cached = put(&folder, wheel.library.name);
    // The digest of an empty file.
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    std::fs::write(folder.join("installed.txt"), format!("{digest} 0 {}\n", wheel.library.name)).unwrap();
    // In the cache only the pinned file counts, whatever is beside it.
    put(&folder, LIBRARY);
    assert_eq!(search(&root, "never", &[]), format!("found: Cache {}", cached.display()));
    let library = put(&root.join("lib"), LIBRARY);
    let found = search(&root, "never", &[]);
    assert!(found.starts_with("found: Executable"), "{found}");
    assert_eq!(Path::new(&found["found: Executable ".len()..]).canonicalize().unwrap(), library);
    let name = std::env::current_exe().unwrap().file_stem().unwrap().to_owned();
    let own = put(&root.join("lib").join(name), LIBRARY);
    assert_eq!(search(&root, "never", &[]), format!("found: Executable {}", own.display()));
    let beside = put(&root.join("bin"), LIBRARY);
    assert_eq!(search(&root, "never", &[]), format!("found: Executable {}", beside.display()));
    let variable = put(&root.join("elsewhere"), "any name.so");
    let found = search(&root, "never", &[("ORT_DYLIB_PATH", Path::new("elsewhere/any name.so"))]);
    assert_eq!(found, format!("found: Variable {}", variable.display()));
}

#[test]
fn an_option_comes_before_every_other_place() {
    let root = tempfile::tempdir().unwrap();
    let named = put(root.path(), "named.so");
    let library = Locator::new().library(&named).locate(|_| {}).unwrap();
    assert_eq!((library.path, library.origin), (named, alloquy_onnx_runtime::LibraryOrigin::Option));
}

#[test]
fn a_variable_that_names_nothing_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing.so");
    let said = search(root.path(), "fetch", &[("ORT_DYLIB_PATH", &missing)]);
    assert_eq!(said, format!("error: ORT_DYLIB_PATH names {missing:?}, which is not a file"));
}

#[test]
fn without_a_library_the_error_names_the_command() {
    let root = tempfile::tempdir().unwrap();
    let offline = search(root.path(), "fetch", &[("ALLOQUY_OFFLINE", Path::new("1"))]);
    let wanted = format!(
        "error: ONNX Runtime was not found, and it is not fetched because ALLOQUY_OFFLINE is set; run `pip install onnxruntime=={}`, \
         or download it from https://github.com/microsoft/onnxruntime/releases and set ORT_DYLIB_PATH to the path of {LIBRARY} \
         (looked at: ORT_DYLIB_PATH, ",
        Wheel::pinned(alloquy_onnx_runtime::Gpu::None).unwrap().version
    );
    assert!(offline.starts_with(&wanted), "{offline}");
    let never = search(root.path(), "never", &[]);
    assert!(
        never.starts_with("error: ONNX Runtime was not found, and it may not be fetched here; run"),
        "{never}"
    );
    assert!(!root.path().join("cache").exists(), "a search that may not fetch writes nothing");
}

#[test]
fn without_a_python_the_error_names_the_variable() {
    let root = tempfile::tempdir().unwrap();
    let said = search(root.path(), "fetch", &[("ALLOQUY_OFFLINE", Path::new("0"))]);
    assert!(
        said.starts_with(
            "error: ONNX Runtime was not found, and none of python3, python can be run, so pip cannot fetch onnxruntime"
        ),
        "{said}"
    );
    assert!(said.contains("and set ORT_DYLIB_PATH to the path of"), "{said}");
}

/// Lays out an installed package as Python's installers do.
fn install_package(site: &Path, version: &str) -> PathBuf {
    let information = site.join(format!("onnxruntime-{version}.dist-info"));
    std::fs::create_dir_all(&information).unwrap();
    let metadata = format!("Metadata-Version: 2.1\nName: onnxruntime\nVersion: {version}\n");
    std::fs::write(information.join("METADATA"), metadata).unwrap();
    put(&site.join("onnxruntime"), "__init__.py");
    put(&site.join("onnxruntime/capi"), LIBRARY)
}

#[test]
fn an_installed_python_package_that_is_new_enough_is_found() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipping: python3 cannot be run");
        return;
    }
    let path = std::env::var_os("PATH").unwrap();
    for (version, serves) in [("1.31.1", true), ("1.23.0", true), ("1.9.0", false)] {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let library = install_package(&root.join("site"), version);
        let variables = [("PATH", Path::new(&path)), ("PYTHONPATH", &root.join("site"))];
        let said = search(&root, "never", &variables);
        assert_eq!(said == format!("found: Python {}", library.display()), serves, "{version}: {said}");
        // A package that is in the current folder by chance is not run.
        std::fs::write(root.join("site/onnxruntime/__init__.py"), "raise SystemExit(1)").unwrap();
        let current = root.join("elsewhere");
        install_package(&current, version);
        let said = search(&current, "never", &[("PATH", Path::new(&path))]);
        assert!(!said.contains("elsewhere/onnxruntime/capi"), "{said}");
    }
}
