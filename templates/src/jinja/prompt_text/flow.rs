//! Where values may go in a text: from variables through loops, assignments and macros to what is printed.
//!
//! Each variable, and each name that the text itself binds, is a node. An edge says that the text of one may become a part
//! of the other: `{% for word in words %}` adds an edge from `words` to `word`. Names are resolved by scope. The order of
//! assignments does not matter, so a name may have more edges than a render follows, never fewer.

use std::collections::BTreeMap;

/// A variable, or a name that the text binds.
pub(super) type Node = usize;

/// The edges between nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// The nodes that each node may become a part of.
    edges: Vec<Vec<Node>>,
    /// The variables, in the order of the text.
    variables: Vec<(String, Node)>,
}

impl Flow {
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, Node)> {
        self.variables.iter().map(|(name, node)| (name.as_str(), *node))
    }

    /// Marks each node with the first of the sources that may reach it. A variable without a value has no source.
    pub(super) fn reached(&self, source_of: impl Fn(&str) -> Option<usize>) -> Vec<Option<usize>> {
        let mut reached = vec![None; self.edges.len()];
        let mut open = Vec::new();
        // Its own source first: the value of a variable is its own, whatever else may flow to its name.
        for (name, node) in self.variables() {
            let source = source_of(name);
            if let Some(own) = reached.get_mut(node).filter(|_| source.is_some()) {
                *own = source;
                open.push(node);
            }
        }
        open.reverse();
        while let Some(node) = open.pop() {
            let source = reached.get(node).copied().flatten();
            for &next in self.edges.get(node).into_iter().flatten() {
                if let Some(unmarked @ None) = reached.get_mut(next) {
                    *unmarked = source;
                    open.push(next);
                }
            }
        }
        reached
    }
}

/// Names that are bound in the same place of a text.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: BTreeMap<&'a str, Node>,
}

/// Follows the scopes of a text and collects the edges.
#[derive(Debug)]
pub(super) struct Tracer<'a> {
    flow: Flow,
    known: BTreeMap<&'a str, Node>,
    scopes: Vec<Scope<'a>>,
}

impl<'a> Tracer<'a> {
    pub(super) fn new() -> Self {
        Self { flow: Flow::default(), known: BTreeMap::new(), scopes: vec![Scope::default()] }
    }

    /// Adds a node without a name.
    pub(super) fn node(&mut self) -> Node {
        self.flow.edges.push(Vec::new());
        self.flow.edges.len() - 1
    }

    pub(super) fn edge(&mut self, from: Node, to: Node) {
        if let Some(edges) = self.flow.edges.get_mut(from) {
            edges.push(to);
        }
    }

    /// Returns the node of a name, and whether the text binds it.
    pub(super) fn resolve(&mut self, name: &'a str) -> (Node, bool) {
        let bound = self.scopes.iter().rev().find_map(|scope| scope.names.get(name));
        match bound {
            Some(node) => (*node, true),
            None => (self.variable(name), false),
        }
    }

    /// Returns the node of a variable.
    pub(super) fn variable(&mut self, name: &'a str) -> Node {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let node = self.node();
        self.known.insert(name, node);
        self.flow.variables.push((name.to_owned(), node));
        node
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: &'a str) -> Node {
        let node = self.node();
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, node);
        }
        node
    }

    /// Returns whether the innermost scope binds a name.
    pub(super) fn is_bound_here(&self, name: &str) -> bool {
        self.scopes.last().is_some_and(|scope| scope.names.contains_key(name))
    }

    pub(super) fn open_scope(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn close_scope(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    pub(super) fn finish(self) -> Flow {
        self.flow
    }
}
