//! Configures the template engine to behave as Hugging Face's Jinja2 does.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, State, Value};

use super::arguments::Arguments;
use super::clock::NowSource;
use super::dialect::Dialect;
use super::limits::Limits;
use super::{filters, globals, guards, json, ledger, lists, litert, methods, operators, python, texts};

/// Returns an environment without templates.
pub(super) fn new(clock: NowSource, limits: Limits, dialect: Dialect) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(dialect.is_litert())
        .build()?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(limits.steps));
    environment.set_debug(false);
    environment.set_formatter(move |output, state, value| {
        if dialect.is_litert() {
            litert::print(output, state, value, limits)
        } else {
            filters::print(output, state, value, limits)
        }
    });
    environment.set_unknown_method_callback(
        move |state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]| {
            methods::call(state, limits, value, name, arguments)
        },
    );
    add_filters(&mut environment, limits);
    add_tests(&mut environment, limits);
    operators::add_to(&mut environment, limits);
    lists::add_to(&mut environment, limits);
    texts::add_to(&mut environment, limits);
    globals::add_to(&mut environment, limits, clock);
    if dialect.is_litert() {
        litert::add_to(&mut environment, limits);
    }
    environment.add_filter(
        guards::NAME,
        move |state: &mut State<'_, '_>, body: usize, values: Rest<Value>| {
            guards::holds(state, limits, body, &values)
        },
    );
    Ok(environment)
}

/// Filters that the engine has and Jinja2 does not: a template that uses one must fail here, too.
const NOT_JINJA2: [&str; 5] = ["split", "lines", "bool", "chain", "zip"];
/// Tests that the engine has and Jinja2 does not.
const TESTS_NOT_JINJA2: [&str; 2] = ["startingwith", "endingwith"];

fn add_filters(environment: &mut Environment<'_>, limits: Limits) {
    for name in NOT_JINJA2 {
        environment.remove_filter(name);
    }
    let measured =
        [("pprint", Value::from_function(python::repr)), ("float", Value::from_function(filters::float))];
    filters::add_measured(environment, limits, measured);
    let of_texts: [(_, filters::Filter); 4] = [
        ("tojson", json::tojson),
        ("string", filters::string),
        ("trim", filters::trim),
        ("int", filters::int),
    ];
    filters::add_of_texts(environment, limits, of_texts);
    environment.add_filter("length", lists::length);
    environment.add_filter("count", lists::length);
    environment.add_filter("default", filters::default);
    environment.add_filter("d", filters::default);
    environment.add_filter("attr", filters::attr);
    environment.add_filter(
        "replace",
        move |state: &mut State<'_, '_>, value: &Value, old: &Value, new: &Value, count: Option<Value>| {
            filters::replace(state, limits, value, (old, new), count)
        },
    );
    environment.add_filter(
        "indent",
        move |state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>| {
            filters::indent(state, limits, value, Arguments::new(arguments))
        },
    );
    let cases: [(_, Value, Option<Recase>); 4] = [
        ("upper", Value::from_function(minijinja::filters::upper), Some(str::to_uppercase)),
        ("lower", Value::from_function(minijinja::filters::lower), Some(str::to_lowercase)),
        ("title", Value::from_function(minijinja::filters::title), None),
        ("capitalize", Value::from_function(minijinja::filters::capitalize), None),
    ];
    for (name, filter, of_plain) in cases {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, value: &Value, more: Rest<ValueOrKwargs>| {
                cased(state, limits, (&filter, of_plain), value, more)
            },
        );
    }
}

/// Changes the case of a text.
type Recase = fn(&str) -> String;

/// Changes the case of a value with `filter`, or with `of_plain` for text that needs no escapes.
fn cased(
    state: &mut State<'_, '_>,
    limits: Limits,
    (filter, of_plain): (&Value, Option<Recase>),
    value: &Value,
    more: Rest<ValueOrKwargs>,
) -> Result<Value, Error> {
    let text = value.as_str().unwrap_or_default();
    // A character becomes three at most, with about the same number of bytes in all.
    ledger::reserve(state, limits, text.len().saturating_mul(2))?;
    if of_plain.is_none() {
        ledger::characters(state, limits, text.len())?;
    }
    let is_plain = more.is_empty() && value.kind() == ValueKind::String && !value.is_safe();
    let cased = match of_plain.filter(|_| is_plain) {
        Some(of_plain) => Value::from(of_plain(text)),
        None => {
            let arguments: Vec<_> = std::iter::once(value.clone()).chain(more.into_values()).collect();
            filter.call(state, &arguments)?
        }
    };
    ledger::record(state, limits, cased)
}

fn add_tests(environment: &mut Environment<'_>, limits: Limits) {
    for name in TESTS_NOT_JINJA2 {
        environment.remove_test(name);
    }
    environment.add_test("iterable", filters::is_iterable);
    environment.add_test("sequence", filters::is_sequence);
    environment.add_test("number", filters::is_number);
    environment.add_test("callable", filters::is_callable);
    environment.add_test("odd", |value: &Value| operators::is_multiple(value, 2).map(|is_even| !is_even));
    environment.add_test("even", |value: &Value| operators::is_multiple(value, 2));
    environment.add_test("divisibleby", operators::is_multiple);
    environment.add_test("in", move |state: &mut State<'_, '_>, value: &Value, container: &Value| {
        ledger::weigh(state, limits, container)?;
        minijinja::tests::is_in(state, value, container)
    });
}
