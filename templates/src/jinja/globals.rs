//! The global functions of templates.
//!
//! Reference: `jinja2/defaults.py` and `jinja2/utils.py` of Jinja2 3.1, and the two that Hugging Face adds.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Kwargs, Object, ObjectRepr, Rest, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, State, functions};

use super::clock::{NowSource, strftime};
use super::fault::Refusal;
use super::ledger::{self, refusal};
use super::limits::Limits;
use super::{python, range, statements};

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits, clock: NowSource) {
    environment.remove_global("debug");
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", move |format: &str| strftime(clock.now(), format));
    environment.add_function("dict", move |state: &mut State<'_, '_>, value: Option<Value>, more: Kwargs| {
        let items = value.as_ref().and_then(Value::len).unwrap_or(0);
        ledger::spend(state, limits, items as u64 * STEPS_PER_PAIR)?;
        dict(value, more)
    });
    environment.add_function("namespace", namespace);
    environment.add_function("range", range::new);
    environment.add_function("joiner", |separator: Option<Value>| {
        let separator = separator.unwrap_or_else(|| Value::from(", "));
        Value::from_object(Joiner { separator, used: Mutex::new(false) })
    });
    environment.add_function("cycler", |items: Rest<Value>| cycler(&items));
    environment.add_function("lipsum", lipsum);
    environment.add_function(statements::NO_LOADER, no_loader);
}

/// `raise_exception(message)`: the template refuses the conversation.
fn raise_exception(words: &Value) -> Result<Value, Error> {
    let words = python::text(words)?;
    Err(refusal(words.clone()).with_source(Refusal(words)))
}

fn no_loader() -> Result<Value, Error> {
    Err(refusal("a chat template has no other templates to load".to_owned()))
}

/// The steps that are counted for each pair of a dict.
const STEPS_PER_PAIR: u64 = 16;

/// `dict(mapping_or_pairs, **more)`.
fn dict(value: Option<Value>, more: Kwargs) -> Result<Value, Error> {
    let value = match value {
        Some(value) if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) => value,
        mapping => return functions::dict(mapping, more),
    };
    let mut pairs = Vec::new();
    for pair in value.try_iter()? {
        pairs.push((pair.get_item_by_index(0)?.to_string(), pair.get_item_by_index(1)?));
    }
    for name in more.args() {
        pairs.push((name.to_owned(), more.peek(name)?));
    }
    functions::dict(None, pairs.into_iter().collect())
}

/// `namespace(**defaults)`. As in Hugging Face, a name must not begin with an underscore.
fn namespace(defaults: Option<ValueOrKwargs>) -> Result<Value, Error> {
    let names = defaults.as_ref().and_then(|defaults| defaults.try_iter().ok());
    for name in names.into_iter().flatten() {
        if let Some(name) = name.as_str().filter(|name| name.starts_with('_')) {
            let words = format!(
                "chat templates cannot store attributes that begin with an underscore on a namespace, but got {name:?}"
            );
            return Err(refusal(words));
        }
    }
    functions::namespace(defaults)
}

/// Prints nothing the first time, and its separator after that.
#[derive(Debug)]
struct Joiner {
    separator: Value,
    used: Mutex<bool>,
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        let () = from_args(arguments)?;
        let used = std::mem::replace(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner), true);
        Ok(if used { self.separator.clone() } else { Value::from("") })
    }

    fn render(self: &Arc<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<jinja2.utils.Joiner object>")
    }
}

fn cycler(items: &[Value]) -> Result<Value, Error> {
    if items.is_empty() {
        Err(refusal("at least one item has to be provided".to_owned()))
    } else {
        Ok(Value::from_object(Cycler { items: items.to_vec(), position: AtomicUsize::new(0) }))
    }
}

/// Returns its items in turn, again and again.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    position: AtomicUsize,
}

impl Cycler {
    fn current(&self) -> Value {
        let position = self.position.load(Ordering::Relaxed);
        self.items.get(position).cloned().unwrap_or_default()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        name: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        let () = from_args(arguments)?;
        let current = self.current();
        let position = self.position.load(Ordering::Relaxed);
        match name {
            "next" => self.position.store((position + 1) % self.items.len().max(1), Ordering::Relaxed),
            "reset" => self.position.store(0, Ordering::Relaxed),
            _ => return Err(Error::from(minijinja::ErrorKind::UnknownMethod)),
        }
        Ok(if name == "next" { current } else { Value::from(()) })
    }
}

/// The most paragraphs and words of filler text.
const MAX_LIPSUM: usize = 100;

/// `lipsum(n=5, html=true, min=20, max=100)`: filler text. Jinja2's words are random; these are always the same.
fn lipsum(arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = super::arguments::Arguments::new(arguments);
    let paragraphs = arguments.get(0, "n")?.map_or(Ok(5), usize::try_from)?;
    let html = arguments.get(1, "html")?.is_none_or(|html| html.is_true());
    let least = arguments.get(2, "min")?.map_or(Ok(20), usize::try_from)?;
    arguments.get(3, "max")?;
    arguments.finish(4)?;
    if paragraphs > MAX_LIPSUM || least > MAX_LIPSUM {
        return Err(refusal(format!("more than {MAX_LIPSUM} paragraphs or words of filler text")));
    }
    let words = ["lorem", "ipsum", "dolor", "sit", "amet"];
    let words: Vec<_> = words.into_iter().cycle().take(least.max(1)).collect();
    let paragraph = format!("{}.", words.join(" "));
    let paragraph = if html { format!("<p>{paragraph}</p>") } else { paragraph };
    Ok(Value::from(vec![paragraph; paragraphs].join(if html { "\n" } else { "\n\n" })))
}
