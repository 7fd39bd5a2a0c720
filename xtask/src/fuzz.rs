//! Runs a property over many more random cases than the plain test run has time for.

use crate::{Error, Result, command};

/// Runs a fuzz test in a release build, over the requested number of random cases.
#[derive(Debug, clap::Args)]
pub struct Fuzz {
    /// The fuzz test; without one, lists them.
    name: Option<String>,
    /// How many messages to make up, or how many files or flows.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "name")]
    messages: u64,
    /// How long to run instead; only `images` takes it.
    #[arg(long, value_name = "M", conflicts_with = "messages", requires = "name")]
    minutes: Option<u64>,
}

/// A test that reads from an environment variable how many random cases to make.
struct Target {
    name: &'static str,
    package: &'static str,
    test: &'static str,
    /// The features that it needs, as cargo takes them.
    features: &'static str,
    variable: &'static str,
    /// Whether the variable takes minutes too, such as `10m`.
    takes_minutes: bool,
    about: &'static str,
}

/// Every fuzz test, sorted by name.
const TARGETS: &[Target] = &[
    Target {
        name: "audio",
        package: "alloquy-media",
        test: "audio_fuzz",
        features: "audio",
        variable: "ALLOQUY_FUZZ_AUDIO",
        takes_minutes: false,
        about: "mutated audio files never make the decoder panic, or take more memory than is allowed",
    },
    Target {
        name: "flows",
        package: "alloquy-flows",
        test: "random",
        features: "",
        variable: "ALLOQUY_FUZZ_FLOWS",
        takes_minutes: false,
        about: "random flows, with undo, branches and two writers, do as a short reference does",
    },
    Target {
        name: "images",
        package: "alloquy-media",
        test: "image_fuzz",
        features: "image",
        variable: "ALLOQUY_FUZZ_IMAGES",
        takes_minutes: true,
        about: "mutated images never make a reader panic, or take more memory than the limits allow",
    },
    Target {
        name: "injection",
        package: "alloquy-tests",
        test: "injection",
        features: "",
        variable: "ALLOQUY_FUZZ_MESSAGES",
        takes_minutes: false,
        about: "hostile text through public chat templates never becomes a control token",
    },
    Target {
        name: "prompts",
        package: "alloquy-templates",
        test: "prompt_text",
        features: "",
        variable: "ALLOQUY_FUZZ_PROMPTS",
        takes_minutes: false,
        about: "random texts of prompts never panic, and no value in them is read as a template",
    },
    Target {
        name: "replies",
        package: "alloquy-processors",
        test: "replies",
        features: "",
        variable: "ALLOQUY_FUZZ_REPLIES",
        takes_minutes: false,
        about: "mutated replies never make a parser panic, read differently in pieces, or lose a word",
    },
    Target {
        name: "values",
        package: "alloquy-tests",
        test: "injection",
        features: "",
        variable: "ALLOQUY_FUZZ_VALUES",
        takes_minutes: false,
        about: "hostile values of prompts never become control tokens, with all else trusted",
    },
];

impl Fuzz {
    /// Runs the test, which prints its figures.
    ///
    /// # Errors
    /// When the test is unknown, its cases are missing, or it fails.
    pub fn run(&self) -> Result {
        let Some(name) = &self.name else {
            for target in TARGETS {
                println!("{:<10}  {}", target.name, target.about);
            }
            return Ok(());
        };
        let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            return Err(Error::new(format!("unknown fuzz test {name:?}, one of: {}", names.join(", "))));
        };
        target.run(&self.length(target)?)
    }

    /// Returns the value of the test's variable.
    fn length(&self, target: &Target) -> Result<String> {
        match self.minutes {
            None => Ok(self.messages.to_string()),
            Some(minutes) if target.takes_minutes => Ok(format!("{minutes}m")),
            Some(_) => {
                Err(Error::new(format!("{} has no time limit: set its number with --messages", target.name)))
            }
        }
    }
}

impl Target {
    fn run(&self, length: &str) -> Result {
        let line = format!(
            "cargo test --release --package {} --features '{}' --test {} -- --nocapture 2>&1",
            self.package, self.features, self.test
        );
        let (printed, ended) = command::tee(command::shell(&line).env(self.variable, length))?;
        match printed.lines().find(|line| line.starts_with("Skipping")) {
            Some(skipped) => Err(Error::new(format!("cases are missing: {skipped}"))),
            None => ended,
        }
    }
}
