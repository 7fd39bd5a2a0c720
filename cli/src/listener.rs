//! Where a server listens: at an address, or at the socket that the service manager passes.

use std::net::{SocketAddr, TcpListener};

use alloquy::core::{Error, ErrorKind, Result};

/// Listens at an address.
///
/// # Errors
/// [`ErrorKind::Backend`] where the system refuses.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|source| {
        let message =
            format!("{address} cannot be listened at: choose another address with --bind ADDRESS:PORT");
        Error::new(ErrorKind::Backend, message).with_source(source)
    })
}

/// Returns the socket that the service manager has passed to this process (`LISTEN_FDS`), if it has passed one. Its address counts
/// instead of `--bind`.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a socket that is not one of TCP.
#[cfg(unix)]
pub(crate) fn passed() -> Result<Option<TcpListener>> {
    listenfd::ListenFd::from_env().take_tcp_listener(0).map_err(|source| {
        let message = "the socket of the service manager is not one of TCP: write ListenStream=ADDRESS:PORT";
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })
}

/// Returns no socket: there is no such service manager here.
#[cfg(not(unix))]
pub(crate) fn passed() -> Result<Option<TcpListener>> {
    Ok(None)
}
