//! Networks that fail: what stands between a store and its server, cuts connections, and delays what is said.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep, spawn};
use std::time::Duration;

use alloquy_testing::Draws;

/// How connections fail.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// Each is cut after so many bytes at most, of both sides.
    Cut(usize),
    /// Each piece comes so much later.
    Slow(Duration),
}

/// Passes connections on to a server. It ends with the test.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) cut: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) fn before(server: SocketAddr, trouble: Trouble) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let counted = cut.clone();
        let ended = is_over.clone();
        spawn(move || {
            let mut draws = Draws::default();
            for client in listener.incoming() {
                let (Ok(client), false) = (client, ended.load(Ordering::Acquire)) else { return };
                let left = match trouble {
                    Trouble::Cut(most) => 200 + draws.below(most),
                    Trouble::Slow(_) => usize::MAX,
                };
                let counted = counted.clone();
                spawn(move || pass(&client, server, trouble, left, &counted));
            }
        });
        Self { address, cut, is_over }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes whoever waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn pass(client: &TcpStream, server: SocketAddr, trouble: Trouble, left: usize, cut: &AtomicUsize) {
    let Ok(server) = TcpStream::connect(server) else { return };
    let left = AtomicUsize::new(left);
    scope(|scope| {
        scope.spawn(|| pump(client, &server, trouble, &left, cut));
        scope.spawn(|| pump(&server, client, trouble, &left, cut));
    });
}

/// Passes bytes on until there are none or too many.
fn pump(mut from: &TcpStream, mut to: &TcpStream, trouble: Trouble, left: &AtomicUsize, cut: &AtomicUsize) {
    let mut bytes = [0; 4096];
    loop {
        let count = from.read(&mut bytes).unwrap_or(0);
        let before =
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| Some(left.saturating_sub(count)));
        let allowed = count.min(before.unwrap_or(0));
        if let Trouble::Slow(pause) = trouble {
            sleep(pause);
        }
        let is_passed = allowed > 0 && to.write_all(&bytes[..allowed]).is_ok();
        if !is_passed || allowed < count {
            cut.fetch_add(usize::from(allowed < count), Ordering::AcqRel);
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return;
        }
    }
}
