//! Texts that are written by a program: they are checked in, and say what made them.

mod examples;
mod families;
mod layers;

use std::fs;

use crate::{Error, File, Result, Tree, root};

pub use examples::readme_with_examples;
pub use families::families_page;
pub use layers::architecture_with_layers;

/// Writes what is generated: the page of families, the tables of layers, and the examples in the README.
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

/// Whatever is generated, each from the tree of files.
const PAGES: [fn(&Tree) -> Result<File>; 3] = [architecture_with_layers, families_page, readme_with_examples];

/// Writes each page that can be written; one that cannot is no reason to leave the others stale.
fn write() -> Result {
    let tree = Tree::read(&root())?;
    let written = PAGES.map(|page| {
        let File { path, text } = page(&tree)?;
        fs::write(root().join(&path), text)?;
        println!("{path} is written");
        Ok(())
    });
    written.into_iter().collect()
}

/// Compares what is checked in with what would be written.
pub(crate) fn check() -> Result {
    let tree = Tree::read(&root())?;
    let mut stale = PAGES.iter().map(|page| page(&tree)).collect::<Result<Vec<_>>>()?;
    stale.retain(|page| fs::read_to_string(root().join(&page.path)).ok().as_ref() != Some(&page.text));
    if stale.is_empty() {
        println!("generated texts are up to date");
        return Ok(());
    }
    let paths: Vec<_> = stale.iter().map(|page| page.path.as_str()).collect();
    Err(Error::new(format!("out of date: {}; run `cargo xtask codegen`", paths.join(", "))))
}
