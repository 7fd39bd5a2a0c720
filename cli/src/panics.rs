//! Prints panics. Their text may come from a tool or a model, so it is filtered like all other output.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::{PanicHookInfo, set_hook};
use std::thread;

use crate::screen;
use crate::visible::bounded;

/// Filters panics from now on; they are worded as by the standard library.
pub(crate) fn filter() {
    set_hook(Box::new(show));
}

fn show(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let thread = thread::current();
    let trace = Backtrace::capture();
    let shown = sentence(thread.name(), place.as_deref(), panic.payload());
    let mut err = screen::err();
    // Standard error may be closed, here and below.
    let _ = err.write_all(shown.as_bytes());
    let _ = match trace.status() {
        BacktraceStatus::Captured => writeln!(err, "stack backtrace:\n{trace}"),
        _ => err.write_all(b"note: run with `RUST_BACKTRACE=1` to see where it came from\n"),
    };
}

/// Returns the text of a panic, before it is filtered.
fn sentence(thread: Option<&str>, place: Option<&str>, payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let thread = thread.unwrap_or("<unnamed>");
    let place = place.unwrap_or("an unknown place");
    format!("thread \"{thread}\" panicked at {place}:\n{}\n", bounded(text.unwrap_or("it does not say why")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;
    use crate::visible::Rule;

    #[test]
    fn the_words_of_a_panic_are_filtered_and_bounded() {
        let words = format!("no such city: \u{1b}]52;c;QUFB\u{7}\u{202e}{}", "x".repeat(100_000));
        let payloads: [Box<dyn Any + Send>; 3] = [Box::new(words), Box::new("a\u{9b}2Jb"), Box::new(7_u8)];
        let starts = [
            "no such city: \u{FFFD}]52;c;QUFB\u{FFFD}\u{FFFD}xxx",
            "a\u{FFFD}2Jb\n",
            "it does not say why\n",
        ];
        for (payload, start) in payloads.iter().zip(starts) {
            let mut shown = Vec::new();
            let mut screen = Screen::new(&mut shown, Rule::Line);
            screen.write_all(sentence(Some("main"), Some("src/tool.rs:1:2"), &**payload).as_bytes()).unwrap();
            let shown = String::from_utf8(shown).unwrap();
            assert!(
                shown.starts_with(&format!("thread \"main\" panicked at src/tool.rs:1:2:\n{start}")),
                "{shown}"
            );
            assert!(shown.chars().count() < 2500, "{}", shown.len());
        }
    }
}
