//! Lists the families. Each has a file of its own.

mod deepseek;
mod function_gemma;
mod gemma3;
mod gemma4;
mod generic;
mod gpt_oss;
mod lfm2;
mod llama3;
mod minicpm;
mod ministral;
mod mistral;
mod phi4;
mod qwen2_5;
mod qwen3;
mod qwen3_5;
mod smollm3;
mod vicuna;

use alloquy_core::{Error, ErrorKind, Result};

use crate::built_in::BuiltIn;

/// Every family.
pub(crate) static FAMILIES: &[&BuiltIn] = &[
    // In alphabetic order. The order does not matter, because at most one family claims a model.
    &deepseek::FAMILY,
    &function_gemma::FAMILY,
    &gemma3::FAMILY,
    &gemma4::FAMILY,
    &generic::FAMILY,
    &gpt_oss::FAMILY,
    &lfm2::FAMILY,
    &llama3::FAMILY,
    &minicpm::FAMILY,
    &ministral::FAMILY,
    &mistral::FAMILY,
    &phi4::FAMILY,
    &qwen2_5::FAMILY,
    &qwen3::FAMILY,
    &qwen3_5::FAMILY,
    &smollm3::FAMILY,
    &vicuna::FAMILY,
];

/// The family of models that no other family claims.
pub(crate) use generic::FAMILY as FALLBACK;

/// Returns the family with a name.
pub(crate) fn named(name: &str) -> Result<&'static BuiltIn> {
    let known = FAMILIES.iter().copied().find(|family| family.name == name);
    known.ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        let message = format!("unknown family {name:?}, one of: {}", names.join(", "));
        Error::new(ErrorKind::NotFound, message)
    })
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;

    #[test]
    fn the_table_is_alphabetic() {
        assert!(FAMILIES.is_sorted_by(|left, right| left.name < right.name));
    }
}
