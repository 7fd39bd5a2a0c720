//! Network namespaces of Linux: servers on one machine that share no network, as servers on two machines do. Each has a link to the test
//! and nothing else; a database is reached through the test. Needs root and the program `ip`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may panic

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

/// A namespace with one link. It is removed with its link when this is dropped.
pub(crate) struct Namespace {
    name: String,
    inside: Ipv4Addr,
    outside: Ipv4Addr,
}

impl Namespace {
    /// Creates the namespace of one server of this process.
    ///
    /// Its addresses are of the block that RFC 2544 keeps for tests of networks, so that no other network has them.
    ///
    /// # Errors
    /// What `ip` says, for example that only root may do this.
    pub(crate) fn new(number: u8) -> Result<Self, String> {
        let process = std::process::id();
        let block = u8::try_from(process % 256).expect("a remainder");
        let of = |last: u8| Ipv4Addr::new(198, 18, block, number * 4 + last);
        let namespace = Self { name: format!("alloquy-{process}-{number}"), inside: of(2), outside: of(1) };
        let name = &namespace.name;
        // The name of a link has at most 15 characters.
        let link = format!("aq{process}n{number}");
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {link} type veth peer name inside netns {name}"))?;
        ip(&format!("address add {}/30 dev {link}", namespace.outside))?;
        ip(&format!("link set {link} up"))?;
        ip(&format!("-n {name} address add {}/30 dev inside", namespace.inside))?;
        ip(&format!("-n {name} link set inside up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        Ok(namespace)
    }

    /// Returns the address of a server in the namespace.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.inside
    }

    /// Returns the command that runs a program in the namespace. The process that it starts becomes the program, so that killing it
    /// kills the program.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let mut within = Command::new("ip");
        within.args(["netns", "exec", &self.name]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            within.current_dir(folder);
        }
        within
    }

    /// Forwards what a program in the namespace sends to the address that this returns, until the test ends.
    pub(crate) fn forward(&self, to: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((self.outside, 0))?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for arrived in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || relay(&arrived, to));
            }
        });
        Ok(address)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&format!("netns del {}", self.name)) {
            eprintln!("namespace {}: {error}", self.name);
        }
    }
}

/// Copies both directions of a connection until either ends.
fn relay(arrived: &TcpStream, to: SocketAddr) {
    let Ok(onward) = TcpStream::connect(to) else { return };
    let _ = arrived.set_nodelay(true);
    let _ = onward.set_nodelay(true);
    thread::scope(|scope| {
        scope.spawn(|| copy(arrived, &onward));
        copy(&onward, arrived);
    });
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    // The other direction ends too.
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn ip(arguments: &str) -> Result<(), String> {
    let ran =
        Command::new("ip").args(arguments.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    if ran.status.success() {
        Ok(())
    } else {
        Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr).trim()))
    }
}
