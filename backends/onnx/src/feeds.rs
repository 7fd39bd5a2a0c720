//! Makes the inputs of a decoder other than its cache.

use ort::value::{DynValue, Tensor};

use crate::decoder::Decoder;
use crate::layout::{Layout, Positions, TokenInput};
use crate::row::Row;

/// Returns the inputs for rows of the same number of tokens, by name. The graph is to compute the logits of the last `keep` tokens.
pub(crate) fn feeds<'a>(
    decoder: &'a Decoder,
    rows: &[Row<'_>],
    keep: usize,
) -> ort::Result<Vec<(&'a str, DynValue)>> {
    let layout = &decoder.layout;
    let count = rows.first().map_or(0, |row| row.tokens.len());
    let mut feeds = match (&layout.token_input, &decoder.embedder) {
        (TokenInput::Embeddings(_), Some(embedder)) => embedder.feeds(layout, &decoder.time, rows, count)?,
        (token_input, _) => vec![(token_input.name(), token_ids(rows, count)?)],
    };
    if let Some(name) = &layout.attention_mask {
        feeds.push((name, attention_mask(rows)?));
    }
    if let Some(positions) = &layout.position_ids {
        feeds.push((&positions.name, position_ids(positions, rows, count)?));
    }
    feeds.extend(rare_inputs(layout, rows, count, keep)?);
    Ok(feeds)
}

/// Returns the inputs that few graphs have.
fn rare_inputs<'a>(
    layout: &'a Layout,
    rows: &[Row<'_>],
    count: usize,
    keep: usize,
) -> ort::Result<Vec<(&'a str, DynValue)>> {
    let mut feeds = Vec::new();
    if let Some(name) = &layout.token_type_ids {
        feeds.push((name.as_str(), token_type_ids(rows, count)?));
    }
    if let Some(name) = &layout.num_logits_to_keep {
        feeds.push((name, Tensor::from_array(((), vec![keep as i64]))?.into_dyn()));
    }
    if let Some(name) = &layout.use_cache_branch {
        let is_filled = rows.iter().any(|row| row.cached > 0);
        feeds.push((name, Tensor::from_array(([1_usize], vec![is_filled]))?.into_dyn()));
    }
    Ok(feeds)
}

fn token_ids(rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let ids: Vec<i64> = rows.iter().flat_map(|row| row.tokens).map(|&token| i64::from(token)).collect();
    Ok(Tensor::from_array(([rows.len(), count], ids))?.into_dyn())
}

/// Returns a one for each position that counts. Shorter rows end in zeros: the kernel computes the length of a row from the
/// sum. Rows of 2 and 3 positions give `[[1, 1, 0], [1, 1, 1]]`.
fn attention_mask(rows: &[Row<'_>]) -> ort::Result<DynValue> {
    let longest = rows.iter().map(Row::end).max().unwrap_or(0);
    let mut mask: Vec<i64> = Vec::with_capacity(rows.len() * longest);
    for row in rows {
        mask.extend((0..longest).map(|position| i64::from(position < row.end())));
    }
    Ok(Tensor::from_array(([rows.len(), longest], mask))?.into_dyn())
}

fn position_ids(positions: &Positions, rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let first = positions.first as i64;
    let mut ids = Vec::with_capacity(positions.axes * rows.len() * count);
    for axis in 0..positions.axes {
        for row in rows {
            ids.extend((0..count).map(|index| row.number(axis, index) + first));
        }
    }
    let tensor = match positions.axes {
        1 => Tensor::from_array(([rows.len(), count], ids))?,
        axes => Tensor::from_array(([axes, rows.len(), count], ids))?,
    };
    Ok(tensor.into_dyn())
}

/// Returns a one for each position of media: attention goes both ways among these.
fn token_type_ids(rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let mut types: Vec<i64> = Vec::with_capacity(rows.len() * count);
    for row in rows {
        for index in 0..count {
            let is_media = row.media.is_some_and(|media| media.feature(index).is_some());
            types.push(i64::from(is_media));
        }
    }
    Ok(Tensor::from_array(([rows.len(), count], types))?.into_dyn())
}
