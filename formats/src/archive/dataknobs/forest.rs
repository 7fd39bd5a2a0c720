//! Builds the tree of a state from its nodes and edges, in whatever order these are listed. Knows ids; not messages.

use std::collections::{HashMap, HashSet};

use alloquy_core::Result;
use serde_json::{Map, Value};

use super::ids::{below, invalid};
use super::notes::NOTE;
use crate::archive::Repair;

/// The nodes of a state as a tree.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// The nodes, in the order of the document.
    pub(super) nodes: Vec<Map<String, Value>>,
    /// The nodes with a way to the root, parents before children, siblings in order.
    pub(super) order: Vec<usize>,
    /// The parent of each.
    pub(super) parents: Vec<Option<usize>>,
    /// The place of each node among its siblings.
    pub(super) places: Vec<usize>,
    /// The node of each id.
    by_id: HashMap<String, usize>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

impl Forest {
    /// Reads lists of nodes and edges.
    pub(super) fn read(nodes: Value, edges: Option<Value>, repairs: &mut Vec<Repair>) -> Result<Self> {
        let Value::Array(nodes) = nodes else {
            return Err(invalid("nodes is not a list"));
        };
        let nodes: Vec<_> = nodes.into_iter().enumerate().map(fields).collect::<Result<_>>()?;
        let count = nodes.len();
        let mut forest = Self {
            nodes,
            parents: vec![None; count],
            places: vec![0; count],
            children: vec![Vec::new(); count],
            ..Self::default()
        };
        if count == 0 {
            repairs.push(Repair::NoNodes);
        }
        let twins = forest.index(repairs);
        match edges {
            Some(Value::Array(edges)) => forest.connect(&edges, repairs)?,
            None | Some(Value::Null) => forest.connect_by_ids(),
            Some(_) => return Err(invalid("edges is not a list")),
        }
        forest.join(&twins);
        forest.sort();
        forest.walk(repairs);
        Ok(forest)
    }

    /// The id of a node in the document.
    pub(super) fn id(&self, node: usize) -> &str {
        self.nodes.get(node).and_then(|fields| fields.get("node_id")?.as_str()).unwrap_or_default()
    }

    /// Indexes the nodes by id, and returns the earlier nodes of ids that occur again.
    fn index(&mut self, repairs: &mut Vec<Repair>) -> Vec<usize> {
        let mut earlier = Vec::new();
        for node in 0..self.nodes.len() {
            let id = self.id(node).to_owned();
            if let Some(twin) = self.by_id.insert(id.clone(), node) {
                earlier.push(twin);
                repairs.push(Repair::Duplicate(id));
            }
        }
        earlier
    }

    fn connect(&mut self, edges: &[Value], repairs: &mut Vec<Repair>) -> Result<()> {
        let root = self.root_of(edges);
        for edge in edges {
            let (from, to) = ends(edge)?;
            let (Some(&parent), Some(&child)) = (self.by_id.get(from), self.by_id.get(to)) else {
                repairs.push(Repair::LooseEdge(from.to_owned(), to.to_owned()));
                continue;
            };
            match self.parents.get(child) {
                Some(None) if Some(child) != root => self.attach(child, parent),
                _ => repairs.push(Repair::SecondParent(from.to_owned(), to.to_owned())),
            }
        }
        self.roots.extend(root);
        Ok(())
    }

    /// Returns the node with an empty id, else the first one to which no edge leads, else the first one.
    fn root_of(&self, edges: &[Value]) -> Option<usize> {
        if let Some(&root) = self.by_id.get("") {
            return Some(root);
        }
        let led_to: HashSet<_> = edges.iter().filter_map(|edge| edge.get(1)?.as_str()).collect();
        for node in 0..self.nodes.len() {
            if !led_to.contains(self.id(node)) {
                return Some(node);
            }
        }
        if self.nodes.is_empty() { None } else { Some(0) }
    }

    /// Connects a list without edges, as dataknobs exports it: the parent of `0.2.1` is `0.2`.
    fn connect_by_ids(&mut self) {
        for node in 0..self.nodes.len() {
            let id = self.id(node);
            let above = id.rsplit_once('.').map_or("", |(above, _)| above);
            match self.by_id.get(above) {
                Some(&parent) if !id.is_empty() => self.attach(node, parent),
                _ if id.is_empty() => self.roots.push(node),
                _ => {}
            }
        }
    }

    fn attach(&mut self, child: usize, parent: usize) {
        if let (Some(place), Some(siblings)) = (self.parents.get_mut(child), self.children.get_mut(parent)) {
            *place = Some(parent);
            siblings.push(child);
        }
    }

    /// Puts the earlier of two nodes with one id beside the later one.
    fn join(&mut self, twins: &[usize]) {
        for &twin in twins {
            let later = self.by_id.get(self.id(twin)).copied();
            match later.and_then(|later| self.parents.get(later).copied()) {
                Some(Some(parent)) => self.attach(twin, parent),
                _ => self.roots.push(twin),
            }
        }
    }

    /// Orders siblings by their numbers, where all have one; otherwise the edges decide. An earlier twin is before a later.
    fn sort(&mut self) {
        let mut lists = std::mem::take(&mut self.children);
        lists.push(std::mem::take(&mut self.roots));
        for siblings in &mut lists {
            let numbers: Option<Vec<_>> =
                siblings.iter().map(|&node| Some((self.number(node)?, node))).collect();
            if let Some(mut numbers) = numbers {
                numbers.sort_unstable();
                *siblings = numbers.into_iter().map(|(_, node)| node).collect();
            }
        }
        self.roots = lists.pop().unwrap_or_default();
        self.children = lists;
    }

    /// Returns the number of a node among its siblings, as its id says it: 1 of `0.2.1`.
    fn number(&self, node: usize) -> Option<u64> {
        self.id(node).rsplit('.').next()?.parse().ok()
    }

    /// Visits the nodes from the roots down, level by level, and sets their order and their places.
    fn walk(&mut self, repairs: &mut Vec<Repair>) {
        let mut renumbered = Vec::new();
        let mut order = self.roots.clone();
        for (place, &root) in self.roots.iter().enumerate() {
            if let Some(found) = self.places.get_mut(root) {
                *found = place;
            }
            if !self.id(root).is_empty() {
                renumbered.push(self.id(root).to_owned());
            }
        }
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for (place, &child) in self.children.get(node).into_iter().flatten().enumerate() {
                if let Some(found) = self.places.get_mut(child) {
                    *found = place;
                }
                let id = self.id(child);
                if id != below(self.id(node), place) {
                    renumbered.push(id.to_owned());
                }
                order.push(child);
            }
        }
        let orphans: Vec<_> = self.unreached(&order).map(|node| self.id(node).to_owned()).collect();
        if !renumbered.is_empty() {
            repairs.push(Repair::Renumbered(renumbered));
        }
        if !orphans.is_empty() {
            repairs.push(Repair::Orphans(orphans));
        }
        self.order = order;
    }

    fn unreached(&self, order: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let reached: HashSet<_> = order.iter().copied().collect();
        (0..self.nodes.len()).filter(move |node| !reached.contains(node))
    }

    /// Returns whether a way leads to a node.
    pub(super) fn is_reached(&self, node: usize) -> bool {
        self.order.contains(&node)
    }

    /// The nodes without a way to the root.
    pub(super) fn orphans(&self) -> Vec<Value> {
        self.unreached(&self.order)
            .filter_map(|node| self.nodes.get(node).cloned().map(Value::Object))
            .collect()
    }

    /// The children of a node, in order.
    pub(super) fn children(&self, node: usize) -> &[usize] {
        self.children.get(node).map_or(&[], Vec::as_slice)
    }

    /// The nodes without a parent, in order.
    pub(super) fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Returns the node of an id: by name, or by positions as Python reads them: ` 0` and `+0` are 0, and -1 is the last.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        if let Some(&node) = self.by_id.get(id) {
            return Some(node);
        }
        let mut node = *self.roots.first()?;
        for number in id.split('.') {
            let children = self.children(node);
            let number: i64 = number.trim().parse().ok()?;
            let place = if number < 0 { number + i64::try_from(children.len()).ok()? } else { number };
            node = *children.get(usize::try_from(place).ok()?)?;
        }
        Some(node)
    }

    /// Returns the nodes from the root down that are noted as messages of the preface.
    pub(super) fn lifted(&self) -> Vec<usize> {
        let mut lifted = Vec::new();
        let mut level = self.roots();
        while let [node] = level {
            if self.preface_note(*node).is_none() {
                break;
            }
            lifted.push(*node);
            level = self.children(*node);
        }
        lifted
    }

    fn preface_note(&self, node: usize) -> Option<&Value> {
        self.nodes.get(node)?.get("metadata")?.get(NOTE)?.get("preface")
    }

    /// Returns whether a node is an empty message that was written because a state needs a root.
    pub(super) fn is_placeholder(&self, node: usize) -> bool {
        self.preface_note(node).is_some_and(|note| *note == Value::Bool(false))
    }
}

fn fields((index, node): (usize, Value)) -> Result<Map<String, Value>> {
    let Value::Object(fields) = node else {
        return Err(invalid(format!("nodes[{index}] is not an object")));
    };
    match fields.get("node_id") {
        Some(Value::String(_)) => Ok(fields),
        _ => Err(invalid(format!("nodes[{index}].node_id is not a string"))),
    }
}

fn ends(edge: &Value) -> Result<(&str, &str)> {
    let ends = edge.as_array().map(Vec::as_slice);
    match ends {
        Some([Value::String(from), Value::String(to)]) => Ok((from, to)),
        _ => Err(invalid(format!("the edge {edge} is no pair of ids"))),
    }
}
