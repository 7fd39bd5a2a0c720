//! Places the states of a flow in layers for a drawing.

use std::collections::BTreeMap;

use crate::flow::{Flow, State};

/// The place of a state: its layer from the top, and its place in the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) layer: usize,
    pub(crate) column: usize,
}

/// Returns the place of each state, in the order of the states. A state is one layer below the nearest one that leads to it; states that
/// nothing leads to are below all others.
pub(crate) fn cells(flow: &Flow) -> Vec<Cell> {
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut layer = vec![flow.start.as_str()];
    let mut depth = 0;
    while !layer.is_empty() {
        let mut next = Vec::new();
        for name in layer {
            if layers.contains_key(name) || flow.find(name).is_none() {
                continue;
            }
            layers.insert(name, depth);
            next.extend(flow.find(name).into_iter().flat_map(targets));
        }
        layer = next;
        depth += 1;
    }
    let below = layers.values().max().map_or(0, |last| last + 1);
    let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
    let mut cells = Vec::new();
    for state in &flow.states {
        let layer = layers.get(state.name.as_str()).copied().unwrap_or(below);
        let width = widths.entry(layer).or_insert(0);
        cells.push(Cell { layer, column: *width });
        *width += 1;
    }
    cells
}

/// Returns the states that a state leads to.
pub(crate) fn targets(state: &State) -> impl Iterator<Item = &str> {
    state.transitions.iter().map(|transition| transition.to.as_str()).chain(state.action.late())
}
