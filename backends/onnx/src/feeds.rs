//! What a decoder is fed beside its cache. Knows no cache.

use ort::value::{DynValue, Tensor};

use crate::decoder::Decoder;
use crate::layout::{Layout, Positions, Words};
use crate::row::Row;

/// Returns the inputs for rows with as many tokens each, by name, asking for the logits of the last `keep` tokens.
pub(crate) fn feeds<'a>(
    decoder: &'a Decoder,
    rows: &[Row<'_>],
    keep: usize,
) -> ort::Result<Vec<(&'a str, DynValue)>> {
    let layout = &decoder.layout;
    let count = rows.first().map_or(0, |row| row.tokens.len());
    let mut feeds = match (&layout.words, &decoder.embedder) {
        (Words::Embeddings(_), Some(embedder)) => embedder.feeds(layout, &decoder.time, rows, count)?,
        (words, _) => vec![(words.name(), token_ids(rows, count)?)],
    };
    if let Some(name) = &layout.attention_mask {
        feeds.push((name, attention_mask(rows)?));
    }
    if let Some(positions) = &layout.position_ids {
        feeds.push((&positions.name, position_ids(positions, rows, count)?));
    }
    feeds.extend(rarities(layout, rows, count, keep)?);
    Ok(feeds)
}

/// Returns the inputs that few graphs have.
fn rarities<'a>(
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
        let is_filled = rows.iter().any(|row| row.held > 0);
        feeds.push((name, Tensor::from_array(([1_usize], vec![is_filled]))?.into_dyn()));
    }
    Ok(feeds)
}

fn token_ids(rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let ids: Vec<i64> = rows.iter().flat_map(|row| row.tokens).map(|&token| i64::from(token)).collect();
    Ok(Tensor::from_array(([rows.len(), count], ids))?.into_dyn())
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

/// A one for each position of media, among which attention goes both ways.
fn token_type_ids(rows: &[Row<'_>], count: usize) -> ort::Result<DynValue> {
    let is_media = |row: &Row<'_>, index| row.media.is_some_and(|media| media.feature(index).is_some());
    let types = rows.iter().flat_map(|row| (0..count).map(move |index| i64::from(is_media(row, index))));
    Ok(Tensor::from_array(([rows.len(), count], types.collect::<Vec<i64>>()))?.into_dyn())
}
