//! Runs benchmarks. The list comes from cargo, so a new one needs no line here.

mod architectures;
mod bandwidth;
mod peers;
mod python;

use crate::{Error, Result, command, metadata};

pub use architectures::merged_architectures;

/// Runs the benchmarks of the workspace: all of them, or those that are named.
///
/// Two run only when they are named: `peers` installs other runtimes and makes a model of 340 MB for them, `architectures` installs
/// exporters and compares what they export.
#[derive(Debug, clap::Args)]
pub struct Bench {
    /// The benchmarks to run.
    names: Vec<String>,
    /// Lists the benchmarks.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    peers: peers::Peers,
    #[command(flatten)]
    architectures: architectures::Architectures,
}

/// A benchmark: the crate it measures, and its name.
struct Benchmark {
    package: String,
    name: String,
}

impl Bench {
    /// Runs the benchmarks, one after the other.
    ///
    /// # Errors
    /// When a name is unknown, or a benchmark fails.
    pub fn run(&self) -> Result {
        let benchmarks = benchmarks()?;
        if self.list {
            list(&benchmarks);
            return Ok(());
        }
        let mut known: Vec<_> = benchmarks.iter().map(|known| known.name.as_str()).collect();
        known.extend([architectures::NAME, peers::NAME]);
        if let Some(name) = self.names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Error::new(format!("unknown benchmark {name:?}, one of: {}", known.join(", "))));
        }
        for benchmark in &benchmarks {
            if self.names.is_empty() || self.names.contains(&benchmark.name) {
                benchmark.run()?;
            }
        }
        if self.is_named(architectures::NAME) {
            self.architectures.run()?;
        }
        if self.is_named(peers::NAME) { self.peers.run() } else { Ok(()) }
    }

    fn is_named(&self, benchmark: &str) -> bool {
        self.names.iter().any(|name| name == benchmark)
    }
}

impl Benchmark {
    fn run(&self) -> Result {
        command::run(&mut command::cargo(&["bench", "--package", &self.package, "--bench", &self.name]))
    }
}

fn benchmarks() -> Result<Vec<Benchmark>> {
    let metadata = metadata()?;
    let mut benchmarks = Vec::new();
    for package in metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| target.is_bench()) {
            benchmarks.push(Benchmark { package: package.name.to_string(), name: target.name.clone() });
        }
    }
    Ok(benchmarks)
}

fn list(benchmarks: &[Benchmark]) {
    for benchmark in benchmarks {
        println!("{:<20}  {}", benchmark.name, benchmark.package);
    }
    println!("{:<20}  exports of tiny models of every architecture", architectures::NAME);
    println!("{:<20}  other runtimes on the same model", peers::NAME);
}
