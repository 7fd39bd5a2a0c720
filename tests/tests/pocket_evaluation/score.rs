//! How many replies of each skill are right, as a table. Runs no model.

use std::collections::BTreeMap;
use std::fmt;

use alloquy_core::Reply;

use crate::dialogue::Dialogue;
use crate::verdict::well_formed;

/// How many failures of a skill are shown.
const SHOWN: usize = 3;

/// What is asked of the model: the skills that count together, and the share that must be right.
const GOALS: [(&str, &[&str], f64); 5] = [
    ("tool calls", &["tool_call", "two_calls"], 97.0),
    ("recall", &["recall"], 98.0),
    ("arithmetic", &["arithmetic", "arithmetic_thinking", "comparison", "comparison_thinking"], 95.0),
    ("facts", &["facts"], 97.0),
    ("system prompts", &["system"], 95.0),
];

/// Right replies and all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    right: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.all.max(1) as f64
    }
}

/// The counts of all dialogues so far.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    skills: BTreeMap<String, Count>,
    well_formed: Count,
    failures: BTreeMap<String, Vec<String>>,
    tokens: usize,
    seconds: f64,
}

impl Scores {
    /// Counts one reply.
    pub(crate) fn add(&mut self, dialogue: &Dialogue, reply: &Reply, seconds: f64) {
        let right = dialogue.check.holds(&reply.message);
        self.skills.entry(dialogue.skill.clone()).or_default().add(right);
        self.well_formed.add(well_formed(reply));
        self.tokens += reply.usage.generated;
        self.seconds += seconds;
        if !right {
            let said = (reply.message.text(), reply.message.tool_calls().collect::<Vec<_>>());
            let line = format!("{:?} -> {said:?}", dialogue.question());
            self.failures.entry(dialogue.skill.clone()).or_default().push(line);
        }
    }

    /// The share of all replies that is right, in percent.
    pub(crate) fn share(&self) -> f64 {
        self.sum(self.skills.values()).percent()
    }

    fn sum<'a>(&self, counts: impl Iterator<Item = &'a Count>) -> Count {
        counts.fold(Count::default(), |sum, count| Count {
            right: sum.right + count.right,
            all: sum.all + count.all,
        })
    }

    fn together(&self, skills: &[&str]) -> Count {
        self.sum(skills.iter().filter_map(|skill| self.skills.get(*skill)))
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "| skill | right | of | share |\n|---|---|---|---|")?;
        for (skill, count) in &self.skills {
            writeln!(out, "| {skill} | {} | {} | {:.1} % |", count.right, count.all, count.percent())?;
        }
        writeln!(out, "\n| goal | share | wanted |\n|---|---|---|")?;
        let asked = GOALS.map(|(name, skills, wanted)| (name, self.together(skills), wanted));
        for (name, count, wanted) in asked.iter().filter(|(_, count, _)| count.all > 0) {
            writeln!(out, "| {name} | {:.1} % | {wanted:.1} % |", count.percent())?;
        }
        writeln!(out, "| well-formed turns | {:.2} % | 99.50 % |\n", self.well_formed.percent())?;
        let all = self.well_formed.all;
        let speed = self.tokens as f64 / self.seconds;
        writeln!(out, "{all} dialogues, {} tokens, {speed:.0} tokens/s with prompts\n", self.tokens)?;
        for (skill, lines) in &self.failures {
            writeln!(out, "{skill}:")?;
            lines.iter().take(SHOWN).try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        Ok(())
    }
}
