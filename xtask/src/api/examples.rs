//! Finds public items that no example shows.
//!
//! An item is shown by a runnable example in its own docs or in those of its methods, or by one that its docs link to. The example
//! of a module shows the items that it names, and all functions in the module.

use std::collections::{HashMap, HashSet};

use rustdoc_types::{Crate, Id, Item, ItemEnum, Type, Visibility};

/// What a code block of Rust may have after its opening marks; other words name another language, or stop the block from being
/// compiled.
const RUST: [&str; 5] = ["", "compile_fail", "no_run", "rust", "should_panic"];

/// Returns the public items of the libraries that no example shows, each as its kind and path.
pub(super) fn without_example(libraries: &[Crate]) -> Vec<String> {
    let mut shown = HashSet::new();
    for library in libraries {
        for (id, item) in &library.index {
            if let Some(summary) = library.paths.get(id)
                && has_own_example(library, item)
            {
                shown.insert(summary.path.join("::"));
            }
        }
    }
    let mut found = Vec::new();
    for library in libraries {
        let types = types_of_methods(library);
        let mut walk = Walk { library, shown: &shown, types, visited: HashSet::new(), found: &mut found };
        if let Some(root) = library.index.get(&library.root) {
            let name = root.name.as_deref().unwrap_or_default();
            walk.module(root, name, false);
        }
    }
    found.sort();
    found
}

/// A walk through the public modules of a library.
struct Walk<'a> {
    library: &'a Crate,
    /// The paths of all items with an example.
    shown: &'a HashSet<String>,
    types: HashMap<Id, Id>,
    /// An item may be exported in several places; the first one counts.
    visited: HashSet<Id>,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    /// Visits a module. `is_shown` says whether a module around it, other than the root, has an example.
    fn module(&mut self, module: &Item, path: &str, is_shown: bool) {
        let ItemEnum::Module(content) = &module.inner else { return };
        let docs = module.docs.as_deref().unwrap_or_default();
        let is_root = module.id == self.library.root;
        let is_shown = is_shown || (has_example(docs) && !is_root);
        let library = self.library;
        for id in &content.items {
            let Some((item, name)) = exported(library, *id) else { continue };
            if !self.visited.insert(item.id) {
                continue;
            }
            let path = format!("{path}::{name}");
            let is_function = matches!(item.inner, ItemEnum::Function(_));
            let is_named = has_example(docs) && docs.contains(name);
            match kind(item) {
                Some("module") => self.module(item, &path, is_shown),
                Some(_) if is_named || (is_shown && is_function) => {}
                Some(kind) if !self.has_example(item) => self.found.push(format!("{kind} {path}")),
                _ => {}
            }
        }
    }

    /// Returns whether the docs of an item have an example or a link to one.
    fn has_example(&self, item: &Item) -> bool {
        if has_own_example(self.library, item) {
            return true;
        }
        let mut targets = item.links.values().filter_map(|id| self.target(*id));
        targets.any(|path| self.shown.contains(&path))
    }

    /// Returns the path of an item that docs link to; for a method, which has no path of its own, the path of its type.
    fn target(&self, id: Id) -> Option<String> {
        let id = self.types.get(&id).unwrap_or(&id);
        self.library.paths.get(id).map(|summary| summary.path.join("::"))
    }
}

/// Returns a public item and the name under which a module exports it.
fn exported(library: &Crate, id: Id) -> Option<(&Item, &str)> {
    let item = library.index.get(&id)?;
    if item.visibility != Visibility::Public {
        return None;
    }
    match &item.inner {
        ItemEnum::Use(import) => Some((library.index.get(&import.id?)?, import.name.as_str())),
        _ => Some((item, item.name.as_deref()?)),
    }
}

/// Returns for each method the type or the trait that it belongs to.
fn types_of_methods(library: &Crate) -> HashMap<Id, Id> {
    let mut types = HashMap::new();
    for item in library.index.values() {
        let owner = match &item.inner {
            ItemEnum::Trait(_) => item.id,
            ItemEnum::Impl(block) => match &block.for_ {
                Type::ResolvedPath(path) => path.id,
                _ => continue,
            },
            _ => continue,
        };
        for method in parts(item) {
            types.insert(method, owner);
        }
    }
    types
}

/// Returns whether the docs of an item or of one of its methods have an example.
fn has_own_example(library: &Crate, item: &Item) -> bool {
    if item.docs.as_deref().is_some_and(has_example) {
        return true;
    }
    for id in parts(item) {
        let Some(part) = library.index.get(&id) else { continue };
        let is_method_with_example = match &part.inner {
            ItemEnum::Impl(block) => block.trait_.is_none() && has_own_example(library, part),
            _ => part.docs.as_deref().is_some_and(has_example),
        };
        if is_method_with_example {
            return true;
        }
    }
    false
}

/// Returns the blocks of methods of a type, the methods of a block, or the items of a trait.
fn parts(item: &Item) -> Vec<Id> {
    match &item.inner {
        ItemEnum::Struct(content) => content.impls.clone(),
        ItemEnum::Enum(content) => content.impls.clone(),
        ItemEnum::Union(content) => content.impls.clone(),
        ItemEnum::Trait(content) => content.items.clone(),
        ItemEnum::Impl(content) => content.items.clone(),
        _ => Vec::new(),
    }
}

/// Returns the word for an item that needs an example; `None` for others.
fn kind(item: &Item) -> Option<&'static str> {
    match item.inner {
        ItemEnum::Module(_) => Some("module"),
        ItemEnum::Struct(_) => Some("struct"),
        ItemEnum::Enum(_) => Some("enum"),
        ItemEnum::Union(_) => Some("union"),
        ItemEnum::Trait(_) => Some("trait"),
        ItemEnum::Function(_) => Some("function"),
        ItemEnum::TypeAlias(_) => Some("type"),
        ItemEnum::Constant { .. } => Some("constant"),
        ItemEnum::Macro(_) | ItemEnum::ProcMacro(_) => Some("macro"),
        _ => None,
    }
}

/// Returns whether docs have a code block that is compiled.
fn has_example(docs: &str) -> bool {
    let mut is_inside = false;
    for line in docs.lines() {
        let Some(words) = line.trim_start().strip_prefix("```") else { continue };
        if !is_inside && words.split(',').all(|word| RUST.contains(&word.trim())) {
            return true;
        }
        is_inside = !is_inside;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_a_code_block_of_rust() {
        assert!(has_example("A sum.\n\n```\nassert_eq!(1 + 1, 2);\n```"));
        assert!(has_example("```no_run\nrun();\n```"));
        assert!(!has_example("```text\nA table.\n```\nA sum."));
        assert!(!has_example("```json\n{}\n```"));
        assert!(!has_example("A sum."));
    }
}
