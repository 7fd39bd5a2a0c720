//! Work that is done again and again: little by little, by recursion, or on something long.

use super::{Attempt, attempt};

pub(super) fn attempts() -> Vec<Attempt> {
    [little_by_little(), recursive(), on_something_long()].concat()
}

/// Values that hold the same value twice, again and again: small in memory, endless to whoever goes through them.
#[allow(clippy::too_many_lines)] // a list
pub(crate) fn shared() -> Vec<Attempt> {
    let doubled = |piece: &str, then: &str| {
        format!(
            "{{% set ns = namespace(x=['a']) %}}{{% for i in range(100000) %}}{{% set ns.x = {piece} %}}{then}{{% endfor %}}"
        )
    };
    let written_out = |piece: &str| {
        format!("{{% set x = ['a'] %}}{}{{{{ x }}}}", format!("{{% set x = {piece} %}}").repeat(60))
    };
    let within = |piece: &str| {
        format!(
            "{{% set ns = namespace(x=['a']) %}}{{% for i in range(17) %}}{{% set ns.x = [ns.x, ns.x] %}}{{% endfor %}}{{% for i in range(100000) %}}{piece}{{% endfor %}}"
        )
    };
    vec![
        attempt("a list that holds itself twice", &doubled("[ns.x, ns.x]", "")),
        attempt("a dict that holds itself twice", &doubled("{'a': ns.x, 'b': ns.x}", "")),
        attempt("a tuple that holds itself twice", &doubled("(ns.x, ns.x)", "")),
        attempt("a list that holds itself twice, by a function", &doubled("dict(a=ns.x, b=ns.x)", "")),
        attempt("a namespace that holds itself twice", &doubled("namespace(a=ns.x, b=ns.x)", "")),
        attempt("a list that holds itself twice, printed", &doubled("[ns.x, ns.x]", "{{ ns.x }}")),
        attempt(
            "a list that holds itself twice, compared",
            &doubled("[ns.x, ns.x]", "{{ ns.x == [ns.x, ns.x] }}"),
        ),
        attempt(
            "a list that holds itself twice, as JSON",
            &doubled("[ns.x, ns.x]", "{{ ns.x | tojson | length }}"),
        ),
        attempt(
            "a list that holds itself twice, sorted",
            &doubled("[ns.x, ns.x]", "{{ ns.x | sort | length }}"),
        ),
        attempt(
            "a list that holds itself twice, unique",
            &doubled("[ns.x, ns.x]", "{{ ns.x | unique | list | length }}"),
        ),
        attempt("a list that holds itself twice, a key", &doubled("[ns.x, ns.x]", "{% set y = {ns.x: 1} %}")),
        attempt("a list that holds itself twice, searched", &doubled("[ns.x, ns.x]", "{{ 1 in ns.x }}")),
        attempt(
            "a list that holds itself twice, in a cycle",
            &doubled("[ns.x, ns.x]", "{{ cycler(ns.x, ns.x).next() | length }}"),
        ),
        attempt("a list that holds itself twice, written out", &written_out("[x, x]")),
        attempt("a dict that holds itself twice, written out", &written_out("{'a': x, 'b': x}")),
        attempt("a list that holds itself three times, written out", &written_out("[x, x, x]")),
        attempt(
            "a macro that holds its argument twice",
            "{% macro f(x) %}{{ f([x, x]) }}{% endmacro %}{{ f(['a']) }}",
        ),
        attempt(
            "scopes that hold a list twice",
            &("{% with x = [x, x] %}".repeat(60) + &"{% endwith %}".repeat(60)),
        ),
        attempt("a shared list given a name in a loop", &within("{% set y = ns.x %}")),
        attempt("a shared list compared in a loop", &within("{% if ns.x == ns.x %}{% endif %}")),
        attempt("a shared list ordered in a loop", &within("{% if ns.x < ns.x %}{% endif %}")),
        attempt("a shared list printed in a loop", &within("{% set y = (ns.x | string) | length %}")),
        attempt("a shared list as JSON in a loop", &within("{% set y = (ns.x | tojson) | length %}")),
        attempt("a shared list put into a list in a loop", &within("{% set y = [[ns.x]] | length %}")),
        attempt(
            "a shared list called with in a loop",
            &("{% macro f(x) %}{% endmacro %}".to_owned() + &within("{{ f(ns.x) }}")),
        ),
        attempt(
            "a shared list grouped in a loop",
            &within("{% set y = ns.x | groupby(0) | list | length %}"),
        ),
    ]
}

fn little_by_little() -> Vec<Attempt> {
    let grown = |piece: &str| {
        format!(
            "{{% set ns = namespace(x='', l=[], d={{}}) %}}{{% for i in range(100000) %}}{{% set {piece} %}}{{% endfor %}}"
        )
    };
    vec![
        attempt("a text that grows by a letter", &grown("ns.x = ns.x ~ 'a'")),
        attempt("a text that grows by a letter in front", &grown("ns.x = 'a' + ns.x")),
        attempt("a list that grows by an item", &grown("ns.l = ns.l + [i]")),
        attempt("a list that grows by an item in a list", &grown("ns.l = (ns.l, [i]) | sum(start=[])")),
        attempt("a dict that grows by a key", &grown("ns.d = dict(ns.d, **{'k' ~ i: i})")),
        attempt("a text that grows by joining", &grown("ns.x = [ns.x, i] | join")),
        attempt("namespaces in namespaces", &grown("ns.l = namespace(x=ns.l)")),
        attempt(
            "a text whose first letter goes",
            "{% set ns = namespace(x='ab' * 1000000) %}{% for i in range(100000) %}{% set ns.x = ns.x[1:] %}{% endfor %}",
        ),
    ]
}

fn recursive() -> Vec<Attempt> {
    vec![
        attempt(
            "a loop that calls itself twice",
            "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{{ loop([1, 2]) }}{% endfor %}",
        ),
        attempt(
            "a loop that calls itself with more",
            "{% for x in [[1]] recursive %}{{ loop([x + x]) }}{% endfor %}",
        ),
        attempt(
            "a macro that calls itself as its caller",
            "{% macro f(n) %}{% call f(n) %}{{ caller }}{% endcall %}{% endmacro %}{{ f(1) }}",
        ),
        attempt(
            "callers that call callers",
            "{% macro f() %}{{ caller() }}{{ caller() }}{% endmacro %}CALLS"
                .replace("CALLS", &("{% call f() %}".repeat(40) + "x" + &"{% endcall %}".repeat(40)))
                .as_str(),
        ),
        attempt("a block that prints itself", "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}"),
        attempt(
            "two macros that call each other",
            "{% macro f(n) %}{{ g(n) }}{% endmacro %}{% macro g(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        ),
        attempt("a template that includes itself", "{% include 'default' %}"),
        attempt(
            "a template that includes itself twice",
            "{% include ['x', 'default'] %}{% include ['x', 'default'] ignore missing %}",
        ),
        attempt(
            "a template that extends itself",
            "{% extends 'default' %}{% block a %}{{ super() }}{% endblock %}",
        ),
        attempt(
            "a template that imports itself",
            "{% import 'default' as x %}{{ x.f() }}{% macro f() %}{{ f() }}{% endmacro %}",
        ),
    ]
}

/// What is done to a text `x` of four megabytes.
const ON_TEXT: &[(&str, &str)] = &[
    ("sliced", "x[i:]"),
    ("sliced in steps", "x[::2]"),
    ("turned around", "x[::-1]"),
    ("turned around by a filter", "x | reverse"),
    ("stripped", "x.strip('a')"),
    ("trimmed", "x | trim"),
    ("split", "x.split('c')"),
    ("split at the last", "x.rsplit('a', 1)"),
    ("partitioned", "x.split('b', 1)"),
    ("replaced", "x.replace('c', 'd')"),
    ("titled", "x.title()"),
    ("capitalized", "x | capitalize"),
    ("escaped", "x | e"),
    ("written as JSON", "x | tojson"),
    ("cut short", "x | truncate(10, true)"),
    ("wrapped", "x | wordwrap(1000)"),
    ("counted", "[x.count('c')]"),
    ("found", "[x.find('c')]"),
    ("begun", "[x.startswith(x)]"),
    ("counted in words", "[x | wordcount]"),
    ("quoted for the web", "x | urlencode"),
    ("without tags", "x | striptags"),
    ("made a number", "[x | int(0)]"),
    ("formatted", "'%s' % x"),
    ("formatted the other way", "'{}'.format(x)"),
    ("listed", "[x in [x ~ 'a']]"),
    ("a key", "{x: 1}"),
    ("looked up", "[messages[0][x]]"),
    ("looked for", "[x in messages[0]]"),
    ("got", "[messages[0].get(x)]"),
    ("an attribute", "[messages[0] | attr(x)]"),
    ("a function's name", "[none | default(x)]"),
    ("compared", "[x == x ~ '']"),
    ("ordered", "[x < x ~ '']"),
    ("shown", "[[x] | string]"),
    ("centered", "x | center(10)"),
    ("a namespace's field", "namespace({x: 1}) | list"),
    ("filled in", "'{}{}'.format(x, x)"),
    ("cut at its lines", "x.splitlines()"),
    ("stripped of an end", "x.removesuffix('c')"),
    ("a join's separator", "x.join(['a', 'b'])"),
];

/// What is done to a list `l` of a hundred thousand numbers.
const ON_LIST: &[(&str, &str)] = &[
    ("joined", "l | join"),
    ("unique", "l | unique | list"),
    ("grouped", "l | groupby('x') | list"),
    ("summed", "[l | sum]"),
    ("mapped", "l | map('string') | list"),
    ("selected", "l | select('odd') | list"),
    ("at its greatest", "[l | max]"),
    ("turned around", "l | reverse | list"),
    ("sliced", "l[1:]"),
    ("batched", "l | batch(2) | list"),
    ("cut to slices", "l | slice(2) | list"),
    ("searched", "[-1 in l]"),
    ("compared", "[l == l + []]"),
    ("printed", "l | string"),
    ("written as JSON", "l | tojson"),
    ("sorted", "l | sort(reverse=true)"),
    ("made a dict", "dict(l | map('string') | map('list'))"),
];

fn on_something_long() -> Vec<Attempt> {
    let again = |piece: &str| {
        format!(
            "{{% set x = 'ab' * 2000000 %}}{{% for i in range(100000) %}}{{% set y = ({piece}) | length %}}{{% endfor %}}"
        )
    };
    let mut attempts: Vec<Attempt> =
        ON_TEXT.iter().map(|(name, piece)| (leaked("a long text", name), again(piece))).collect();
    let again =
        |piece: &str| again(piece).replace("'ab' * 2000000 %}", "'' %}{% set l = range(100000) | list %}");
    attempts.extend(ON_LIST.iter().map(|(name, piece)| (leaked("a long list", name), again(piece))));
    attempts
}

/// A name made of two; there are few.
fn leaked(what: &str, name: &str) -> &'static str {
    format!("{what} {name} in a loop").leak()
}
