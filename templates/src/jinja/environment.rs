//! The template engine, set up to behave as Hugging Face's Jinja2 does.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Rest;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value};

use super::clock::{Clock, strftime};
use super::fault::Refusal;
use super::limits::Limits;
use super::{filters, guards, json, python};

/// An environment without templates.
pub(super) fn new(clock: Clock, limits: Limits) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(limits.steps));
    environment.set_debug(false);
    environment.set_formatter(move |output, state, value| filters::print(output, state, value, limits));
    environment.set_unknown_method_callback(python::method);
    add_filters(&mut environment);
    add_tests(&mut environment);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", move |format: &str| strftime(clock.now(), format));
    environment.add_function(
        guards::NAME,
        move |state: &mut State<'_, '_>, body: usize, values: Rest<Value>| {
            guards::holds(state, limits, body, &values)
        },
    );
    Ok(environment)
}

fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("length", filters::length);
    environment.add_filter("count", filters::length);
    environment.add_filter("string", filters::string);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("replace", filters::replace);
    environment.add_filter("default", filters::default);
    environment.add_filter("d", filters::default);
    environment.add_filter("indent", filters::indent);
    environment.add_filter("dictsort", filters::dictsort);
}

fn add_tests(environment: &mut Environment<'_>) {
    environment.add_test("iterable", filters::is_iterable);
    environment.add_test("sequence", filters::is_sequence);
    environment.add_test("number", filters::is_number);
    environment.add_test("callable", filters::is_callable);
}

/// The template refuses the conversation in its own words.
fn raise_exception(words: &Value) -> Result<Value, Error> {
    let words = python::text(words)?;
    Err(Error::new(ErrorKind::InvalidOperation, words.clone()).with_source(Refusal(words)))
}
