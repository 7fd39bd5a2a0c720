//! Keeps ONNX Runtime from gathering and sending telemetry. Knows no model and loads nothing.
//!
//! From 1.29 on, the library makes an id of this machine and a queue of events in the home folder, and looks up a host to send
//! them to, as soon as it is loaded; the call that turns its telemetry off comes after that. It leaves all of it when a variable
//! of the environment says so, which it reads with `getenv` while it starts.
//!
//! A variable may be set only while no other thread can read the environment. So it is set by a function that runs before `main`,
//! where there is one thread, and looked at again before the library is loaded, which is refused where it is not in force.

use alloquy_core::{Error, ErrorKind, Result};

/// The variable that ONNX Runtime reads.
const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

/// What ONNX Runtime takes for yes, in lower case.
const YES: [&str; 5] = ["1", "true", "yes", "on", "y"];

ctor::declarative::ctor! {
    #[ctor]
    #[allow(unsafe_code)] // a function that runs before `main` is placed by its section
    unsafe fn before_main() {
        turn_off();
    }
}

/// Returns an error where the telemetry of a library that is loaded now would be on.
pub(crate) fn require_off() -> Result<()> {
    // Where nobody ran the function above, as in a static library, this may still be the only thread.
    turn_off();
    if is_off() { Ok(()) } else { Err(refused()) }
}

/// Sets the variable, whatever it was, where that is sound.
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
    // SAFETY: `may_set` said that no other thread can read the environment meanwhile, and none is started in between: this thread
    // is the only one that could.
    unsafe { std::env::set_var(VARIABLE, "1") };
}

/// Says whether this is the only thread. Where that cannot be found out it is not.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn may_set() -> bool {
    let Ok(mut threads) = std::fs::read_dir("/proc/self/task") else { return false };
    threads.next().is_some_and(|thread| thread.is_ok()) && threads.next().is_none()
}

/// Says whether no thread was ever started.
#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)] // a function of the system's C library
fn may_set() -> bool {
    // SAFETY: the system has this function with this signature; it takes nothing and may be called at any time.
    unsafe extern "C" {
        safe fn pthread_is_threaded_np() -> std::ffi::c_int;
    }
    pthread_is_threaded_np() == 0
}

/// The system guards the environment itself.
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
        "onnx runtime is not loaded: it would write into the home folder and send telemetry, because {VARIABLE} is not set, and \
         it cannot be set any more: other threads run already; set {VARIABLE}=1 before this process starts"
    );
    Error::new(ErrorKind::Backend, message)
}
