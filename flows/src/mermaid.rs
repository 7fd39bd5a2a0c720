//! Draws a flow as a state diagram of Mermaid.

use crate::flow::{Flow, State};
use crate::position::Position;

/// How many characters of a condition a drawing shows.
const LABEL: usize = 48;

impl Flow {
    /// Draws the flow as a state diagram of Mermaid. The state of a position is marked.
    ///
    /// Names and conditions are letters, digits, spaces and a few harmless signs there; others are replaced, so that no name can
    /// become a command of the diagram.
    ///
    /// ```
    /// use alloquy_flows::{Action, Condition, Flow, State};
    ///
    /// let flow = Flow::new("order")
    ///     .state(State::new("answer", Action::wait()).to_if(Condition::keyword(["tea"]), "tea"))
    ///     .state(State::new("tea", Action::say("Here is your tea.")));
    /// let expected = "\
    /// stateDiagram-v2
    ///     state \"answer (wait)\" as s0
    ///     state \"tea (say)\" as s1
    ///     [*] --> s0
    ///     s0 --> s1 : keyword tea
    ///     s1 --> [*]
    /// ";
    /// assert_eq!(flow.mermaid(None), expected);
    /// ```
    pub fn mermaid(&self, position: Option<&Position>) -> String {
        let mut lines = vec!["stateDiagram-v2".to_owned()];
        self.states_of_diagram(
            "s",
            "    ",
            position.and_then(|position| current(self, position)),
            &mut lines,
        );
        for (index, flow) in self.flows.values().enumerate() {
            lines.push(format!("    state \"{}\" as f{index} {{", plain(&flow.name)));
            let now = position.and_then(|position| current(flow, position));
            flow.states_of_diagram(&format!("f{index}s"), "        ", now, &mut lines);
            lines.push("    }".to_owned());
        }
        let marked = lines.iter().any(|line| line.trim_start().starts_with("class "));
        if marked {
            lines.insert(1, "    classDef now stroke-width:3px".to_owned());
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Returns what a diagram calls a state.
    fn id_of(&self, id: &str, name: &str) -> Option<String> {
        let index = self.states.iter().position(|state| state.name == name)?;
        Some(format!("{id}{index}"))
    }

    fn states_of_diagram(&self, id: &str, indent: &str, now: Option<&str>, lines: &mut Vec<String>) {
        for (index, state) in self.states.iter().enumerate() {
            lines.push(format!("{indent}state \"{}\" as {id}{index}", plain(&title(state))));
        }
        if let Some(start) = self.id_of(id, &self.start) {
            lines.push(format!("{indent}[*] --> {start}"));
        }
        for (index, state) in self.states.iter().enumerate() {
            for transition in &state.transitions {
                let Some(to) = self.id_of(id, &transition.to) else { continue };
                let label = plain(&transition.condition.summary());
                let label = if label == "always" { String::new() } else { format!(" : {label}") };
                lines.push(format!("{indent}{id}{index} --> {to}{label}"));
            }
            if let Some(to) = state.action.late().and_then(|late| self.id_of(id, late)) {
                lines.push(format!("{indent}{id}{index} --> {to} : late"));
            }
            if state.transitions.is_empty() {
                lines.push(format!("{indent}{id}{index} --> [*]"));
            }
        }
        if let Some(now) = now.and_then(|now| self.id_of(id, now)) {
            lines.push(format!("{indent}class {now} now"));
        }
    }
}

/// Returns the state of a flow at a position, if the flow is running there.
pub(crate) fn current<'a>(flow: &Flow, position: &'a Position) -> Option<&'a str> {
    let frame = position.frames.iter().rev().find(|frame| frame.flow == flow.name)?;
    Some(frame.state.as_str())
}

/// Returns what a drawing calls a state.
pub(crate) fn title(state: &State) -> String {
    let kind = state.action.kind();
    let inside: Vec<_> = match kind {
        "flow" | "fork" => state.action.enters(),
        _ => Vec::new(),
    };
    if inside.is_empty() {
        return format!("{} ({kind})", state.name);
    }
    format!("{} ({kind} {})", state.name, inside.join(" "))
}

/// Replaces everything that a diagram could read as a command.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars().take(LABEL) {
        let is_harmless = character.is_alphanumeric() || " _-.,()?=>+*/'".contains(character);
        plain.push(if is_harmless { character } else { ' ' });
    }
    // Arrows and comments of Mermaid.
    let plain = plain.replace("--", "- ").replace("->", "- ").replace(">>", "> ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
