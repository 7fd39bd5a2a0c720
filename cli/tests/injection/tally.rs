//! Sums of a run, and what was expected of it.

use std::collections::BTreeMap;

use crate::oracle::{Breach, Verdict};
use crate::setting::Setting;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) messages: usize,
    conversations: usize,
    renders: usize,
    refused: usize,
    control: usize,
    pub(crate) compared: usize,
    uncompiled: Vec<String>,
    /// By template and breach: how many, and the first.
    breaches: BTreeMap<(Breach, String), (usize, String)>,
}

impl Tally {
    pub(crate) fn count(&mut self, slug: &str, setting: &Setting, number: u64, verdict: Verdict) {
        self.messages += verdict.messages;
        self.conversations += 1;
        self.renders += verdict.renders;
        self.refused += verdict.refused;
        self.control += verdict.control;
        self.compared += verdict.compared;
        for (breach, detail) in verdict.breaches {
            let first = format!("{} {number}: {detail}", setting.kind);
            self.breaches.entry((breach, slug.to_owned())).or_insert((0, first)).0 += 1;
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
        for (place, (count, first)) in other.breaches {
            self.breaches.entry(place).or_insert((0, first)).0 += count;
        }
    }

    pub(crate) fn unexpected(&self) -> usize {
        self.breaches.values().map(|(count, _)| count).sum()
    }

    pub(crate) fn report(&self) {
        for ((breach, slug), (count, first)) in &self.breaches {
            eprintln!("{breach:?} {slug} {count} times, first {first}");
        }
        for slug in &self.uncompiled {
            eprintln!("not a template: {slug}");
        }
        eprintln!(
            "{} messages in {} conversations, {} renders, {} refused by templates, {} control ids from untrusted spans, {} benign comparisons",
            self.messages, self.conversations, self.renders, self.refused, self.control, self.compared
        );
    }
}
