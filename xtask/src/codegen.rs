//! Generates texts that are checked in, each with a note of the command that made it.

mod architectures;
mod between;
mod differences;
mod examples;
mod families;
mod layers;
mod models;
mod templates;

use std::fs;

use crate::{Error, File, Result, Tree, root};

pub use architectures::page_with_architectures;
pub use differences::{page_with_dataknobs_differences, page_with_differences};
pub use examples::readme_with_examples;
pub use families::families_page;
pub use layers::architecture_with_layers;
pub use models::{help_with_models, page_with_models, readme_with_models};
pub use templates::{conversation_templates, page_with_template_names};

/// Writes the generated texts: the page of families, the tables of layers, the examples in the README, the lists of public models,
/// the tables of architectures, the tables of conversation templates, and the differences from LiteRT-LM and dataknobs.
#[derive(Debug, clap::Args)]
pub struct Codegen {
    /// Only this: architectures, differences, examples, families, layers, models or templates.
    name: Option<String>,
    /// Compares instead of writing.
    #[arg(long)]
    check: bool,
}

impl Codegen {
    /// Writes the generated texts, or compares them.
    ///
    /// # Errors
    /// When a text differs from the generated one, its source lacks something, or the name is unknown.
    pub fn run(&self) -> Result {
        let pages = pages(self.name.as_deref())?;
        if self.check { compare(&pages) } else { write(&pages) }
    }
}

type Page = fn(&Tree) -> Result<File>;

/// The generated texts, each with the function that makes it from the tree of files.
const PAGES: [(&str, Page); 11] = [
    ("architectures", page_with_architectures),
    ("differences", page_with_differences),
    ("differences", page_with_dataknobs_differences),
    ("examples", readme_with_examples),
    ("families", families_page),
    ("layers", architecture_with_layers),
    ("models", help_with_models),
    ("models", page_with_models),
    ("models", readme_with_models),
    ("templates", conversation_templates),
    ("templates", page_with_template_names),
];

/// Returns the texts with a name, or all.
fn pages(name: Option<&str>) -> Result<Vec<Page>> {
    let wanted = PAGES.iter().filter(|(known, _)| name.is_none_or(|name| name == *known));
    let pages: Vec<_> = wanted.map(|(_, page)| *page).collect();
    match (pages.is_empty(), name) {
        (true, Some(name)) => {
            let mut known = PAGES.map(|(known, _)| known).to_vec();
            known.dedup();
            Err(Error::new(format!("nothing generated is called {name:?}, one of: {}", known.join(", "))))
        }
        _ => Ok(pages),
    }
}

/// Writes each text that can be made. A failure does not keep the others from being written.
fn write(pages: &[Page]) -> Result {
    let tree = Tree::read(&root())?;
    let written: Vec<_> = pages
        .iter()
        .map(|page| {
            let File { path, text } = page(&tree)?;
            fs::write(root().join(&path), text)?;
            println!("{path} is written");
            Ok(())
        })
        .collect();
    written.into_iter().collect()
}

/// Compares the checked-in texts with the generated ones.
pub(crate) fn check() -> Result {
    compare(&pages(None)?)
}

fn compare(pages: &[Page]) -> Result {
    let tree = Tree::read(&root())?;
    let mut stale = pages.iter().map(|page| page(&tree)).collect::<Result<Vec<_>>>()?;
    stale.retain(|page| fs::read_to_string(root().join(&page.path)).ok().as_ref() != Some(&page.text));
    if stale.is_empty() {
        println!("generated texts are up to date");
        return Ok(());
    }
    let paths: Vec<_> = stale.iter().map(|page| page.path.as_str()).collect();
    Err(Error::new(format!("out of date: {}; run `cargo xtask codegen`", paths.join(", "))))
}
