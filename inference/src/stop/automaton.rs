//! Finds the first of several patterns in a stream of symbols (Aho and Corasick 1975). Symbols are bytes or tokens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The states of a search, shared by the streams that are searched.
#[derive(Clone, Debug)]
pub(crate) struct Automaton<S> {
    /// The first state has read nothing that begins a pattern.
    states: Vec<State<S>>,
}

/// A state: the longest beginning of a pattern that ends what was read.
#[derive(Clone, Debug)]
struct State<S> {
    next: BTreeMap<S, usize>,
    /// The state of the longest proper end of what was read.
    shorter: usize,
    /// How many symbols were read.
    depth: usize,
    /// The longest pattern that ends here, with its length.
    found: Option<(usize, usize)>,
}

impl<S> State<S> {
    fn new(depth: usize) -> Self {
        Self { next: BTreeMap::new(), shorter: 0, depth, found: None }
    }
}

impl<S: Copy + Ord> Automaton<S> {
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a [S]>) -> Self
    where
        S: 'a,
    {
        let mut automaton = Self { states: vec![State::new(0)] };
        for (index, pattern) in patterns.into_iter().enumerate() {
            automaton.add(index, pattern);
        }
        automaton.connect();
        automaton
    }

    fn add(&mut self, index: usize, pattern: &[S]) {
        let mut state = 0;
        for (depth, &symbol) in (1..).zip(pattern) {
            let new = self.states.len();
            let Some(here) = self.states.get_mut(state) else { return };
            state = *here.next.entry(symbol).or_insert(new);
            if state == new {
                self.states.push(State::new(depth));
            }
        }
        if let Some(last) = self.states.get_mut(state).filter(|last| last.depth > 0) {
            last.found.get_or_insert((index, pattern.len()));
        }
    }

    /// Finds each state's shorter one, those of fewer symbols first.
    fn connect(&mut self) {
        let mut waiting = VecDeque::from([0]);
        while let Some(index) = waiting.pop_front() {
            let Some(state) = self.states.get(index) else { return };
            let shorter = state.shorter;
            let next = state.next.clone();
            for (symbol, below) in next {
                let shorter = if index == 0 { 0 } else { self.step(shorter, symbol) };
                let found = self.states.get(shorter).and_then(|state| state.found);
                if let Some(below) = self.states.get_mut(below) {
                    below.shorter = shorter;
                    below.found = below.found.or(found);
                }
                waiting.push_back(below);
            }
        }
    }

    /// Returns the state after a symbol.
    pub(crate) fn step(&self, from: usize, symbol: S) -> usize {
        let mut index = from;
        while let Some(state) = self.states.get(index) {
            match state.next.get(&symbol) {
                Some(&next) => return next,
                None if index == 0 => return 0,
                None => index = state.shorter,
            }
        }
        0
    }

    /// Returns the number of states. The first one is 0.
    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// Returns the state of the longest proper end of what was read in `state`.
    pub(crate) fn shorter(&self, state: usize) -> usize {
        self.states.get(state).map_or(0, |state| state.shorter)
    }

    /// Returns whether a pattern ends in `state`.
    pub(crate) fn is_end(&self, state: usize) -> bool {
        self.states.get(state).is_some_and(|state| state.found.is_some())
    }
}

/// Watches a stream for the first pattern, and holds back only what may still become one: of `Hello US` with the pattern
/// `USER:`, `US` is held back.
///
/// The first pattern is the one that ends first. Of several with the same end, it is the longest.
#[derive(Clone, Debug)]
pub(super) struct Watch<S> {
    automaton: Arc<Automaton<S>>,
    state: usize,
    held: Vec<S>,
}

impl<S: Copy + Ord> Watch<S> {
    /// Watches for `patterns`; empty ones are never found.
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a [S]>) -> Self
    where
        S: 'a,
    {
        Self { automaton: Arc::new(Automaton::new(patterns)), state: 0, held: Vec::new() }
    }

    /// Reads symbols up to the end of a pattern, and returns the pattern that was found. The symbols after it are dropped.
    ///
    /// Symbols that are not part of a pattern are added to `settled`.
    pub(super) fn push(&mut self, symbols: &[S], settled: &mut Vec<S>) -> Option<usize> {
        for &symbol in symbols {
            self.held.push(symbol);
            self.state = self.automaton.step(self.state, symbol);
            let state = self.automaton.states.get(self.state);
            if let Some((pattern, length)) = state.and_then(|state| state.found) {
                // What is before the pattern is settled, and the pattern itself is dropped.
                self.settle(length, settled);
                self.held.clear();
                self.state = 0;
                return Some(pattern);
            }
            // As many symbols may still become a pattern as the state is deep.
            self.settle(state.map_or(0, |state| state.depth), settled);
        }
        None
    }

    /// Keeps the last `count` symbols.
    fn settle(&mut self, count: usize, settled: &mut Vec<S>) {
        settled.extend(self.held.drain(..self.held.len().saturating_sub(count)));
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns what was held back, and starts again.
    pub(super) fn finish(&mut self) -> Vec<S> {
        self.state = 0;
        std::mem::take(&mut self.held)
    }
}
