//! Sums of a run: what broke, and what was known to.

use std::collections::BTreeMap;

use crate::exceptions::{self, Exception};
use crate::oracle::{ApprovalDecision, Breach};
use crate::setting::Setting;

#[derive(Debug)]
pub(crate) struct Tally {
    exceptions: Vec<Exception>,
    pub(crate) messages: usize,
    pub(crate) conversations: usize,
    renders: usize,
    refused: usize,
    /// Control tokens that no exception explains.
    pub(crate) control: usize,
    pub(crate) compared: usize,
    uncompiled: Vec<String>,
    /// By template and breach: how many, and the first.
    unexpected: BTreeMap<(Breach, String), (usize, String)>,
    /// By exception.
    expected: BTreeMap<usize, usize>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            exceptions: exceptions::read(),
            messages: 0,
            conversations: 0,
            renders: 0,
            refused: 0,
            control: 0,
            compared: 0,
            uncompiled: Vec::new(),
            unexpected: BTreeMap::new(),
            expected: BTreeMap::new(),
        }
    }

    /// Adds what came of a template's conversation of this number.
    pub(crate) fn count(&mut self, slug: &str, setting: &Setting, number: u64, verdict: ApprovalDecision) {
        self.messages += verdict.messages;
        self.conversations += 1;
        self.renders += verdict.renders;
        self.refused += verdict.refused;
        self.compared += verdict.compared;
        for (breach, detail) in verdict.breaches {
            let known = |exception: &Exception| exception.covers(slug, breach, &verdict.said);
            match self.exceptions.iter().position(known) {
                Some(place) => *self.expected.entry(place).or_default() += 1,
                None => {
                    self.control += if breach == Breach::Control { verdict.control.max(1) } else { 0 };
                    let mut first = format!("{} {number}: {detail}", setting.kind.name);
                    if std::env::var_os("ALLOQUY_FUZZ_TEMPLATE").is_some() {
                        first = format!("{first}\n  {}", verdict.said);
                    }
                    self.unexpected.entry((breach, slug.to_owned())).or_insert((0, first)).0 += 1;
                }
            }
        }
    }

    pub(crate) fn uncompiled(&mut self, slug: &str) {
        self.uncompiled.push(slug.to_owned());
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.conversations += other.conversations;
        self.renders += other.renders;
        self.refused += other.refused;
        self.control += other.control;
        self.compared += other.compared;
        self.uncompiled.extend(other.uncompiled);
        for (place, (count, first)) in other.unexpected {
            self.unexpected.entry(place).or_insert((0, first)).0 += count;
        }
        for (place, count) in other.expected {
            *self.expected.entry(place).or_default() += count;
        }
    }

    /// How many breaches no exception names.
    pub(crate) fn unexpected(&self) -> usize {
        self.unexpected.values().map(|(count, _)| count).sum()
    }

    pub(crate) fn report(&self) {
        for (place, count) in &self.expected {
            eprintln!("expected {count} times: {}", self.exceptions[*place].reason);
        }
        for ((breach, slug), (count, first)) in &self.unexpected {
            eprintln!("{breach:?} {slug} {count} times, first {first}");
        }
        for slug in &self.uncompiled {
            eprintln!("not a template: {slug}");
        }
        eprintln!("{} messages in {} conversations", self.messages, self.conversations);
        eprintln!("{} renders, {} conversations refused by templates", self.renders, self.refused);
        eprintln!("{} control ids from untrusted spans", self.control);
        eprintln!("{} benign comparisons", self.compared);
    }
}
