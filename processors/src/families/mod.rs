//! The table of families: a file and a line each.

mod gemma3;
mod generic;
mod qwen3;
mod vicuna;

use crate::family::Family;

/// Every family; alphabetic, since the order decides nothing.
pub(crate) static FAMILIES: [&Family; 4] =
    [&gemma3::FAMILY, &generic::FAMILY, &qwen3::FAMILY, &vicuna::FAMILY];

/// The family of models that no other claims.
pub(crate) use generic::FAMILY as FALLBACK;

#[cfg(test)]
mod tests {
    use super::FAMILIES;

    #[test]
    fn the_table_is_alphabetic() {
        assert!(FAMILIES.is_sorted_by(|left, right| left.name < right.name));
    }
}
