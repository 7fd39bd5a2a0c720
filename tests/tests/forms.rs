//! What is kept in form, what is refused, and in which words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_constraints::{GrammarLimits, JsonNumberRange, JsonSpacing, LlguidanceEngine};
use alloquy_core::grammar::{Grammar, GrammarEngine, GrammarMatcher, MatcherState};
use alloquy_core::output::OutputConstraints;
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::tokenizer::{TokenId, TokenizerInput};
use alloquy_core::{ChatModel, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{NoiseEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;
use serde_json::{Value, json};

fn request(grammar: Grammar, sampling: SamplingOptions) -> Request {
    Request::new(Preface::default(), vec![Message::user("Go!")])
        .sampling(SamplingOptions { temperature: Some(1.0), ..sampling })
        .output(OutputConstraints::default().grammar(grammar))
}

fn ask(constraints: LlguidanceEngine, request: Request) -> Result<Reply> {
    let builder = LanguageModel::builder(
        Generator::new(Arc::new(NoiseEngine::new(["<tool>"])), GeneratorOptions::default()).unwrap(),
    );
    let round = builder.template(TaggedTemplate).processor(TaggedProcessor).grammars(constraints).build()?;
    block_on(async { round.reply(request).await?.finish().await })
}

fn compile(grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>> {
    compile_with(LlguidanceEngine::default(), grammar)
}

fn compile_with(constraints: LlguidanceEngine, grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>> {
    constraints.prepare(&NoiseEngine::new(["<tool>"]).vocabulary())?.compile(grammar)
}

fn tokens(text: &str) -> Vec<TokenId> {
    NoiseEngine::new(["<tool>"]).tokenizer().encode(&[TokenizerInput::Text(text)]).unwrap()
}

/// How a grammar takes a text: not, as a beginning, or whole.
fn takes(grammar: &Grammar, text: &str) -> Option<MatcherState> {
    takes_with(LlguidanceEngine::default(), grammar, text)
}

fn takes_with(constraints: LlguidanceEngine, grammar: &Grammar, text: &str) -> Option<MatcherState> {
    let mut constraint = compile_with(constraints, grammar).unwrap();
    tokens(text).into_iter().try_for_each(|token| constraint.accept(token).ok())?;
    Some(constraint.progress().unwrap())
}

#[test]
fn a_form_is_open_until_it_may_end_and_complete_when_nothing_can_follow() {
    let choice = Grammar::choice(["yes", "yes!"]);
    let progress = ["", "y", "yes", "yes!", "no"].map(|text| takes(&choice, text));
    let wanted = [
        Some(MatcherState::Open),
        Some(MatcherState::Open),
        Some(MatcherState::MayEnd),
        Some(MatcherState::Complete),
        None,
    ];
    assert_eq!(progress, wanted);
}

#[test]
fn notations_mean_what_they_say() {
    let whole = |grammar: &Grammar, text: &str| {
        matches!(takes(grammar, text), Some(MatcherState::MayEnd | MatcherState::Complete))
    };
    let regex = Grammar::Regex(r#"a/b "\n[é-ü]{2}"#.to_owned());
    assert!(whole(&regex, "a/b \"\néü"));
    assert!(!whole(&regex, "a/b \"\né") && !whole(&regex, "xa/b \"\néü"));
    let lark = Grammar::Lark("start: \"a\" <tool> NAME\nNAME: /[a-z]+/".to_owned());
    assert!(whole(&lark, "a<tool>x"));
    let either =
        Grammar::AnyOf(vec![Grammar::choice(["x"]), Grammar::JsonSchema(json!({"type": "integer"}))]);
    assert!(whole(&either, "x") && whole(&either, "-12") && !whole(&either, "y"));
    let parts = [("number".to_owned(), Grammar::JsonSchema(json!({"const": 7})))].into();
    let composed = Grammar::Composed { lark: "start: \"<\" @number \">\"".to_owned(), parts };
    assert!(whole(&composed, "<7>") && !whole(&composed, "<8>"));
}

/// The text of a control token is text: the token itself is allowed where a grammar names it, and nowhere else.
#[test]
fn control_tokens_are_no_text() {
    let any = Grammar::Regex("(?s:.*)".to_owned());
    let mut constraint = compile(&any).unwrap();
    let mut logits = vec![0.0; 258];
    constraint.mask(&mut logits).unwrap();
    assert_eq!(logits[257], f32::NEG_INFINITY, "<tool> is allowed as text");
    assert_eq!(logits[256], 0.0, "the reply may not end");
    assert_eq!(logits[usize::from(b'<')], 0.0);
    assert!(constraint.accept(257).is_err());
}

#[test]
fn white_space_and_digits_have_bounds_unless_told_otherwise() {
    let object = Grammar::JsonSchema(json!({"type": "object", "properties": {"a": {"type": "number"}}}));
    let free = LlguidanceEngine::default().spacing(JsonSpacing::Free).numbers(JsonNumberRange::Any);
    let verdicts = [
        r#"{"a":1}"#,
        r#"{"a": 1.5}"#,
        r#"{ "a" : 1}"#,
        "{\"a\":\n1}",
        r#"{"a":1e5}"#,
        r#"{"a":0.123456789}"#,
    ]
    .map(|text| (takes(&object, text).is_some(), takes_with(free, &object, text).is_some()));
    let short = (true, true);
    let all = (false, true);
    assert_eq!(verdicts, [short, short, all, all, all, all]);
}

#[test]
fn a_reply_that_is_cut_says_so() {
    let string = || Grammar::JsonSchema(json!({"type": "string", "pattern": "^[a-z]{50,60}$"}));
    let limited = SamplingOptions { max_tokens: Some(5), ..SamplingOptions::default() };
    let reply = ask(LlguidanceEngine::default(), request(string(), limited)).unwrap();
    assert_eq!((reply.finish, reply.usage.generated), (FinishReason::Length, 5));
    assert_eq!(reply.warnings, [Warning::GrammarCut]);

    let spelled = Grammar::Regex("ab+ STOP".to_owned());
    let stopped = SamplingOptions { stop: vec!["ST".to_owned()], ..SamplingOptions::default() };
    let reply = ask(LlguidanceEngine::default(), request(spelled, stopped)).unwrap();
    assert_eq!(reply.finish, FinishReason::StopString);
    assert_eq!(reply.warnings, [Warning::GrammarCut]);
}

/// A form that is complete with the last token that is left is complete.
#[test]
fn the_last_token_may_complete_the_form() {
    let exact = SamplingOptions { max_tokens: Some(3), ..SamplingOptions::default() };
    let reply = ask(LlguidanceEngine::default(), request(Grammar::choice(["yes"]), exact)).unwrap();
    assert_eq!(
        (reply.message.text().as_str(), reply.finish, reply.usage.generated),
        ("yes", FinishReason::Stop, 3)
    );
    assert!(reply.warnings.is_empty());
}

#[test]
fn what_cannot_be_enforced_is_named() {
    let schemas = [
        json!({"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": true}}}),
        json!({"anyOf": [{"type": "integer"}, {"not": {"type": "string"}}]}),
        json!({"$defs": {"a": {"items": {"if": {}}}}, "$ref": "#/$defs/a"}),
        json!({"type": "string", "format": "unheard-of"}),
        json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}),
        json!({"$ref": "https://example.org/schema.json"}),
        json!({"type": "string", "pattern": "(?=a)b"}),
        json!({"properties": {"not": {"type": "string"}}, "unevaluatedProperties": false}),
    ];
    let sentence = |schema: Value| {
        let error = compile(&Grammar::JsonSchema(schema)).expect_err("the schema is enforced");
        format!("{:?}: {error:#}", error.kind())
    };
    let sentences = schemas.map(sentence);
    assert!(sentences.iter().all(|sentence| sentence.starts_with("Unsupported")), "{sentences:#?}");
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn what_is_no_grammar_is_invalid() {
    let grammars = [
        Grammar::JsonSchema(json!("string")),
        Grammar::JsonSchema(json!({"type": "strnig"})),
        Grammar::JsonSchema(json!(false)),
        Grammar::JsonSchema(json!({"type": "string", "x-guidance": {"lenient": true}})),
        Grammar::JsonSchema(json!({"type": "integer", "minimum": 3, "maximum": 2})),
        Grammar::Regex("(".to_owned()),
        Grammar::Lark("begin: \"a\"".to_owned()),
        Grammar::Choice(Vec::new()),
        Grammar::AnyOf(Vec::new()),
    ];
    let sentence = |grammar: &Grammar| {
        let error = compile(grammar).expect_err("the grammar is taken");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        error.to_string()
    };
    let sentences: Vec<_> = grammars.iter().map(sentence).collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn limits_are_on() {
    let rules: String = (0..400).map(|rule| format!("r{rule}: \"a{rule}\" r{}\n", rule + 1)).collect();
    let large = Grammar::Lark(format!("start: r0\n{rules}r400: \"end\""));
    let words: Vec<_> = (1..300).map(|word| format!("w{word}[a-z]{{1,{word}}}")).collect();
    let long = Grammar::Regex(words.join("|"));
    for (grammar, limits) in [
        (large, GrammarLimits { grammar_size: 100, ..GrammarLimits::default() }),
        (long, GrammarLimits { compile_fuel: 50, ..GrammarLimits::default() }),
    ] {
        assert!(compile(&grammar).is_ok());
        let error = compile_with(LlguidanceEngine::default().limits(limits), &grammar)
            .expect_err(&format!("off: {limits:?}"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
        assert!(error.to_string().len() < 400, "{error}");
    }
    let deep = Grammar::Lark("start: a\na: a a | \"x\" | \"\"".to_owned());
    let mut ambiguous =
        request(deep, SamplingOptions { max_tokens: Some(4000), ..SamplingOptions::default() });
    ambiguous.output.thinking_budget = None;
    // It may end anywhere and grows with each token: it ends, whether by itself or at a limit.
    if let Err(error) = ask(LlguidanceEngine::default(), ambiguous) {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    }
}

#[test]
fn a_round_without_constraints_says_what_to_add() {
    let builder = LanguageModel::builder(
        Generator::new(Arc::new(NoiseEngine::new([])), GeneratorOptions::default()).unwrap(),
    );
    let round = builder.template(TaggedTemplate).processor(TaggedProcessor).build().unwrap();
    let request = request(Grammar::choice(["yes"]), SamplingOptions::default());
    let error = block_on(round.reply(request)).expect_err("nothing keeps the form");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("alloquy-constraints"), "{error}");
}

/// A constraint is for one reply: the next one is as free as it asks.
#[test]
fn a_form_lives_for_one_turn() {
    let builder = LanguageModel::builder(
        Generator::new(Arc::new(NoiseEngine::new([])), GeneratorOptions::default()).unwrap(),
    );
    let builder = builder.template(TaggedTemplate).processor(TaggedProcessor);
    let round = builder.grammars(LlguidanceEngine::default()).build().unwrap();
    let conversation = alloquy_core::Conversation::new(round);
    let constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
    let answer =
        conversation.ask(alloquy_core::TurnRequest::from("Well?").output(constraints)).unwrap().text();
    assert!(["yes", "no"].contains(&answer.as_str()), "{answer:?}");
    let second = conversation.ask("And?").unwrap().text();
    assert!(!["yes", "no"].contains(&second.as_str()), "{second:?}");
}
