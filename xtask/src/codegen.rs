//! Texts that are written by a program: they are checked in, and say what made them.

mod examples;
mod families;

use std::fs;

use crate::{Error, File, Result, Tree, root};

pub use examples::readme_with_examples;
pub use families::families_page;

/// Writes what is generated: the page of families, and the examples that the README shows.
#[derive(Debug, clap::Args)]
pub struct Codegen {
    /// Compares instead of writing.
    #[arg(long)]
    check: bool,
}

impl Codegen {
    /// Writes what is generated, or compares it.
    ///
    /// # Errors
    /// When something is not what would be written, or what it is made from lacks something.
    pub fn run(&self) -> Result {
        match self.check {
            true => check(),
            false => write(),
        }
    }
}

fn generated() -> Result<Vec<File>> {
    let tree = Tree::read(&root())?;
    Ok(vec![families_page(&tree)?, readme_with_examples(&tree)?])
}

fn write() -> Result {
    for File { path, text } in generated()? {
        fs::write(root().join(&path), text)?;
        println!("{path} is written");
    }
    Ok(())
}

/// Compares what is checked in with what would be written.
pub(crate) fn check() -> Result {
    let mut stale = generated()?;
    stale.retain(|file| fs::read_to_string(root().join(&file.path)).ok().as_ref() != Some(&file.text));
    match stale.as_slice() {
        [] => {
            println!("generated texts are up to date");
            Ok(())
        }
        stale => {
            let paths: Vec<_> = stale.iter().map(|file| file.path.as_str()).collect();
            Err(Error::new(format!("out of date: {}; run `cargo xtask codegen`", paths.join(", "))))
        }
    }
}
