//! A server as a program: one runtime, and the signals of the system.

use std::net::TcpListener;

use alloquy_core::{Error, ErrorKind, Result};

use crate::keys::KeyFile;
use crate::server::{Server, ServerHandle};
use crate::service_manager::{self, READY};

impl Server {
    /// Serves until the process is asked to end, and blocks the thread. SIGTERM and Ctrl-C end the server as
    /// [`ServerHandle::shut_down`] does; at SIGHUP the keys are replaced by those that `keys` reads.
    ///
    /// ```no_run
    /// use alloquy_server::{KeyFile, Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let read = || KeyFile::read("keys.json".as_ref());
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).keys(read()?).build()?;
    /// let listener = std::net::TcpListener::bind("0.0.0.0:8080").expect("a free port");
    /// server.run(listener, read)?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Server::serve`], and [`ErrorKind::Backend`] where the system has no threads or signals.
    pub fn run(
        self,
        listener: TcpListener,
        keys: impl Fn() -> Result<KeyFile> + Send + 'static,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| failed("the runtime", source))?;
        runtime.block_on(async {
            listener.set_nonblocking(true).map_err(|source| failed("the listener", source))?;
            let listener = tokio::net::TcpListener::from_std(listener);
            let listener = listener.map_err(|source| failed("the listener", source))?;
            let signals = signals(self.handle(), keys)?;
            let signals = tokio::spawn(signals);
            // Connections wait in the socket from now on.
            service_manager::report(READY);
            let served = self.serve(listener).await;
            signals.abort();
            served
        })
    }
}

fn failed(what: &str, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("{what} of the server cannot be set up")).with_source(source)
}

#[cfg(unix)]
fn signals(
    handle: ServerHandle,
    keys: impl Fn() -> Result<KeyFile> + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut ended = signal(SignalKind::terminate()).map_err(|source| failed("the signals", source))?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(|source| failed("the signals", source))?;
    let mut reloaded = signal(SignalKind::hangup()).map_err(|source| failed("the signals", source))?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = ended.recv() => return handle.shut_down(),
                _ = interrupted.recv() => return handle.shut_down(),
                _ = reloaded.recv() => reload(&handle, &keys),
            }
        }
    })
}

#[cfg(not(unix))]
fn signals(
    handle: ServerHandle,
    _: impl Fn() -> Result<KeyFile> + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            handle.shut_down();
        }
    })
}

/// Replaces the keys. A file that cannot be read changes nothing.
#[cfg(unix)]
fn reload(handle: &ServerHandle, keys: &impl Fn() -> Result<KeyFile>) {
    match keys().and_then(|keys| handle.replace_keys(keys)) {
        Ok(()) => tracing::info!("the keys were read again"),
        Err(error) => tracing::error!(error = format!("{error:#}"), "the keys stay as they were"),
    }
}
