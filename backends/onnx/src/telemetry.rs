//! Keeps ONNX Runtime from collecting and sending telemetry.
//!
//! From 1.29 on, the library creates an id of this machine and a queue of events in the home folder as soon as it is loaded. It
//! also looks up a host to send them to. The call that turns its telemetry off comes too late for that. An environment variable
//! prevents all of it; the library reads it with `getenv` while it starts.
//!
//! A variable may be set only while no other thread can read the environment. So a function that runs before `main`, when there is
//! one thread, sets it. It is checked again before the library is loaded: without the variable, the library is not loaded.

use alloquy_core::{Error, ErrorKind, Result};

/// The variable that ONNX Runtime reads.
const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

/// The values that ONNX Runtime takes for yes, in lower case.
const YES: [&str; 5] = ["1", "true", "yes", "on", "y"];

ctor::declarative::ctor! {
    #[ctor]
    #[allow(unsafe_code)] // a function that runs before `main` is placed by its section
    unsafe fn before_main() {
        turn_off();
    }
}

/// Returns an error if a library that is loaded now would have its telemetry on.
pub(crate) fn require_off() -> Result<()> {
    // In a static library the function above may not have run, and this may still be the only thread.
    turn_off();
    if is_off() { Ok(()) } else { Err(refused()) }
}

/// Sets the variable, whatever its value, if that is safe.
fn turn_off() {
    if !is_off() && may_set() {
        set();
    }
}

fn is_off() -> bool {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    YES.contains(&value.trim().to_lowercase().as_str())
}

#[allow(unsafe_code)] // the environment belongs to the whole process
fn set() {
    // SAFETY: `may_set` has returned that no other thread can read the environment. None is started in between, because this
    // thread is the only one that could start one.
    unsafe { std::env::set_var(VARIABLE, "1") };
}

/// Returns whether this is the only thread; false if that is unknown.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn may_set() -> bool {
    let Ok(mut threads) = std::fs::read_dir("/proc/self/task") else { return false };
    threads.next().is_some_and(|thread| thread.is_ok()) && threads.next().is_none()
}

/// Returns whether no other thread was ever started.
#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)] // a function of the system's C library
fn may_set() -> bool {
    // SAFETY: the system has this function with this signature; it takes nothing and may be called at any time.
    unsafe extern "C" {
        safe fn pthread_is_threaded_np() -> std::ffi::c_int;
    }
    pthread_is_threaded_np() == 0
}

/// Returns true: this system locks the environment itself.
#[cfg(windows)]
fn may_set() -> bool {
    true
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", windows)))]
fn may_set() -> bool {
    false
}

fn refused() -> Error {
    let message = format!(
        "ONNX Runtime is not loaded: it would write into the home folder and send telemetry, because {VARIABLE} is not set, and \
         it cannot be set any more: other threads run already; set {VARIABLE}=1 before this process starts"
    );
    Error::new(ErrorKind::Backend, message)
}
