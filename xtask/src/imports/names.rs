//! The paths that the code of an item names, inside macros too.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Item;

/// The way from the root of a crate to a module, or from a module to what is meant.
pub(super) type Names = Vec<String>;

/// Returns every path of an item. A path is names with `::` between them; one name alone counts, since a `use` may have
/// brought it in.
pub(super) fn mentions(item: &Item) -> Vec<Names> {
    let mut found = Vec::new();
    collect(item.to_token_stream(), &mut found);
    found
}

/// Looks at tokens and not at syntax: what a macro is given has none.
fn collect(tokens: TokenStream, found: &mut Vec<Names>) {
    let mut path = Names::new();
    let mut colons = 0;
    // After a dot a name is a field's or a method's.
    let mut is_member = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    flush(&mut path, found);
                }
                if !is_member {
                    path.push(name.to_string());
                }
                colons = 0;
                is_member = false;
            }
            TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
            TokenTree::Punct(sign) => {
                flush(&mut path, found);
                colons = 0;
                is_member = sign.as_char() == '.';
            }
            TokenTree::Group(group) => {
                // `pub(super)` says who sees a name, and imports none.
                let is_visibility = path.first().is_some_and(|name| name == "pub");
                flush(&mut path, found);
                colons = 0;
                is_member = false;
                if !is_visibility {
                    collect(group.stream(), found);
                }
            }
            TokenTree::Literal(_) => {
                flush(&mut path, found);
                colons = 0;
                is_member = false;
            }
        }
    }
    flush(&mut path, found);
}

fn flush(path: &mut Names, found: &mut Vec<Names>) {
    if !path.is_empty() {
        found.push(std::mem::take(path));
    }
}
