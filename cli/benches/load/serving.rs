//! A server in this process, so that the library and the server have the same model.

use std::net::{SocketAddr, TcpListener};
use std::thread;

use alloquy_server::ServerBuilder;

/// Serves until the process ends, and returns the address.
pub(crate) fn serve(builder: ServerBuilder) -> SocketAddr {
    let server = builder.build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || server.run(listener, |_| Ok(())).unwrap());
    address
}
