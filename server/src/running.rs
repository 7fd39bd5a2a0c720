//! A server as a program: one runtime, and the signals of the system.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};

use crate::handle::ServerHandle;
use crate::server::Server;
use crate::service_manager::{self, READY};

/// The exit code after Ctrl-C: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;
/// The variable of the environment that sets the threads of every runtime of tokio.
const THREADS: &str = "TOKIO_WORKER_THREADS";

impl Server {
    /// Serves until the process is asked to end, and blocks the thread. SIGTERM and Ctrl-C end the server as
    /// [`ServerHandle::shut_down`] does, and a further Ctrl-C ends the process at once, with exit code 130. At SIGHUP `reload` replaces
    /// what has changed, in a thread that may block; where it fails, all stays as it is.
    ///
    /// Requests are served by half as many threads as there are cores, since models compute on all of them. The variable
    /// `TOKIO_WORKER_THREADS` sets another number.
    ///
    /// ```no_run
    /// use alloquy_server::{KeyFile, Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let keys = KeyFile::read("keys.json".as_ref())?;
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).keys(keys).build()?;
    /// let listener = std::net::TcpListener::bind("0.0.0.0:8080").expect("a free port");
    /// server.run(listener, |server| server.replace_keys(KeyFile::read("keys.json".as_ref())?))?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Server::serve`], and [`ErrorKind::Backend`] where the system has no threads or signals.
    pub fn run(
        self,
        listener: TcpListener,
        reload: impl Fn(&ServerHandle) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let runtime = runtime().map_err(|source| failed("the runtime", source))?;
        let served = runtime.block_on(async {
            listener.set_nonblocking(true).map_err(|source| failed("the listener", source))?;
            let listener = tokio::net::TcpListener::from_std(listener);
            let listener = listener.map_err(|source| failed("the listener", source))?;
            let address = listener.local_addr().map_err(|source| failed("the listener", source))?;
            self.check_address(address)?;
            let signals = tokio::spawn(signals(self.handle(), reload)?);
            // Connections wait in the socket from now on.
            service_manager::report(READY);
            let served = self.serve(listener).await;
            signals.abort();
            served
        });
        // All that matters is stored. A model that is still being loaded is not waited for.
        runtime.shutdown_background();
        served
    }
}

/// Creates the runtime, with half as many threads as there are cores. A model in this process computes on all of them, and each wake-up
/// of a further thread takes time from it: with two threads on two cores, HTTP adds twice as much to a reply.
fn runtime() -> std::io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        builder.worker_threads((cores / 2).max(1));
    }
    builder.enable_all().build()
}

fn failed(what: &str, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("{what} of the server cannot be set up")).with_source(source)
}

#[cfg(unix)]
fn signals(
    handle: ServerHandle,
    reload: impl Fn(&ServerHandle) -> Result<()> + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut ended = signal(SignalKind::terminate()).map_err(|source| failed("the signals", source))?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(|source| failed("the signals", source))?;
    let mut reloaded = signal(SignalKind::hangup()).map_err(|source| failed("the signals", source))?;
    let reload = Arc::new(tokio::sync::Mutex::new(reload));
    Ok(async move {
        let mut is_ending = false;
        loop {
            tokio::select! {
                _ = ended.recv() => {
                    is_ending = true;
                    handle.shut_down();
                }
                _ = interrupted.recv() => {
                    if is_ending {
                        end_at_once();
                    }
                    is_ending = true;
                    say("the server ends once the running replies have ended; Ctrl-C again ends it at once");
                    handle.shut_down();
                }
                // Reading may take a while, in which the other signals are not to wait.
                _ = reloaded.recv() => {
                    tokio::spawn(replace(handle.clone(), Arc::clone(&reload)));
                }
            }
        }
    })
}

#[cfg(not(unix))]
fn signals(
    handle: ServerHandle,
    _: impl Fn(&ServerHandle) -> Result<()> + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            handle.shut_down();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            end_at_once();
        }
    })
}

/// Ends the process, with the code of a program that Ctrl-C has ended.
fn end_at_once() -> ! {
    say("the server was ended at once: replies that were not stored yet are lost");
    std::process::exit(INTERRUPTED)
}

/// Writes a line for the person at the terminal, whether or not there is a log. A terminal that is gone must not keep the server from
/// ending.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Replaces what has changed, one time after another. What cannot be read changes nothing.
#[cfg(unix)]
async fn replace<F>(server: ServerHandle, reload: Arc<tokio::sync::Mutex<F>>)
where
    F: Fn(&ServerHandle) -> Result<()> + Send + 'static,
{
    let reload = reload.lock_owned().await;
    let reloaded = tokio::task::spawn_blocking(move || reload(&server)).await;
    match reloaded {
        Ok(Ok(())) => tracing::info!("keys and models were read again"),
        Ok(Err(error)) => tracing::error!(error = format!("{error:#}"), "reading again failed"),
        Err(error) => tracing::error!(%error, "reading again failed"),
    }
}
