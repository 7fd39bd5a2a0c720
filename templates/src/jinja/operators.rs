//! Operators that differ from Python's in the engine, or that have no bound there. Each is a filter.
//!
//! Reference: the data model of Python 3 and the `Markup` of markupsafe 3.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Rest, Tuple, Value, ValueKind};
use minijinja::{Environment, Error, State, tests};

use super::ledger::{self, record, refusal, reserve};
use super::limits::Limits;
use super::weight::ITEM_BYTES;
use super::{guards, percent, python};

/// `a + b`.
pub(super) const ADDED: &str = "__alloquy_add";
/// `a ~ b ~ …`.
pub(super) const JOINED: &str = "__alloquy_join";
/// `a * b`.
pub(super) const MULTIPLIED: &str = "__alloquy_multiply";
/// `a % b`.
pub(super) const REMAINDER: &str = "__alloquy_remainder";
/// `+a`.
pub(super) const POSITIVE: &str = "__alloquy_positive";
/// `a < b`, `a <= b`, `a > b` and `a >= b`.
pub(super) const ORDERED: &str = "__alloquy_ordered";
/// `a in b`.
pub(super) const IN: &str = "__alloquy_in";
/// `-a`.
pub(super) const NEGATIVE: &str = "__alloquy_negative";
/// A value that is compared.
pub(super) const WEIGHED: &str = "__alloquy_weigh";
/// A value that is assigned to a variable.
pub(super) const GIVEN: &str = "__alloquy_give";
/// The iterable of a loop.
pub(super) const ITERATED: &str = "__alloquy_iterate";
/// A value that is sliced, or a key that is looked up: a text is read character by character.
pub(super) const READ: &str = "__alloquy_read";
/// `a[b:c]`.
pub(super) const SLICED: &str = "__alloquy_sliced";
/// `a.items` without a call.
pub(super) const METHOD: &str = "__alloquy_method";

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits) {
    environment
        .add_filter(ADDED, move |state: &mut State<'_, '_>, a: &Value, b: &Value| add(state, limits, a, b));
    environment.add_filter(JOINED, move |state: &mut State<'_, '_>, first: &Value, others: Rest<Value>| {
        concatenate(state, limits, first, &others)
    });
    environment.add_filter(MULTIPLIED, move |state: &mut State<'_, '_>, a: &Value, b: &Value| {
        multiply(state, limits, a, b)
    });
    environment.add_filter(REMAINDER, move |state: &mut State<'_, '_>, a: &Value, b: &Value| {
        remainder(state, limits, a, b)
    });
    environment.add_filter(POSITIVE, positive);
    environment.add_filter(NEGATIVE, negative);
    environment.add_filter(
        ORDERED,
        move |state: &mut State<'_, '_>, a: &Value, operator: &str, b: &Value| {
            ordered(state, limits, a, operator, b)
        },
    );
    environment
        .add_filter(IN, move |state: &mut State<'_, '_>, a: &Value, b: &Value| contains(state, limits, a, b));
    environment
        .add_filter(WEIGHED, move |state: &mut State<'_, '_>, value: &Value| weighed(state, limits, value));
    environment.add_filter(GIVEN, move |state: &mut State<'_, '_>, value: Value| {
        guards::check(state, limits, &value)?;
        Ok::<_, Error>(value)
    });
    environment.add_filter(ITERATED, move |state: &mut State<'_, '_>, value: &Value, body: Option<usize>| {
        let iterated = iterated(state, limits, value)?;
        if let Some(body) = body {
            ledger::pass(state, limits, body.saturating_mul(iterated.len().unwrap_or(1)))?;
        }
        Ok::<_, Error>(iterated)
    });
    environment.add_filter(READ, move |state: &mut State<'_, '_>, value: Value| {
        ledger::characters(state, limits, value.as_str().map_or(0, str::len))?;
        Ok::<_, Error>(value)
    });
    environment
        .add_filter(SLICED, move |state: &mut State<'_, '_>, value: Value| record(state, limits, value));
    environment.add_filter(METHOD, method);
}

pub(super) fn add(state: &mut State<'_, '_>, limits: Limits, a: &Value, b: &Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        return add_texts(state, limits, (a, left), (b, right));
    }
    if let (Some(left), Some(right)) = (number(a), number(b)) {
        return left.add(right).ok_or_else(|| unsupported("+", a, b));
    }
    match (a.kind(), b.kind()) {
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable)
            if a.is_tuple() == b.is_tuple() =>
        {
            let items = a.len().unwrap_or(0).saturating_add(b.len().unwrap_or(0));
            reserve(state, limits, items.saturating_mul(ITEM_BYTES))?;
            ledger::work(state, limits, items.saturating_mul(ITEM_BYTES))?;
            let both = a.try_iter()?.checked().chain(b.try_iter()?.checked());
            let items = both.collect::<Result<Vec<_>, _>>()?;
            record(state, limits, list_like(a, items))
        }
        _ => Err(unsupported("+", a, b)),
    }
}

fn list_like(model: &Value, items: Vec<Value>) -> Value {
    if model.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) }
}

/// Adds two texts. If one is marked as safe, the other is escaped, whether the template escapes or not.
fn add_texts(
    state: &mut State<'_, '_>,
    limits: Limits,
    (a, left): (&Value, &str),
    (b, right): (&Value, &str),
) -> Result<Value, Error> {
    if a.is_safe() || b.is_safe() {
        reserve(state, limits, (left.len() + right.len()).saturating_mul(2))?;
        return Ok(Value::from_safe_string(as_safe(a, left) + &as_safe(b, right)));
    }
    reserve(state, limits, left.len() + right.len())?;
    let mut text = String::with_capacity(left.len() + right.len());
    text.push_str(left);
    text.push_str(right);
    record(state, limits, Value::from(text))
}

fn as_safe(value: &Value, text: &str) -> String {
    if value.is_safe() { text.to_owned() } else { python::escape(text) }
}

fn concatenate(
    state: &mut State<'_, '_>,
    limits: Limits,
    first: &Value,
    others: &Rest<Value>,
) -> Result<Value, Error> {
    let mut text = String::new();
    for value in std::iter::once(first).chain(others.iter()) {
        let piece = python::printed(value)?;
        reserve(state, limits, text.len() + piece.len())?;
        text.push_str(&piece);
    }
    record(state, limits, Value::from(text))
}

fn multiply(state: &mut State<'_, '_>, limits: Limits, a: &Value, b: &Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (number(a), number(b)) {
        return left.multiply(right).ok_or_else(|| unsupported("*", a, b));
    }
    let (many, count) = match number(b) {
        Some(count) => (a, count),
        None => (b, number(a).ok_or_else(|| unsupported("*", a, b))?),
    };
    let Number::Integer(count) = count else {
        return Err(unsupported("*", a, b));
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    if let Some(text) = many.as_str() {
        reserve(state, limits, text.len().saturating_mul(count))?;
        return record(state, limits, Value::from(text.repeat(count)));
    }
    let items = match many.kind() {
        ValueKind::Seq | ValueKind::Iterable => many.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?,
        _ => return Err(unsupported("*", a, b)),
    };
    reserve(state, limits, items.len().saturating_mul(count).saturating_mul(ITEM_BYTES))?;
    let count = if items.is_empty() { 0 } else { count };
    let repeated = std::iter::repeat_n(items, count).flatten().collect();
    record(state, limits, list_like(many, repeated))
}

/// Returns the remainder of two numbers, or fills in the places of a text, as in `"%d" % 1`.
fn remainder(state: &mut State<'_, '_>, limits: Limits, a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(format) = a.as_str() {
        let text = percent::format(format, b, limits.output_bytes)?;
        return record(state, limits, Value::from(text));
    }
    match (number(a), number(b)) {
        (Some(left), Some(right)) => {
            left.remainder(right).ok_or_else(|| refusal("modulo by zero".to_owned()))
        }
        _ => Err(unsupported("%", a, b)),
    }
}

fn positive(value: &Value) -> Result<Value, Error> {
    match number(value) {
        Some(number) => Ok(number.into_value()),
        None => Err(refusal(format!("bad operand type for unary +: {}", value.kind()))),
    }
}

/// Returns whether a number is a multiple of `divisor`.
pub(super) fn is_multiple(value: &Value, divisor: i64) -> Result<bool, Error> {
    let rest = number(value).and_then(|value| value.remainder(Number::Integer(i128::from(divisor))));
    match rest {
        Some(rest) => Ok(rest == Value::from(0)),
        None => Err(unsupported("%", value, &Value::from(divisor))),
    }
}

fn negative(value: &Value) -> Result<Value, Error> {
    match number(value) {
        Some(number) => number.multiply(Number::Integer(-1)).ok_or_else(|| unsupported("-", value, value)),
        None => Err(refusal(format!("bad operand type for unary -: {}", value.kind()))),
    }
}

/// Compares two numbers, two texts or two lists, as Python does.
fn ordered(
    state: &mut State<'_, '_>,
    limits: Limits,
    a: &Value,
    operator: &str,
    b: &Value,
) -> Result<bool, Error> {
    let order = match (number(a), number(b)) {
        (Some(left), Some(right)) => left.compare(right),
        _ if a.kind() == b.kind() && matches!(a.kind(), ValueKind::String | ValueKind::Seq) => {
            weighed(state, limits, b)?;
            Some(a.cmp(b))
        }
        _ => return Err(unsupported(operator, a, b)),
    };
    Ok(match operator {
        "<" => order.is_some_and(Ordering::is_lt),
        ">" => order.is_some_and(Ordering::is_gt),
        "<=" => order.is_some_and(Ordering::is_le),
        _ => order.is_some_and(Ordering::is_ge),
    })
}

fn contains(state: &mut State<'_, '_>, limits: Limits, a: &Value, b: &Value) -> Result<bool, Error> {
    if let Some(text) = b.as_str() {
        ledger::search(state, limits, text.len())?;
        let wanted = a.as_str().ok_or_else(|| unsupported("in", a, b))?;
        return Ok(text.contains(wanted));
    }
    match b.kind() {
        ValueKind::Seq if a.kind() == ValueKind::String => return has_text(state, limits, a, b),
        ValueKind::Seq | ValueKind::Iterable => ledger::weigh(state, limits, b).map(drop)?,
        ValueKind::None | ValueKind::Bool | ValueKind::Number => return Err(unsupported("in", a, b)),
        _ => ledger::characters(state, limits, a.as_str().map_or(0, str::len))?,
    }
    tests::is_in(state, a, b)
}

/// Returns whether a list contains a text. The other items need not be searched, because no text equals them.
fn has_text(state: &mut State<'_, '_>, limits: Limits, text: &Value, list: &Value) -> Result<bool, Error> {
    let text = text.as_str();
    ledger::spend(state, limits, list.len().unwrap_or(0) as u64)?;
    for item in list.try_iter()?.checked() {
        let item = item?;
        if item.as_str().is_some_and(|item| Some(item) == text) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Counts the work of reading a whole value, and returns it unchanged.
fn weighed(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) => ledger::work(state, limits, text.len())?,
        None if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) => {
            ledger::weigh(state, limits, value)?;
        }
        None => {}
    }
    Ok(value.clone())
}

/// Returns the iterable of a loop. One without a length becomes a list, for `loop.length` and `loop.last`. None is an error.
fn iterated(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<Value, Error> {
    match (value.kind(), value.as_str()) {
        (ValueKind::String, Some(text)) => {
            reserve(state, limits, text.len().saturating_mul(ITEM_BYTES))?;
            record(state, limits, text.chars().map(Value::from).collect())
        }
        (ValueKind::Iterable, _) if value.len().is_none() => {
            let items = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
            record(state, limits, Value::from(items))
        }
        (ValueKind::None, _) => Err(refusal("'NoneType' object is not iterable".to_owned())),
        _ => Ok(value.clone()),
    }
}

fn unsupported(operator: &str, a: &Value, b: &Value) -> Error {
    refusal(format!("unsupported operand types for {operator}: {} and {}", a.kind(), b.kind()))
}

/// A number, of which Python's truth values are two.
#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value.kind() {
        ValueKind::Bool => Some(Number::Integer(i128::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok().map(Number::Integer),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(Number::Float),
        _ => None,
    }
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Integer(integer) => Value::from(integer),
            Self::Float(float) => Value::from(float),
        }
    }

    /// Adds two numbers. `None` beyond 128 bits, a limit that Python does not have.
    fn add(self, other: Self) -> Option<Value> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.checked_add(b).map(Value::from),
            (a, b) => Some(Value::from(a.float() + b.float())),
        }
    }

    fn multiply(self, other: Self) -> Option<Value> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.checked_mul(b).map(Value::from),
            (a, b) => Some(Value::from(a.float() * b.float())),
        }
    }

    /// Returns the remainder, which has the sign of the divisor as in Python.
    fn remainder(self, other: Self) -> Option<Value> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => {
                let rest = a.checked_rem(b)?;
                Some(Value::from(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
            }
            (a, b) if b.float() != 0.0 => {
                let a = a.float();
                let b = b.float();
                let rest = a % b;
                Some(Value::from(if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }))
            }
            _ => None,
        }
    }
}

/// Looks up a method of a dict without calling it. For another value, looks up the attribute of that name.
fn method(value: &Value, name: &str) -> Result<Value, Error> {
    let is_dict = value.kind() == ValueKind::Map && !python::is_namespace(value);
    if is_dict {
        Ok(Value::from_object(Method { dict: value.clone(), name: name.to_owned() }))
    } else {
        value.get_attr(name)
    }
}

/// A method bound to its dict.
#[derive(Debug)]
struct Method {
    dict: Value,
    name: String,
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        self.dict.call_method(state, &self.name, arguments)
    }

    fn render(self: &Arc<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<built-in method {} of dict object>", self.name)
    }
}
