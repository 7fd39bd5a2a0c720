//! Kills writers of a store at random moments and counts what was lost.

use crate::{Error, Result, command};

/// Kills programs at random moments and looks at what they left: writers of a store, flows, servers of models, or `alloquy serve`.
///
/// PostgreSQL and S3 need servers: `ALLOQUY_TEST_POSTGRES` and `ALLOQUY_TEST_S3` say where they are.
#[derive(Debug, clap::Args)]
pub struct Torture {
    /// What is killed: writers of a store, programs that run a flow, servers in the middle of replies, or one of two `alloquy serve`.
    #[arg(value_enum, default_value = "writers")]
    what: Victim,
    /// The store: file, sqlite, postgres or s3. Flows run over file, sqlite and postgres unless one is named, servers over
    /// file and sqlite.
    #[arg(long)]
    store: Option<String>,
    /// How many programs to kill.
    #[arg(long, value_name = "N", default_value_t = 500)]
    kills: u64,
    /// How many conversations clients hold with `alloquy serve`, at least.
    #[arg(long, value_name = "N", default_value_t = 500)]
    conversations: u64,
    /// Puts each `alloquy serve` into a network namespace of its own. Linux and root only.
    #[arg(long)]
    namespaces: bool,
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Victim {
    /// Writers of a store.
    Writers,
    /// Programs that run a flow.
    Flows,
    /// Servers of llama.cpp in the middle of replies. `ALLOQUY_LLAMA_PYTHON` is a Python that has one.
    Servers,
    /// One of two `alloquy serve` over one PostgreSQL database, while clients hold conversations.
    Serve,
}

impl Victim {
    /// The stores over which it can be killed.
    fn stores(self) -> &'static [&'static str] {
        match self {
            Self::Writers => &["file", "sqlite", "postgres", "s3"],
            Self::Flows => &["file", "sqlite", "postgres"],
            Self::Servers => &[],
            Self::Serve => &["postgres"],
        }
    }
}

/// The test that kills writers.
const WRITERS: &str = "cargo test --package alloquy-storage --test stores -- --nocapture --exact \
    torture::killed_writers_of_what_the_environment_names 2>&1";

/// The test that kills programs that run a flow.
const FLOWS: &str = "cargo test --package alloquy-flows --test torture -- --nocapture --exact \
    killed_flows_over_what_the_environment_names 2>&1";

/// The test that kills servers of models.
const SERVERS: &str = "cargo test --package alloquy-tests --test remote_kills -- --nocapture --exact \
    killed_servers_as_the_environment_says 2>&1";

/// The test that kills `alloquy serve`.
const SERVE: &str = "cargo test --package alloquy-cli --test server_kills -- --nocapture --exact \
    killed_servers_as_the_environment_says 2>&1";

impl Torture {
    /// Runs the test and ends with the figures that it prints.
    ///
    /// # Errors
    /// When the store is unknown, its server is missing, or something acknowledged is lost.
    pub fn run(&self) -> Result {
        let stores = self.what.stores();
        let store = match &self.store {
            Some(store) if stores.contains(&store.as_str()) => store.as_str(),
            Some(store) if stores.is_empty() => {
                let message =
                    format!("store {store:?} has no effect: servers are killed over files and SQLite");
                return Err(Error::new(message));
            }
            Some(store) => {
                let message = format!("unknown store {store:?}, one of: {}", stores.join(", "));
                return Err(Error::new(message));
            }
            None if self.what != Victim::Writers => "all",
            None => {
                let message = format!("no store is named, use --store with one of: {}", stores.join(", "));
                return Err(Error::new(message));
            }
        };
        let (line, prefix) = match self.what {
            Victim::Writers => (WRITERS, format!("torture {store}: ")),
            Victim::Flows => (FLOWS, "torture flows ".to_owned()),
            Victim::Servers => (SERVERS, "torture servers, ".to_owned()),
            Victim::Serve => (SERVE, "torture serve, ".to_owned()),
        };
        let mut shell = command::shell(line);
        shell.env("ALLOQUY_TORTURE_STORE", store).env("ALLOQUY_TORTURE_KILLS", self.kills.to_string());
        shell.env("ALLOQUY_TORTURE_CONVERSATIONS", self.conversations.to_string());
        if self.namespaces {
            if self.what != Victim::Serve {
                return Err(Error::new("--namespaces is for `torture serve`"));
            }
            shell.env("ALLOQUY_TORTURE_NAMESPACES", "1");
        }
        let (printed, ended) = command::tee(&mut shell)?;
        ended?;
        let figures: Vec<_> = printed.lines().filter(|line| line.starts_with(&prefix)).collect();
        if figures.is_empty() {
            return Err(Error::new("the test printed no figures"));
        }
        println!("{}", figures.join("\n"));
        Ok(())
    }
}
