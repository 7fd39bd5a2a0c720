//! Draws a flow as SVG.

use crate::flow::Flow;
use crate::layout::{Cell, cells};
use crate::mermaid::{current, title};
use crate::position::Position;

const WIDTH: usize = 210;
const HEIGHT: usize = 40;
const GAP_X: usize = 50;
const GAP_Y: usize = 56;
const MARGIN: usize = 80;

/// How many characters of a text fit.
const LETTERS: usize = 28;

impl Flow {
    /// Draws the flow as SVG: a box for each state, an arrow for each transition. The state of a position has a thick frame. The flows
    /// that states enter are drawn below.
    ///
    /// The same flow is the same drawing. Names and conditions are escaped, so that no text becomes an element.
    ///
    /// ```
    /// use alloquy_flows::{Action, Flow, State};
    ///
    /// let flow = Flow::new("<b>").state(State::new("a & b", Action::say("Hello!")));
    /// let svg = flow.svg(None);
    /// assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
    /// assert!(svg.contains("a &amp; b") && !svg.contains("<b>"));
    /// ```
    pub fn svg(&self, position: Option<&Position>) -> String {
        let mut drawing = Drawing::default();
        drawing.flow(self, position);
        for flow in self.flows.values() {
            drawing.flow(flow, position);
        }
        drawing.finish()
    }
}

/// The elements of a drawing, and its size so far.
#[derive(Default)]
struct Drawing {
    elements: Vec<String>,
    width: usize,
    height: usize,
}

/// Where a box is: the middle of its upper edge.
#[derive(Clone, Copy)]
struct Spot {
    x: usize,
    y: usize,
}

impl Drawing {
    fn flow(&mut self, flow: &Flow, position: Option<&Position>) {
        let top = self.height + MARGIN;
        let now = position.and_then(|position| current(flow, position));
        self.text(MARGIN, top - 24, "start", "bold", &flow.name);
        let cells = cells(flow);
        let spots: Vec<_> = cells.iter().map(|cell| spot(*cell, top)).collect();
        for (state, (spot, cell)) in flow.states.iter().zip(spots.iter().zip(&cells)) {
            let mut leaving = 0;
            for transition in &state.transitions {
                let to = flow.states.iter().position(|other| other.name == transition.to);
                if let Some((to, target)) = to.and_then(|to| Some((cells.get(to)?, spots.get(to)?))) {
                    let summary = transition.condition.summary();
                    let label = if summary == "always" { String::new() } else { summary };
                    self.arrow((*spot, *cell), (*target, *to), leaving, &label);
                    leaving += 1;
                }
            }
            if let Some(late) = state.action.late() {
                let to = flow.states.iter().position(|other| other.name == late);
                if let Some((to, target)) = to.and_then(|to| Some((cells.get(to)?, spots.get(to)?))) {
                    self.arrow((*spot, *cell), (*target, *to), leaving, "late");
                }
            }
        }
        for (state, spot) in flow.states.iter().zip(&spots) {
            let is_now = now == Some(state.name.as_str());
            let is_end = state.transitions.is_empty();
            self.state(*spot, &title(state), is_now, is_end);
            self.width = self.width.max(spot.x + WIDTH / 2 + MARGIN);
            self.height = self.height.max(spot.y + HEIGHT);
        }
        self.height += MARGIN / 2;
    }

    fn state(&mut self, spot: Spot, title: &str, is_now: bool, is_end: bool) {
        let Spot { x, y } = spot;
        let left = x - WIDTH / 2;
        let thickness = if is_now { 4 } else { 1 };
        let radius = if is_end { HEIGHT / 2 } else { 6 };
        self.elements.push(format!(
            "<rect x=\"{left}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{radius}\" fill=\"#f4f6fa\" \
             stroke=\"#334\" stroke-width=\"{thickness}\"/>"
        ));
        self.text(x, y + HEIGHT / 2 + 5, "middle", "normal", title);
    }

    /// Draws an arrow: down to the next layer, on the left past the layers between, or back on the right.
    fn arrow(&mut self, from: (Spot, Cell), to: (Spot, Cell), leaving: usize, label: &str) {
        let (start, above) = from;
        let (end, below) = to;
        let shift = leaving * 14;
        if below.layer == above.layer + 1 {
            let x = start.x - 20 + shift;
            let y = start.y + HEIGHT;
            self.path(&format!("M{x} {y} L{} {}", end.x, end.y));
            self.label((x + 2 * end.x) / 3 + 6, (y + 2 * end.y) / 3, label);
            return;
        }
        let y = start.y + HEIGHT / 2;
        if below.layer > above.layer && end.x > start.x {
            let x = start.x + WIDTH / 2;
            self.path(&format!("M{x} {y} C{0} {y} {0} {y} {0} {1}", end.x + shift, end.y));
            self.label(end.x + shift + 6, (y + end.y) / 2, label);
            return;
        }
        if below.layer > above.layer {
            let x = start.x - WIDTH / 2;
            let into = end.x - WIDTH / 2;
            let side = x.min(into).saturating_sub(30 + shift);
            let enter = end.y + HEIGHT / 2 - 6;
            self.path(&format!("M{x} {y} C{side} {y} {side} {enter} {into} {enter}"));
            self.label(side + 8, (y + enter) / 2 - 26, label);
            return;
        }
        let x = start.x + WIDTH / 2;
        let into = end.x + WIDTH / 2;
        let side = x.max(into) + 30 + shift;
        let enter = end.y + HEIGHT / 2 + 6;
        self.path(&format!("M{x} {y} C{side} {y} {side} {enter} {into} {enter}"));
        self.label(side.saturating_sub(4), (y + enter) / 2, label);
        self.width = self.width.max(side + MARGIN);
    }

    fn path(&mut self, path: &str) {
        self.elements
            .push(format!("<path d=\"{path}\" fill=\"none\" stroke=\"#667\" marker-end=\"url(#arrow)\"/>"));
    }

    fn label(&mut self, x: usize, y: usize, text: &str) {
        if !text.is_empty() {
            self.text(x, y, "start", "normal", text);
            self.width = self.width.max(x + LETTERS * 8);
        }
    }

    fn text(&mut self, x: usize, y: usize, anchor: &str, weight: &str, text: &str) {
        let text = escaped(text);
        self.elements.push(format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\">{text}</text>"
        ));
    }

    fn finish(self) -> String {
        let width = self.width.max(2 * MARGIN + WIDTH);
        let height = self.height + MARGIN / 2;
        let elements = self.elements.join("\n");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#223\">\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
             <path d=\"M0 0 L8 4 L0 8 z\" fill=\"#667\"/></marker></defs>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{elements}\n</svg>\n"
        )
    }
}

fn spot(cell: Cell, top: usize) -> Spot {
    let x = MARGIN + WIDTH / 2 + cell.column * (WIDTH + GAP_X);
    Spot { x, y: top + cell.layer * (HEIGHT + GAP_Y) }
}

/// Escapes a text for XML, and shortens it.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (index, character) in text.chars().enumerate() {
        if index >= LETTERS {
            escaped.push('…');
            break;
        }
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            control if control.is_control() || "\u{fffe}\u{ffff}".contains(control) => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
