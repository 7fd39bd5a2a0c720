//! Places the states of a flow in layers for a drawing.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::{Flow, State};

/// The place of a state: its layer from the top, and its place in the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) layer: usize,
    pub(crate) column: usize,
}

/// Returns the place of each state, in the order of the states. A state is below all that lead to it, but for ways back; states that
/// nothing leads to are below all others.
pub(crate) fn cells(flow: &Flow) -> Vec<Cell> {
    let mut order = Vec::new();
    descend(flow, &flow.start, &mut BTreeSet::new(), &mut order);
    // Each state comes after those that lead to it, so one pass finds the longest way to each. A way back leads to one before.
    order.reverse();
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in order.iter().enumerate() {
        let layer = *layers.entry(name).or_insert(0);
        for to in flow.find(name).into_iter().flat_map(targets) {
            if order.iter().skip(index + 1).any(|after| *after == to) {
                let below = layers.entry(to).or_insert(0);
                *below = (*below).max(layer + 1);
            }
        }
    }
    let last = layers.values().max().map_or(0, |last| last + 1);
    let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
    let mut cells = Vec::new();
    for state in &flow.states {
        let layer = layers.get(state.name.as_str()).copied().unwrap_or(last);
        let width = widths.entry(layer).or_insert(0);
        cells.push(Cell { layer, column: *width });
        *width += 1;
    }
    cells
}

/// Lists a state after all that it leads to. The stack is a list, so that a long flow is no deep recursion.
fn descend<'a>(flow: &'a Flow, start: &'a str, seen: &mut BTreeSet<&'a str>, order: &mut Vec<&'a str>) {
    let mut stack = vec![(start, false)];
    while let Some((name, is_done)) = stack.pop() {
        if is_done {
            order.push(name);
            continue;
        }
        let Some(state) = flow.find(name).filter(|_| seen.insert(name)) else { continue };
        stack.push((name, true));
        for to in targets(state) {
            stack.push((to, false));
        }
    }
}

/// Returns the states that a state leads to.
pub(crate) fn targets(state: &State) -> impl Iterator<Item = &str> {
    state.transitions.iter().map(|transition| transition.to.as_str()).chain(state.action.late())
}
