//! The files with which a server is installed, checked by the programs that read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::Path;
use std::process::Command;

const UNITS: [&str; 2] = ["alloquy.service", "alloquy.socket"];

/// Returns the text of a unit.
fn unit(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Runs a task of `systemd-analyze`; `None`, aloud, where this machine has none.
fn analyze(arguments: &[&str]) -> Option<(bool, String)> {
    let Ok(ran) = Command::new("systemd-analyze").args(arguments).output() else {
        eprintln!("skipped: this machine has no systemd-analyze");
        return None;
    };
    let text = [ran.stdout, ran.stderr].concat();
    Some((ran.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

/// Writes the units into a folder, for a machine that has no program and no user of this name.
fn written(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for name in UNITS {
        let text = unit(name).replace("/usr/bin/alloquy", "/bin/true").replace("=alloquy\n", "=root\n");
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        paths.push(path.display().to_string());
    }
    paths
}

#[test]
fn systemd_understands_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let paths = written(folder.path());
    let mut arguments = vec!["verify", "--man=no", "--recursive-errors=no"];
    arguments.extend(paths.iter().map(String::as_str));
    let Some((is_valid, text)) = analyze(&arguments) else { return };
    assert!(is_valid, "{text}");
    assert!(!text.contains("alloquy"), "{text}");
}

#[test]
fn the_service_is_confined() {
    let folder = tempfile::tempdir().unwrap();
    let paths = written(folder.path());
    // From 0, which is confined in every way, to 100.
    let Some((is_below, text)) = analyze(&["security", "--offline=true", "--threshold=30", &paths[0]]) else {
        return;
    };
    if text.contains("unrecognized option") || text.contains("Unknown") {
        return eprintln!("skipped: this systemd-analyze is too old");
    }
    assert!(is_below, "{text}");
}

#[test]
fn a_stop_leaves_time_for_running_replies() {
    let stop = unit("alloquy.service");
    let stop = stop.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).unwrap();
    let drain = alloquy_server::RequestLimits::default().drain;
    assert!(stop.parse::<u64>().unwrap() > drain.as_secs() + 5);
}
