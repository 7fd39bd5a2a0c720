//! What a graph is fed beside its cache. Knows no cache.

use alloquy_core::TokenId;
use ort::value::{DynValue, Tensor};

use crate::layout::{Layout, Positions};

/// What one row of a run is fed: tokens behind those that its cache holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) tokens: &'a [TokenId],
    pub(crate) held: usize,
}

/// Returns the inputs for rows with as many tokens each, by name, asking for the logits of the last `keep` tokens.
pub(crate) fn feeds<'a>(
    layout: &'a Layout,
    rows: &[Row<'_>],
    keep: usize,
) -> ort::Result<Vec<(&'a str, DynValue)>> {
    let count = rows.first().map_or(0, |row| row.tokens.len());
    let ids: Vec<i64> = rows.iter().flat_map(|row| row.tokens).map(|&token| i64::from(token)).collect();
    let ids = Tensor::from_array(([rows.len(), count], ids))?;
    let mut feeds = vec![(layout.input_ids.as_str(), ids.into_dyn())];
    if let Some(name) = &layout.attention_mask {
        feeds.push((name, attention_mask(rows)?));
    }
    if let Some(positions) = &layout.position_ids {
        feeds.push((&positions.name, position_ids(positions, rows, count)?));
    }
    if let Some(name) = &layout.num_logits_to_keep {
        feeds.push((name, Tensor::from_array(((), vec![keep as i64]))?.into_dyn()));
    }
    if let Some(name) = &layout.use_cache_branch {
        let is_filled = rows.iter().any(|row| row.held > 0);
        feeds.push((name, Tensor::from_array(([1_usize], vec![is_filled]))?.into_dyn()));
    }
    Ok(feeds)
}

/// A one for each position that counts. Shorter rows end in zeros: the kernel takes a row's length from their sum.
fn attention_mask(rows: &[Row<'_>]) -> ort::Result<DynValue> {
    let length = |row: &Row<'_>| row.held + row.tokens.len();
    let longest = rows.iter().map(length).max().unwrap_or(0);
    let ones = |row| (0..longest).map(move |position| i64::from(position < length(row)));
    let mask: Vec<i64> = rows.iter().flat_map(ones).collect();
    Ok(Tensor::from_array(([rows.len(), longest], mask))?.into_dyn())
}

fn position_ids(positions: &Positions, rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let numbers = |row: &Row<'_>| {
        let first = row.held + positions.first;
        (first..first + count).map(|position| position as i64)
    };
    let axis = rows.iter().flat_map(numbers);
    let ids: Vec<i64> = std::iter::repeat_n(axis, positions.axes).flatten().collect();
    let tensor = match positions.axes {
        1 => Tensor::from_array(([rows.len(), count], ids))?,
        axes => Tensor::from_array(([axes, rows.len(), count], ids))?,
    };
    Ok(tensor.into_dyn())
}
