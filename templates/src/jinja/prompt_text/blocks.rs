//! Follows the tags of a text: what they bind, and which text they capture.

use std::collections::BTreeSet;

use super::super::tokens::{Kind, Token};
use super::flow::{Node, Tracer};
use super::names::{self, depth_after, has_call, is, is_variable, split};

/// How deep blocks may nest.
pub(super) const DEPTH: usize = 100;

/// The parts of a text that are known while it is read from its start to its end.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    pub(super) tracer: Tracer<'a>,
    open: Vec<Block<'a>>,
    /// What is passed to any call: the parameters of macros.
    passed: Node,
    /// The text inside any `{% call %}`.
    caller: Node,
    /// The text inside any `{% block %}`.
    blocks: Node,
    /// Whether a macro or a block came before, which may read what is assigned later.
    is_late: bool,
}

/// A block that is open.
#[derive(Debug)]
struct Block<'a> {
    name: &'a str,
    has_scope: bool,
    /// What its text becomes a part of, if that is not only the prompt.
    capture: Option<Node>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new() -> Self {
        let mut tracer = Tracer::new();
        let passed = tracer.node();
        let caller = tracer.node();
        let blocks = tracer.node();
        Self { tracer, open: Vec::new(), passed, caller, blocks, is_late: false }
    }

    /// Returns whether there is no room for another block.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() > DEPTH
    }

    /// Reads an expression. Returns the nodes that its result may contain, in order.
    pub(super) fn read(&mut self, tokens: &[Token<'a>]) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut known = BTreeSet::new();
        for read in names::read(tokens) {
            let node = self.node_of(read.name);
            if read.flows && known.insert(node) {
                nodes.push(node);
            }
        }
        if has_call(tokens) {
            self.join(&nodes, self.passed);
        }
        nodes
    }

    /// Returns the nodes of names.
    pub(super) fn nodes(&mut self, names: &[&'a str]) -> Vec<Node> {
        names.iter().map(|name| self.node_of(name)).collect()
    }

    fn node_of(&mut self, name: &'a str) -> Node {
        if name == "self" { self.blocks } else { self.tracer.resolve(name).0 }
    }

    /// Reads what is printed here. Returns the nodes that it may contain.
    pub(super) fn print(&mut self, tokens: &[Token<'a>]) -> Vec<Node> {
        let nodes = self.read(tokens);
        if let Some(capture) = self.capture() {
            self.join(&nodes, capture);
        }
        nodes
    }

    fn join(&mut self, from: &[Node], to: Node) {
        for node in from {
            self.tracer.edge(*node, to);
        }
    }

    /// Returns the node that the text of this place becomes a part of.
    fn capture(&self) -> Option<Node> {
        self.open.iter().rev().find_map(|block| block.capture)
    }

    fn push(&mut self, name: &'a str, has_scope: bool, capture: Option<Node>) {
        if has_scope {
            self.tracer.open_scope();
        }
        // What is captured here may be printed into the text around it.
        if let (Some(own), Some(outer)) = (capture, self.capture()) {
            self.tracer.edge(own, outer);
        }
        self.open.push(Block { name, has_scope, capture });
    }

    /// Reads a tag; `tokens` are those after its name. Returns the node of a filter block's text.
    pub(super) fn tag(&mut self, name: &'a str, tokens: &[Token<'a>]) -> Option<Node> {
        match name {
            "for" => self.for_loop(tokens),
            "set" => self.set(tokens),
            "with" => self.with(tokens),
            "macro" => self.macro_block(tokens),
            "call" => self.call(tokens),
            "filter" => return Some(self.filter(tokens)),
            "block" => {
                self.is_late = true;
                self.push(name, true, Some(self.blocks));
            }
            "if" | "autoescape" | "generation" => {
                self.read(tokens);
                self.push(name, false, None);
            }
            "else" => self.otherwise(),
            _ if name.starts_with("end") => self.close(name),
            _ => {
                self.read(tokens);
            }
        }
        None
    }

    /// The second part of a loop does not see what the loop binds.
    fn otherwise(&mut self) {
        if self.open.last().is_some_and(|block| block.name == "for") {
            self.tracer.close_scope();
            self.tracer.open_scope();
        }
    }

    fn close(&mut self, name: &str) {
        let opened = name.strip_prefix("end").unwrap_or_default();
        if let Some(block) = self.open.pop_if(|block| block.name == opened)
            && block.has_scope
        {
            self.tracer.close_scope();
        }
    }

    fn for_loop(&mut self, tokens: &[Token<'a>]) {
        let middle = tokens.iter().position(|token| is(token, "in")).unwrap_or(tokens.len());
        let (targets, rest) = tokens.split_at_checked(middle).unwrap_or((tokens, &[]));
        let rest = rest.get(1..).unwrap_or_default();
        let mut depth = 0;
        let end = rest.iter().position(|token| {
            depth = depth_after(depth, token);
            depth == 0 && (is(token, "if") || is(token, "recursive"))
        });
        let (iterable, condition) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
        let from = self.read(iterable);
        let is_recursive = condition.last().is_some_and(|last| is(last, "recursive"));
        let all = self.tracer.node();
        self.join(&from, all);
        self.push("for", true, is_recursive.then_some(all));
        for target in targets.iter().filter(|token| is_variable(token)) {
            let node = self.tracer.bind(target.text);
            self.tracer.edge(all, node);
        }
        let own = self.tracer.bind("loop");
        self.tracer.edge(all, own);
        if is_recursive {
            // The function `loop` may be called with anything.
            self.tracer.edge(self.passed, all);
        }
        let condition = condition.iter().filter(|token| !is(token, "if") && !is(token, "recursive"));
        let condition: Vec<_> = condition.copied().collect();
        self.read(&condition);
    }

    fn set(&mut self, tokens: &[Token<'a>]) {
        let parts = split(tokens, "=");
        let Some((targets, values)) = parts.split_first() else { return };
        if values.is_empty() {
            let parts = split(targets, "|");
            let filters = parts.get(1..).unwrap_or_default().concat();
            let from = self.read(&filters);
            let capture = self.tracer.node();
            self.join(&from, capture);
            self.assign(parts.first().copied().unwrap_or_default(), &[capture]);
            self.push("set", false, Some(capture));
        } else {
            let from = self.read(&values.concat());
            self.assign(targets, &from);
        }
    }

    /// Assigns to names, and to fields of namespaces.
    fn assign(&mut self, targets: &[Token<'a>], from: &[Node]) {
        let mut is_field = false;
        for (index, target) in targets.iter().enumerate() {
            let owns_field = targets.get(index + 1).is_some_and(|next| is(next, "."));
            if is_variable(target) && !is_field {
                let node = if owns_field { self.node_of(target.text) } else { self.assigned(target.text) };
                self.join(from, node);
            }
            is_field = is(target, ".");
        }
    }

    /// Returns the node of a name that is assigned. Its earlier value may stay, for example if the assignment is in an `if`.
    fn assigned(&mut self, name: &'a str) -> Node {
        if self.tracer.is_bound_here(name) {
            return self.tracer.resolve(name).0;
        }
        let earlier = self.tracer.resolve(name).0;
        let node = self.tracer.bind(name);
        self.tracer.edge(earlier, node);
        if self.is_late {
            let variable = self.tracer.variable(name);
            self.tracer.edge(node, variable);
        }
        node
    }

    fn with(&mut self, tokens: &[Token<'a>]) {
        self.push("with", true, None);
        for part in split(tokens, ",") {
            if let [target, equals, value @ ..] = part
                && is(equals, "=")
            {
                let from = self.read(value);
                let node = self.tracer.bind(target.text);
                self.join(&from, node);
            }
        }
    }

    fn macro_block(&mut self, tokens: &[Token<'a>]) {
        let Some((name, parameters)) = tokens.split_first() else { return };
        self.is_late = true;
        let text = self.tracer.bind(name.text);
        self.push("macro", true, Some(text));
        self.parameters(parameters);
        for name in ["varargs", "kwargs"] {
            let node = self.tracer.bind(name);
            self.tracer.edge(self.passed, node);
        }
        let caller = self.tracer.bind("caller");
        self.tracer.edge(self.caller, caller);
    }

    /// Binds the parameters in brackets.
    fn parameters(&mut self, tokens: &[Token<'a>]) {
        let inner = tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or_default();
        for parameter in split(inner, ",") {
            let Some((name, default)) = parameter.split_first() else { continue };
            let mut from = self.read(default);
            from.push(self.passed);
            if name.kind == Kind::Name {
                let node = self.tracer.bind(name.text);
                self.join(&from, node);
            }
        }
    }

    fn call(&mut self, tokens: &[Token<'a>]) {
        let mut depth = 0;
        let end = tokens.iter().position(|token| {
            depth = depth_after(depth, token);
            depth == 0
        });
        let has_parameters = tokens.first().is_some_and(|first| is(first, "("));
        let head = if has_parameters { end.map_or(0, |end| end + 1) } else { 0 };
        let (parameters, called) = tokens.split_at_checked(head).unwrap_or((&[], tokens));
        let from = self.print(called);
        self.join(&from, self.passed);
        self.push("call", true, Some(self.caller));
        self.parameters(parameters);
    }

    fn filter(&mut self, tokens: &[Token<'a>]) -> Node {
        // The first name is that of a filter, as if a value and a `|` preceded it.
        let from = self.read(tokens.get(1..).unwrap_or_default());
        let text = self.tracer.node();
        self.join(&from, text);
        self.push("filter", false, Some(text));
        text
    }
}
