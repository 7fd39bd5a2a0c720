//! The modules of one crate, and what a path in one of them leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, UseTree};

use super::names::{Names, mentions};
use crate::{Error, Result};

/// How often an alias may lead to another one.
const ALIASES: usize = 32;

/// What is known of one module.
#[derive(Debug, Default)]
struct Module {
    /// Relative to the root of the workspace.
    file: String,
    /// What it defines.
    items: BTreeSet<String>,
    /// What a `use` brings in, by its name here.
    aliases: BTreeMap<String, Names>,
    /// Where a `use` brings everything in from.
    globs: Vec<Names>,
    /// Paths that count as imports: those in the code, and those of a private `use`.
    paths: Vec<Names>,
}

/// All modules of a crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    modules: BTreeMap<Names, Module>,
}

impl Modules {
    /// Reads a crate from the file of its root on.
    pub(super) fn read(root: &Path, file: &str) -> Result<Self> {
        let mut modules = Self::default();
        modules.read_file(root, file, Names::new(), true)?;
        Ok(modules)
    }

    fn read_file(&mut self, root: &Path, file: &str, path: Names, is_root: bool) -> Result<()> {
        let text = fs::read_to_string(root.join(file))?;
        let parsed = syn::parse_file(&text).map_err(|error| Error::new(format!("{file}: {error}")))?;
        let mut folder = PathBuf::from(file);
        // The modules of `turn.rs` are in `turn/`, those of `lib.rs` beside it.
        if is_root || folder.file_stem().is_some_and(|stem| stem == "mod") {
            folder.pop();
        } else {
            folder.set_extension("");
        }
        self.read_items(root, file, &folder, path, parsed.items)
    }

    fn read_items(
        &mut self,
        root: &Path,
        file: &str,
        folder: &Path,
        path: Names,
        items: Vec<Item>,
    ) -> Result<()> {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            if is_for_tests(attributes(&item)) {
                continue;
            }
            if let Some(name) = defined(&item) {
                module.items.insert(name);
            }
            match item {
                Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let below = path.iter().cloned().chain([name.clone()]).collect();
                    let inner = folder.join(&name);
                    if let Some((_, items)) = child.content {
                        self.read_items(root, file, &inner, below, items)?;
                    } else {
                        self.read_file(root, &child_file(root, folder, &name, &child.attrs)?, below, false)?;
                    }
                }
                Item::Use(item) => {
                    let is_private = matches!(item.vis, syn::Visibility::Inherited);
                    module.bring_in(Names::new(), &item.tree, is_private);
                }
                other => module.paths.extend(mentions(&other)),
            }
        }
        self.modules.insert(path, module);
        Ok(())
    }

    /// Returns each import: from which file, to which, and the name.
    pub(super) fn imports(&self) -> BTreeSet<(String, String, String)> {
        let mut imports = BTreeSet::new();
        for (at, module) in &self.modules {
            for path in &module.paths {
                // A single name may be a variable's, so it counts for an item and not for a module.
                if let [name] = path.as_slice()
                    && self.modules.contains_key(&at.iter().chain([name]).cloned().collect::<Names>())
                {
                    continue;
                }
                let Some((file, name)) = self.follow(at, path, ALIASES) else { continue };
                if file != module.file {
                    imports.insert((module.file.clone(), file, name));
                }
            }
        }
        imports
    }

    /// Returns the file in which a path ends, and its last name; `None` for an item of another crate.
    fn follow(&self, at: &[String], path: &[String], aliases: usize) -> Option<(String, String)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.find(&[], rest, aliases),
            "self" => self.find(at, rest, aliases),
            "super" => {
                let (_, parent) = at.split_last()?;
                // `super::super` continues from the parent.
                match rest.first().map(String::as_str) {
                    Some("super") => self.follow(parent, rest, aliases),
                    _ => self.find(parent, rest, aliases),
                }
            }
            _ => self.find(at, path, aliases),
        }
    }

    /// As [`Modules::follow`], of a path that begins in the module at `at`.
    fn find(&self, at: &[String], path: &[String], aliases: usize) -> Option<(String, String)> {
        let module = self.modules.get(at)?;
        let Some((first, rest)) = path.split_first() else {
            return Some((module.file.clone(), at.last().cloned().unwrap_or_default()));
        };
        let below: Names = at.iter().chain([first]).cloned().collect();
        if self.modules.contains_key(&below) {
            return self.find(&below, rest, aliases);
        }
        if module.items.contains(first) {
            return Some((module.file.clone(), first.clone()));
        }
        let aliases = aliases.checked_sub(1)?;
        if let Some(target) = module.aliases.get(first) {
            let target: Names = target.iter().chain(rest).cloned().collect();
            // `use name::name` of a crate from elsewhere would lead here again and again.
            return if target.first() == Some(first) { None } else { self.follow(at, &target, aliases) };
        }
        let all = module.globs.iter().map(|glob| glob.iter().chain(path).cloned().collect::<Names>());
        all.into_iter().find_map(|target| self.follow(at, &target, aliases))
    }
}

impl Module {
    /// Takes the names of a `use`.
    fn bring_in(&mut self, before: Names, tree: &UseTree, is_private: bool) {
        match tree {
            UseTree::Path(path) => {
                let mut before = before;
                before.push(path.ident.to_string());
                self.bring_in(before, &path.tree, is_private);
            }
            UseTree::Name(name) => self.alias(before, &name.ident.to_string(), None, is_private),
            UseTree::Rename(name) => {
                self.alias(before, &name.ident.to_string(), Some(name.rename.to_string()), is_private);
            }
            UseTree::Glob(_) => self.globs.push(before),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.bring_in(before.clone(), tree, is_private);
                }
            }
        }
    }

    fn alias(&mut self, mut target: Names, name: &str, rename: Option<String>, is_private: bool) {
        // `use path::{self}` is the path itself.
        if name != "self" {
            target.push(name.to_owned());
        }
        if is_private {
            self.paths.push(target.clone());
        }
        if let Some(name) = rename.or_else(|| target.last().cloned()) {
            self.aliases.insert(name, target);
        }
    }
}

/// Finds the file of `mod name;`.
fn child_file(root: &Path, folder: &Path, name: &str, attributes: &[Attribute]) -> Result<String> {
    let named = attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    });
    let places = match named {
        Some(path) => vec![folder.join(path)],
        None => vec![folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")],
    };
    let found = places.into_iter().find(|place| root.join(place).is_file());
    let found = found.ok_or_else(|| Error::new(format!("{}: mod {name} has no file", folder.display())))?;
    Ok(found.to_string_lossy().replace('\\', "/"))
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name of what an item defines.
fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
