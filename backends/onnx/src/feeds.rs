//! What a graph is fed beside its cache. Knows no cache.

use alloquy_core::TokenId;
use ort::value::{DynValue, Tensor};

use crate::layout::{Layout, Positions};

/// Returns the inputs for `tokens` after `held` others, by name, asking for the logits of the last `rows` tokens.
pub(crate) fn feeds<'a>(
    layout: &'a Layout,
    tokens: &[TokenId],
    held: usize,
    rows: usize,
) -> ort::Result<Vec<(&'a str, DynValue)>> {
    let count = tokens.len();
    let ids: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
    let mut feeds = vec![(layout.input_ids.as_str(), Tensor::from_array(([1, count], ids))?.into_dyn())];
    if let Some(name) = &layout.attention_mask {
        let total = held + count;
        feeds.push((name, Tensor::from_array(([1, total], vec![1_i64; total]))?.into_dyn()));
    }
    if let Some(positions) = &layout.position_ids {
        feeds.push((&positions.name, position_ids(positions, held, count)?));
    }
    if let Some(name) = &layout.num_logits_to_keep {
        feeds.push((name, Tensor::from_array(((), vec![rows as i64]))?.into_dyn()));
    }
    if let Some(name) = &layout.use_cache_branch {
        feeds.push((name, Tensor::from_array(([1_usize], vec![held > 0]))?.into_dyn()));
    }
    Ok(feeds)
}

fn position_ids(positions: &Positions, held: usize, count: usize) -> ort::Result<DynValue> {
    let first = held + positions.first;
    let numbers = (first..first + count).map(|position| position as i64);
    let ids: Vec<i64> = std::iter::repeat_n(numbers, positions.axes).flatten().collect();
    let tensor = match positions.axes {
        1 => Tensor::from_array(([1, count], ids))?,
        axes => Tensor::from_array(([axes, 1, count], ids))?,
    };
    Ok(tensor.into_dyn())
}
