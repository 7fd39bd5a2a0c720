//! Which files of a crate import each other, and which import each other in a circle.

mod circles;
mod modules;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{Metadata, Target};

pub use self::circles::{Circle, circles, report_circles};
use self::modules::Modules;
use crate::{Error, Result};

/// The names that each file takes from each other file, by the paths of both relative to the root of the workspace.
pub type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Reads the libraries and programs of the workspace and returns what their files import of each other.
///
/// An import is a path, in a `use` or in the code, to something that another file of the same crate defines. A `pub use`
/// hands a name on and is none by itself; tests are left out.
///
/// # Errors
/// When a file cannot be read, or is not Rust.
pub fn imports(metadata: &Metadata) -> Result<Imports> {
    let mut imports = Imports::new();
    for package in metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| is_shipped(target)) {
            let path = target.src_path.strip_prefix(&metadata.workspace_root);
            let path =
                path.map_err(|_| Error::new(format!("{} is outside the workspace", target.src_path)))?;
            let modules = Modules::read(metadata.workspace_root.as_std_path(), path.as_str())?;
            for (from, to, name) in modules.imports() {
                imports.entry(from).or_default().entry(to).or_default().insert(name);
            }
        }
    }
    Ok(imports)
}

fn is_shipped(target: &Target) -> bool {
    target.is_lib() || target.is_bin() || target.is_proc_macro()
}
