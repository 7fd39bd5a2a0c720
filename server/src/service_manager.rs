//! Reports to the service manager: a datagram to the socket that `NOTIFY_SOCKET` names, as `sd_notify` describes.

/// The server listens.
pub(crate) const READY: &str = "READY=1";

/// Reports a state. Without a service manager, nothing happens.
#[cfg(unix)]
pub(crate) fn report(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&name, state) {
        tracing::warn!(%error, state, "the service manager cannot be reached");
    }
}

/// Reports nothing: there is no such service manager here.
#[cfg(not(unix))]
pub(crate) fn report(_: &str) {}

#[cfg(unix)]
fn send(name: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::UnixDatagram;

    let socket = UnixDatagram::unbound()?;
    // Linux has names that are no paths; they begin with @ here.
    #[cfg(target_os = "linux")]
    if let Some(name) = name.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::SocketAddr;

        socket.send_to_addr(state.as_bytes(), &SocketAddr::from_abstract_name(name)?)?;
        return Ok(());
    }
    socket.send_to(state.as_bytes(), name)?;
    Ok(())
}
