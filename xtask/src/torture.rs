//! Kills writers of a store at random moments and counts what was lost.

use crate::{Error, Result, command};

/// The stores that can be tortured.
const STORES: [&str; 4] = ["file", "sqlite", "postgres", "s3"];

/// Kills writers of a store at random moments and looks at what they left.
///
/// PostgreSQL and S3 need servers: `ALLOQUY_TEST_POSTGRES` and `ALLOQUY_TEST_S3` say where they are.
#[derive(Debug, clap::Args)]
pub struct Torture {
    /// The store: file, sqlite, postgres or s3.
    #[arg(long)]
    store: String,
    /// How many writers to kill.
    #[arg(long, value_name = "N", default_value_t = 500)]
    kills: u64,
}

impl Torture {
    /// Runs the test and ends with the figures that it prints.
    ///
    /// # Errors
    /// When the store is unknown, its server is missing, or something acknowledged is lost.
    pub fn run(&self) -> Result {
        if !STORES.contains(&self.store.as_str()) {
            return Err(Error::new(format!("unknown store {:?}, one of: {}", self.store, STORES.join(", "))));
        }
        let line = "cargo test --package alloquy-storage --test stores -- --nocapture --exact \
            torture::killed_writers_of_what_the_environment_names 2>&1";
        let mut shell = command::shell(line);
        shell.env("ALLOQUY_TORTURE_STORE", &self.store).env("ALLOQUY_TORTURE_KILLS", self.kills.to_string());
        let (printed, ended) = command::tee(&mut shell)?;
        ended?;
        let prefix = format!("torture {}: ", self.store);
        let figures = printed.lines().find(|line| line.starts_with(&prefix));
        println!("{}", figures.ok_or_else(|| Error::new("the test printed no figures"))?);
        Ok(())
    }
}
