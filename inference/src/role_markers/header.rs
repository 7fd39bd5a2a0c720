//! Finds the part of the text between two messages that names the speaker.

use std::collections::BTreeSet;

use alloquy_core::model_info::ModelInfo;

use super::marker::Marker;
use super::probes::{Seam, Speaker};
use super::units::{Cutter, Unit};

/// Returns the markers that the seams of a template show.
///
/// The text between two messages ends the first and begins the second. The text after the last message of a conversation ends
/// a message. The text that begins a message is the rest, or the common end of several texts before the same speaker:
///
/// ```text
/// USER: Zqalphazq</s>                                  `</s>` ends a message
/// USER: Zqalphazq</s>ASSISTANT: Zqbravozq</s>          between the two: `</s>ASSISTANT:`, so `ASSISTANT:` begins one
/// ```
pub(super) fn markers(seams: &[Seam], model: &ModelInfo) -> Vec<Marker> {
    let cutter = Cutter::new(model);
    let cut: Vec<_> = seams.iter().map(|seam| (seam, cutter.units(opened(seam, seams, model)))).collect();
    let mut found = Vec::new();
    for (seam, units) in &cut {
        let text = opened(seam, seams, model);
        let is_first = seam.from.is_none();
        let begins = beginnings(seam, units, &cut).into_iter();
        let mut markers: Vec<_> =
            begins.filter_map(|begins| Marker::new(text, begins, is_first, &cutter)).collect();
        // The generation prompt may be more than a header, such as `ASSISTANT: <think>`. It counts if no other text does.
        if markers.is_empty() {
            markers.extend(Marker::new(text, 0, is_first, &cutter));
        }
        for marker in markers {
            match found.iter_mut().find(|known: &&mut Marker| known.is_like(&marker)) {
                Some(known) => known.loosen(&marker),
                None => found.push(marker),
            }
        }
    }
    let shortest = found.iter().filter(|marker| !found.iter().any(|other| marker.ends_with(other)));
    shortest.cloned().collect()
}

/// A seam with its units.
type Cut<'t> = (&'t Seam, Vec<Unit<'t>>);

/// Returns where in the text of a seam a marker may begin.
fn beginnings(seam: &Seam, units: &[Unit<'_>], cut: &[Cut<'_>]) -> BTreeSet<usize> {
    let length: usize = units.iter().map(|unit| unit.text.len()).sum();
    let mut beginnings = BTreeSet::new();
    let Some(to) = seam.to else {
        return BTreeSet::from([0]);
    };
    for ending in endings(seam.from, cut) {
        if seam.text.starts_with(ending) {
            beginnings.insert(ending.len());
        }
    }
    for (other, others) in cut {
        if other.to == Some(to) && *other != seam {
            beginnings.extend(shared_end(units, others).map(|shared| length - shared));
        }
    }
    beginnings
}

/// Returns the texts that end a message of this speaker.
fn endings<'s>(speaker: Option<Speaker>, cut: &'s [Cut<'s>]) -> impl Iterator<Item = &'s str> {
    let last =
        cut.iter().map(|(seam, _)| *seam).filter(move |seam| seam.from == speaker && seam.to.is_none());
    last.filter(move |_| speaker.is_some()).map(|seam| seam.text.as_str())
}

/// Returns the text of a seam without the BOS at the start of a prompt. The BOS is a part of the header only if every message
/// begins with it.
fn opened<'t>(seam: &'t Seam, seams: &[Seam], model: &ModelInfo) -> &'t str {
    let bos = model.bos.as_ref().map(|bos| bos.text.as_str()).filter(|bos| !bos.is_empty());
    let Some(bos) = bos.filter(|_| seam.from.is_none()) else { return &seam.text };
    let is_header = seams.iter().any(|seam| seam.from.is_some() && seam.text.contains(bos));
    seam.text.strip_prefix(bos).filter(|_| !is_header).unwrap_or(&seam.text)
}

/// Returns the length of the common end of two texts, without cutting a token or a word; `None` if it is white space.
fn shared_end(own: &[Unit<'_>], others: &[Unit<'_>]) -> Option<usize> {
    let pairs = own.iter().rev().zip(others.iter().rev());
    let shared = pairs.take_while(|(one, two)| same(one, two)).count();
    let mut start = own.len() - shared;
    let before = start.checked_sub(1).and_then(|before| own.get(before));
    if before.is_some_and(Unit::is_word) {
        start += own.iter().skip(start).take_while(|unit| unit.is_word()).count();
    }
    let kept = own.get(start..)?;
    let is_said = kept.iter().any(|unit| !unit.is_white());
    is_said.then(|| kept.iter().map(|unit| unit.text.len()).sum())
}

/// Returns whether two units are the same, or both are digits.
fn same(one: &Unit<'_>, two: &Unit<'_>) -> bool {
    one == two || (one.is_digit() && two.is_digit())
}
