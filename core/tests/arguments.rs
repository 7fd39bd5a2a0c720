//! The arguments of a processor come from the call, the conversation and the preface, in this order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::Preface;
use alloquy_core::arguments::{
    InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn arguments() -> impl Strategy<Value = ProcessorArguments> {
    let names = prop::sample::select(vec!["enable_thinking", "thinking", "date_string", "documents"]);
    let extra = prop::collection::hash_map(names, any::<u8>(), 0..3);
    let thinking = prop::option::of(prop::sample::select(vec![ThinkingSwitch::On, ThinkingSwitch::Off]));
    let histories = vec![ThinkingHistory::Keep, ThinkingHistory::StripBeforeLastUser, ThinkingHistory::Strip];
    let history = prop::option::of(prop::sample::select(histories));
    let policies = vec![
        InjectionPolicy::default(),
        InjectionPolicy::allow(["<end>"]),
        InjectionPolicy::trust([TextSource::System]).and_allow(["<think>"]),
        InjectionPolicy::unprotected(),
    ];
    let injection = prop::option::of(prop::sample::select(policies));
    (extra, thinking, history, injection).prop_map(|(extra, thinking, history, injection)| {
        let mut arguments = ProcessorArguments::default();
        arguments.extra = extra.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        (arguments.thinking, arguments.history, arguments.injection) = (thinking, history, injection);
        arguments
    })
}

/// What the levels decide, the first of them first, written down variable by variable; the switches of thinking are
/// one thing.
fn decided(levels: &[&ProcessorArguments]) -> Map<String, Value> {
    let is_switch = |name: &String| ["enable_thinking", "thinking"].contains(&name.as_str());
    let mut variables = Map::new();
    for level in levels {
        let switched = variables.keys().any(is_switch);
        for (name, value) in level.variables() {
            if !(switched && is_switch(&name)) {
                variables.entry(name).or_insert(value);
            }
        }
    }
    variables
}

fn sorted(variables: Map<String, Value>) -> Vec<(String, Value)> {
    let mut variables: Vec<_> = variables.into_iter().collect();
    variables.sort_by(|left, right| left.0.cmp(&right.0));
    variables
}

proptest! {
    #[test]
    fn the_first_level_that_sets_a_value_decides(
        call in arguments(), conversation in arguments(), preface in arguments(),
    ) {
        let joined = call.clone().or(&conversation).or(&preface);
        let levels = [&call, &conversation, &preface];
        prop_assert_eq!(sorted(joined.variables()), sorted(decided(&levels)));
        prop_assert_eq!(joined.history, levels.iter().find_map(|level| level.history));
        prop_assert_eq!(joined.injection, levels.iter().find_map(|level| level.injection.clone()));
    }

    #[test]
    fn joining_is_associative(
        call in arguments(), conversation in arguments(), preface in arguments(),
    ) {
        let front = call.clone().or(&conversation).or(&preface);
        let back = call.or(&conversation.or(&preface));
        prop_assert_eq!(sorted(front.variables()), sorted(back.variables()));
        prop_assert_eq!((front.history, front.injection), (back.history, back.injection));
    }

    #[test]
    fn a_preface_reads_back_as_it_was(arguments in arguments()) {
        let preface = Preface::system("Be brief.").arguments(arguments);
        let text = serde_json::to_string(&preface).unwrap();
        prop_assert_eq!(serde_json::from_str::<Preface>(&text).unwrap(), preface);
    }
}

#[test]
fn prefaces_that_were_stored_before_there_were_arguments_are_read() {
    let stored = json!({"messages": [], "extra": {"enable_thinking": false}});
    let preface: Preface = serde_json::from_value(stored).unwrap();
    assert_eq!(preface, Preface::default().extra("enable_thinking", false));
    assert_eq!(serde_json::to_value(&preface).unwrap(), json!({"extra": {"enable_thinking": false}}));
}

#[test]
fn arguments_are_written_as_names() {
    let policy = InjectionPolicy::allow(["<think>"]).and_trust([TextSource::ToolSpecs, TextSource::System]);
    let arguments = ProcessorArguments::default()
        .extra("date_string", "today")
        .thinking(ThinkingSwitch::Off)
        .history(ThinkingHistory::StripBeforeLastUser)
        .injection(policy);
    insta::assert_json_snapshot!(arguments);
}

#[test]
fn a_policy_with_an_unknown_field_is_refused() {
    let policy = serde_json::from_value::<InjectionPolicy>(json!({"token": ["<think>"]}));
    assert!(policy.unwrap_err().to_string().contains("unknown field `token`"));
}

#[test]
fn the_thinking_switch_sets_both_variables_and_a_variable_overrides_it() {
    let off = ProcessorArguments::default().thinking(ThinkingSwitch::Off);
    assert_eq!(Value::from(off.variables()), json!({"enable_thinking": false, "thinking": false}));
    let both = off.clone().extra("enable_thinking", true);
    assert_eq!(Value::from(both.variables()), json!({"enable_thinking": true}));
    let preface = ProcessorArguments::default().extra("thinking", true).extra("date_string", "today");
    let joined = json!({"date_string": "today", "enable_thinking": false, "thinking": false});
    assert_eq!(Value::from(off.or(&preface).variables()), joined);
}
