//! Flows that run: each kind of state, other processes, branches, two writers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod shared;

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::report::{CacheReport, TextScore};
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::store::MemoryStore;
use alloquy_core::{
    ChatModel, ConversationManager, Error, ErrorKind, Manager, NodeId, Preface, ReplyStream, Request, Result,
};
use alloquy_flows::{Answer, Condition, FlowRunner, FlowStep, Observation, Position, Progress, TracedStep};
use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply};
use pollster::block_on;
use serde_json::json;
use shared::{Counter, flow, texts};

const ORDER: &str = "
name: order
variables: {drink: string, cups: {type: integer, default: 1}}
limits: {visits: 5}
states:
  question:
    wait:
      say: Tea or coffee?
      expects: {enum: [tea, coffee]}
      set: drink
      else: help
    to:
      - {if: {keyword: [tea]}, to: cups}
      - {if: {equals: coffee}, to: cups}
  cups:
    wait: {say: 'How many cups of {{drink}}?', expects: {type: integer, minimum: 1}, set: cups}
    to: make
  make:
    call: {tool: kitchen, arguments: {drink: '{{drink}}', cups: '{{cups}}'}}
    to: thanks
  thanks:
    say: 'Here: {{last}}'
flows:
  help:
    states:
      hint: {say: We have tea and coffee.}
";

fn runner(conversation: &alloquy_core::Conversation, counter: &Counter) -> FlowRunner {
    FlowRunner::new(flow(ORDER), conversation.clone()).tool(counter.clone())
}

#[test]
fn a_flow_says_waits_calls_and_ends() {
    block_on(async {
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let counter = Counter::default();
        let runner = runner(&conversation, &counter);
        let Progress::Waiting { state, expects, waits } = runner.run().await.unwrap() else { panic!() };
        assert_eq!((state.as_str(), expects), ("question", Some(json!({"enum": ["tea", "coffee"]}))));
        assert_eq!(waits[0].node, conversation.head().await.unwrap());
        let refused = runner.resume("milk").await.unwrap_err();
        assert_eq!(refused.to_string(), "the answer is \"milk\", expected one of [\"tea\",\"coffee\"]");
        assert_eq!(runner.resume("tea").await.unwrap().state(), "cups");
        let ended = runner.resume(Answer::value(2)).await.unwrap();
        assert_eq!(ended, Progress::Ended { state: "thanks".into() });
        assert_eq!(runner.run().await.unwrap(), ended);
        let expected = [
            "assistant: Tea or coffee?",
            "user: tea",
            "assistant: How many cups of tea?",
            "user: 2",
            "assistant: ",
            "tool: kitchen 1",
            "assistant: Here: kitchen 1",
        ];
        assert_eq!(texts(&conversation).await, expected);
        assert_eq!(counter.arguments(), [json!({"drink": "tea", "cups": 2})]);
    });
}

#[test]
fn a_position_survives_another_manager_over_the_same_store() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = || Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let counter = Counter::default();
        let first = manager();
        let conversation = first.create(Preface::default()).await.unwrap();
        let id = conversation.id().clone();
        runner(&conversation, &counter).run().await.unwrap();
        drop((conversation, first));
        for answer in [Answer::from("coffee"), Answer::value(3)] {
            let manager = manager();
            let conversation = manager.open(&id).await.unwrap();
            runner(&conversation, &counter).resume(answer).await.unwrap();
        }
        let conversation = manager().open(&id).await.unwrap();
        let position = Position::of(&conversation.history().await.unwrap()).unwrap().unwrap();
        assert_eq!(position.state(), "thanks");
        assert_eq!(position.variables()["cups"], 3);
        // Import keeps the position too.
        let archive = manager().export(&id).await.unwrap();
        let elsewhere = Manager::builder(EchoModel).build().unwrap();
        let copy = elsewhere.import(&archive).await.unwrap();
        let ended = runner(&copy, &counter).run().await.unwrap();
        assert_eq!(ended, Progress::Ended { state: "thanks".into() });
        assert_eq!(counter.arguments().len(), 1);
    });
}

#[test]
fn an_answer_that_no_transition_takes_is_a_digression() {
    block_on(async {
        let text = ORDER.replace("      expects: {enum: [tea, coffee]}\n", "");
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(&text), conversation.clone()).tool(Counter::default());
        runner.run().await.unwrap();
        let progress = runner.resume("What do you have?").await.unwrap();
        assert_eq!(progress.state(), "question");
        let expected = [
            "assistant: Tea or coffee?",
            "user: What do you have?",
            "assistant: We have tea and coffee.",
            "assistant: Tea or coffee?",
        ];
        assert_eq!(texts(&conversation).await, expected);
        assert_eq!(runner.resume("tea then").await.unwrap().state(), "cups");
    });
}

#[test]
fn of_two_answers_at_once_one_continues_and_the_other_is_a_branch() {
    block_on(async {
        let store = Arc::new(alloquy_testing::FaultStore::new(MemoryStore::default()).slow());
        let manager = Manager::builder(EchoModel).store(store).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let counter = Counter::default();
        let (one, other) = (runner(&conversation, &counter), runner(&conversation, &counter));
        one.run().await.unwrap();
        let (first, second) = futures::join!(one.resume("tea"), other.resume("coffee"));
        let both = [first.unwrap(), second.unwrap()];
        let branched = both.iter().filter(|progress| matches!(progress, Progress::Branched { .. })).count();
        assert_eq!(branched, 1, "{both:?}");
        assert_eq!(both.iter().filter(|progress| progress.state() == "cups").count(), 1, "{both:?}");
        assert_eq!(conversation.branches().await.unwrap().len(), 2);
    });
}

#[test]
fn a_correction_is_a_branch_and_undo_goes_back() {
    block_on(async {
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let counter = Counter::default();
        let runner = runner(&conversation, &counter);
        runner.run().await.unwrap();
        runner.resume("tea").await.unwrap();
        runner.resume(Answer::value(1)).await.unwrap();
        let first: NodeId = conversation.history().await.unwrap()[1].id;
        assert_eq!(runner.correct(first, "coffee").await.unwrap().state(), "cups");
        runner.resume(Answer::value(4)).await.unwrap();
        assert_eq!(counter.arguments().len(), 2);
        assert_ne!(counter.keys()[0], counter.keys()[1]);
        assert_eq!(conversation.branches().await.unwrap().len(), 2);
        // The call has a result after the same node: it does not run again.
        let answered = conversation.history().await.unwrap()[3].id;
        conversation.goto(answered).await.unwrap();
        assert_eq!(runner.run().await.unwrap(), Progress::Ended { state: "thanks".into() });
        assert_eq!(counter.arguments().len(), 2);
        conversation.undo().await.unwrap();
        assert_eq!(runner.run().await.unwrap().state(), "cups");
        // Answers to the state that does not wait are refused.
        let refused = runner.resume(Answer::from("tea").state("question")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
    });
}

#[test]
fn a_model_is_asked_and_its_reply_is_a_variable() {
    block_on(async {
        let text = "
name: claim
states:
  assess:
    ask:
      text: 'Is a broken {{thing}} covered?'
      expects: {type: object, properties: {covered: {type: boolean}}, required: [covered]}
      set: assessment
      output: assessment
    to:
      - if: {schema: {properties: {covered: {const: true}}}}
        to: pay
      - to: refuse
  pay: {say: 'We pay: {{assessment.covered}}'}
  refuse: {say: We do not.}
";
        let model = ScriptedModel::replying([ScriptedReply::text(r#"{"covered": true}"#)]);
        let conversation = alloquy_core::Conversation::new(model);
        let runner = FlowRunner::new(flow(text), conversation.clone()).variable("thing", "window");
        assert_eq!(runner.run().await.unwrap().state(), "pay");
        let said = [
            "user: Is a broken window covered?",
            "assistant: {\"covered\": true}",
            "assistant: We pay: true",
        ];
        assert_eq!(texts(&conversation).await, said);
        let history = conversation.history().await.unwrap();
        assert_eq!(history[1].metadata["output"], "assessment");
        let steps = TracedStep::all(&history).unwrap();
        assert_eq!(steps[1].because[0].why, "the answer fits the schema");
    });
}

#[test]
fn an_approval_is_another_persons() {
    block_on(async {
        let text = "
name: pay
states:
  amount: {wait: {expects: {type: number}, set: amount}, to: approval}
  approval:
    approve: {say: 'Pay {{amount}}?', set: approved, deadline: 60, late: late}
    to:
      - {if: {equals: true}, to: paid}
      - to: refused
  paid: {say: Paid.}
  refused: {say: Refused.}
  late: {say: Nobody decided.}
";
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone());
        let progress = runner.resume(Answer::value(12.5).by("Ann")).await.unwrap();
        assert_eq!(progress.state(), "approval");
        for (answer, expected) in [
            (Answer::value(true), "needs the name"),
            (Answer::value(true).by("Ann"), "another person must"),
            (Answer::value("yes").by("Bea"), "expected true or false"),
        ] {
            let error = runner.resume(answer).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let head = conversation.head().await.unwrap().unwrap();
        assert_eq!(runner.due(head.created()).await.unwrap(), []);
        let tomorrow = head.created() + Duration::from_secs(86_400);
        assert_eq!(runner.due(tomorrow).await.unwrap()[0].late.as_deref(), Some("late"));
        assert_eq!(runner.run_late(head.created()).await.unwrap().state(), "approval");
        let copy = conversation.fork().await.unwrap();
        let late = FlowRunner::new(flow(text), copy).run_late(tomorrow).await.unwrap();
        assert_eq!(late, Progress::Ended { state: "late".into() });
        let paid = runner.resume(Answer::value(true).by("Bea")).await.unwrap();
        assert_eq!(paid, Progress::Ended { state: "paid".into() });
        let step = FlowStep::of(&conversation.history().await.unwrap()[2]).unwrap().unwrap();
        assert_eq!((step.by.as_deref(), step.decision), (Some("Bea"), Some(true)));
    });
}

const FORK: &str = "
name: parallel
variables: {price: integer, law: string, claim: string}
states:
  claim: {wait: {set: claim}, to: both}
  both:
    fork:
      price: {name: price, with: {of: '{{claim}}'}, set: {price: price}}
      law: {name: law, set: {law: opinion}}
    to: sum
  sum: {say: '{{price}} and {{law}}'}
flows:
  price:
    variables: {of: string, price: integer}
    states:
      ask: {wait: {say: 'What does {{of}} cost?', expects: {type: integer}, set: price}}
  law:
    variables: {opinion: string}
    states:
      intro: {say: Now the law., to: ask}
      ask: {wait: {say: Is it legal?, set: opinion}, to: thanks}
      thanks: {say: Thank you.}
";

#[test]
fn branches_of_a_fork_wait_at_once_and_are_joined() {
    block_on(async {
        for order in [["price", "law"], ["law", "price"]] {
            let conversation = alloquy_core::Conversation::new(EchoModel);
            let runner = FlowRunner::new(flow(FORK), conversation.clone());
            let Progress::Waiting { waits, .. } = runner.resume("a window").await.unwrap() else { panic!() };
            let branches: Vec<_> = waits.iter().filter_map(|wait| wait.branch.as_deref()).collect();
            assert_eq!(branches, ["price", "law"]);
            let mut last = None;
            for branch in order {
                let answer = if branch == "price" { Answer::value(30) } else { Answer::from("legal") };
                let runner = FlowRunner::new(flow(FORK), conversation.clone());
                last = Some(runner.resume(answer.branch(branch)).await.unwrap());
            }
            assert_eq!(last, Some(Progress::Ended { state: "sum".into() }), "{order:?}");
            assert_eq!(texts(&conversation).await, ["user: a window", "assistant: 30 and legal"]);
            assert_eq!(conversation.branches().await.unwrap().len(), 3);
            let step = FlowStep::of(&conversation.history().await.unwrap()[1]).unwrap().unwrap();
            assert_eq!(step.joined.len(), 2);
        }
    });
}

#[test]
fn a_changed_definition_is_reported() {
    block_on(async {
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let counter = Counter::default();
        runner(&conversation, &counter).run().await.unwrap();
        // The state is still there: it continues, and the next node knows the other definition.
        let changed = flow(&ORDER.replace("Here: ", "Enjoy: "));
        let next = FlowRunner::new(changed.clone(), conversation.clone()).tool(counter.clone());
        next.resume("tea").await.unwrap();
        let step = FlowStep::of(&conversation.history().await.unwrap()[1]).unwrap().unwrap();
        assert_eq!(step.before, Some(flow(ORDER).digest()));
        // The state is gone.
        let renamed =
            flow(&ORDER.replace("cups:\n    wait", "number:\n    wait").replace("to: cups", "to: number"));
        let progress =
            FlowRunner::new(renamed.clone(), conversation.clone()).tool(counter).run().await.unwrap();
        let (before, now) = (changed.digest(), renamed.digest());
        assert_eq!(progress, Progress::Changed { before, now, state: "cups".into() });
    });
}

#[test]
fn limits_end_a_flow() {
    block_on(async {
        for (limits, expected) in [
            ("steps: 3, visits: 9", Progress::TooManySteps { state: "again".into(), steps: 3 }),
            ("visits: 2", Progress::TooManyVisits { state: "again".into(), visits: 2 }),
        ] {
            let text = format!(
                "{{name: loop, limits: {{{limits}}}, states: {{again: {{say: Again., to: [{{if: {{keyword: [never]}}, to: end}}, again]}}, end: {{say: End.}}}}}}"
            );
            let runner = FlowRunner::new(flow(&text), alloquy_core::Conversation::new(EchoModel));
            assert_eq!(runner.run().await.unwrap(), expected);
        }
        let stuck = "{name: stuck, states: {ask: {wait: , to: [{if: {matches: '^[0-9]+$'}, to: end}]}, end: {say: End.}}}";
        let runner = FlowRunner::new(flow(stuck), alloquy_core::Conversation::new(EchoModel));
        let progress = runner.resume("no number").await.unwrap();
        let why = vec!["to end: the text does not match \"^[0-9]+$\"".to_owned()];
        assert_eq!(progress, Progress::Stuck { state: "ask".into(), why });
    });
}

#[test]
fn a_limit_of_time_ends_a_flow() {
    block_on(async {
        let text = "{name: slow, limits: {seconds: 0}, states: {one: {say: One., to: two}, two: {wait: , to: three}, three: {say: Three.}}}";
        let runner = FlowRunner::new(flow(text), alloquy_core::Conversation::new(EchoModel));
        assert_eq!(runner.run().await.unwrap().state(), "two");
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(
            runner.resume("late").await.unwrap(),
            Progress::TimedOut { state: "three".into(), seconds: 0 }
        );
        // The answer is stored all the same.
        assert_eq!(runner.run().await.unwrap().state(), "three");
    });
}

#[test]
fn a_late_answer_continues_elsewhere_and_only_then() {
    block_on(async {
        let text = "{name: late, states: {ask: {wait: {say: Well?, deadline: 60, late: nobody}}, nobody: {say: Nobody.}}}";
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone());
        runner.run().await.unwrap();
        let asked = conversation.history().await.unwrap()[0].id.created();
        let (early, late) = (asked + Duration::from_secs(59), asked + Duration::from_secs(60));
        assert_eq!(runner.due(early).await.unwrap(), []);
        assert_eq!(runner.run_late(early).await.unwrap().state(), "ask");
        let due = runner.due(late).await.unwrap();
        assert_eq!((due[0].due, due[0].late.as_deref()), (Some(late), Some("nobody")));
        assert_eq!(due, runner.waits().await.unwrap());
        assert_eq!(runner.run_late(late).await.unwrap(), Progress::Ended { state: "nobody".into() });
        assert_eq!(runner.due(late).await.unwrap(), []);
        let question = conversation.history().await.unwrap()[0].id;
        assert_eq!(runner.waits_at(question).await.unwrap()[0].state, "ask");
    });
}

/// A model that finds texts the likelier the longer they are.
#[derive(Debug)]
struct Scorer;

#[async_trait::async_trait]
impl ChatModel for Scorer {
    fn name(&self) -> &str {
        "scorer"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Err(Error::new(ErrorKind::Unsupported, "it writes nothing"))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        assert!(request.path.last().unwrap().text().ends_with("How angry?"));
        let score = |text: &String| {
            let token = TokenLogprob::new(0, text.len() as f32 - 100.0);
            TextScore::new(text.clone(), vec![token])
        };
        Ok(targets.iter().map(score).collect())
    }
}

#[test]
fn a_model_scores_the_options_of_a_condition() {
    block_on(async {
        let text = "
name: mood
states:
  letter:
    wait:
    to:
      - if: {model: {question: How angry?, options: ['very', 'not at all'], is: 'very', score: true}}
        to: calm
      - to: thank
  calm: {say: We are sorry.}
  thank: {say: Thank you.}
";
        let conversation = alloquy_core::Conversation::new(Scorer);
        let runner = FlowRunner::new(flow(text), conversation.clone());
        assert_eq!(runner.resume("Lovely!").await.unwrap().state(), "thank");
        let step = FlowStep::of(&conversation.history().await.unwrap()[1]).unwrap().unwrap();
        assert_eq!(step.because[0].not, ["to calm: the model answered \"not at all\""]);
        // Nothing but the steps is stored.
        assert_eq!(conversation.nodes().await.unwrap().len(), 2);
        // A model that cannot score is an error, and the answer stays.
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone());
        assert_eq!(runner.resume("Lovely!").await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(conversation.history().await.unwrap().len(), 1);
    });
}

#[test]
fn a_model_answers_the_question_of_a_condition() {
    block_on(async {
        let text = "
name: mood
states:
  letter:
    wait:
    to:
      - if: {model: {question: Is the customer angry?, options: ['yes', 'no'], is: 'yes'}}
        to: calm
      - if: {model: {question: Is the customer angry?, options: ['yes', 'no'], is: 'no'}}
        to: thank
  calm: {say: We are sorry.}
  thank: {say: Thank you.}
";
        // The question is put once.
        let model = ScriptedModel::replying([ScriptedReply::text(" NO ")]);
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone()).model(model);
        assert_eq!(runner.resume("Lovely!").await.unwrap().state(), "thank");
        let step = FlowStep::of(&conversation.history().await.unwrap()[1]).unwrap().unwrap();
        assert_eq!(step.because[0].why, "the model answered \"NO\"");
        assert_eq!(step.because[0].not, ["to calm: the model answered \"NO\""]);
    });
}

#[test]
fn values_are_no_templates() {
    block_on(async {
        let text =
            "{name: echo, states: {ask: {wait: {set: name}, to: hello}, hello: {say: 'Hello {{name}}!'}}}";
        let conversation = alloquy_core::Conversation::new(EchoModel);
        FlowRunner::new(flow(text), conversation.clone()).resume("{{last}} {{name}}").await.unwrap();
        assert_eq!(texts(&conversation).await[1], "assistant: Hello {{last}} {{name}}!");
        let history = conversation.history().await.unwrap();
        assert!(history[1].message.parts[1].source.is_some());
    });
}

#[test]
fn conditions_of_dataknobs_keep_their_truth() {
    let seen = |text: &str| Observation::new(text);
    for (condition, text, expected) in [
        (json!({"type": "sentiment", "expected": "negative"}), "I know nothing", true),
        (json!({"type": "sentiment", "expected": "positive", "threshold": 0.8}), "good but bad good", false),
        (json!({"type": "keyword", "keywords": ["cat"], "match_whole_word": true}), "concatenate", false),
        (json!({"type": "keyword", "keywords": [""]}), "x", true),
        (json!({"type": "composite", "operator": "or", "conditions": []}), "", false),
    ] {
        let holds = Condition::from_dataknobs(&condition).unwrap().holds(&seen(text)).unwrap();
        assert_eq!(holds, expected, "{condition} {text}");
    }
}

#[test]
fn who_answered_on_one_branch_of_a_fork_cannot_approve_on_another_or_later() {
    block_on(async {
        let text = "
name: pay
states:
  both: {fork: {amount: amount, law: law}, to: sign}
  sign: {approve: Sign?, to: done}
  done: {say: Done.}
flows:
  amount: {states: {ask: {wait: {say: How much?}}}}
  law: {states: {ask: {approve: Is it legal?}}}
";
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone());
        runner.run().await.unwrap();
        runner.resume(Answer::from("12 euros").by("Ann").branch("amount")).await.unwrap();
        for (by, is_allowed, state) in
            [("Ann", false, ""), ("Bea", true, "sign"), ("Ann", false, ""), ("Bea", true, "done")]
        {
            let progress = runner.resume(Answer::value(true).by(by)).await;
            assert_eq!(progress.is_ok(), is_allowed, "{by}: {progress:?}");
            if let Ok(progress) = progress {
                assert_eq!(progress.state(), state);
            }
        }
    });
}

#[test]
fn a_question_whose_reply_failed_is_asked_once() {
    block_on(async {
        let text = "{name: ask, states: {ask: {ask: 'How are you?', to: bye}, bye: {say: Bye.}}}";
        let replies = [ScriptedReply::Fails("Fi".into()), ScriptedReply::text("Fine.")];
        let conversation = alloquy_core::Conversation::new(ScriptedModel::replying(replies));
        let runner = FlowRunner::new(flow(text), conversation.clone());
        assert_eq!(runner.run().await.unwrap_err().kind(), ErrorKind::Backend);
        assert_eq!(runner.run().await.unwrap(), Progress::Ended { state: "bye".into() });
        assert_eq!(texts(&conversation).await, ["user: How are you?", "assistant: Fine.", "assistant: Bye."]);
    });
}

#[test]
fn a_model_calls_the_tools_that_its_state_names() {
    block_on(async {
        let text = "{name: ask, states: {ask: {ask: {text: Tea!, tools: kitchen, set: reply}, to: bye}, bye: {say: '{{reply}}'}}}";
        let call = alloquy_core::message::ToolCall::new("1", "kitchen", json!({"drink": "tea"}));
        let call = alloquy_core::Message::new(
            alloquy_core::Role::Assistant,
            vec![alloquy_core::Content::ToolCall(call)],
        );
        let replies = [ScriptedReply::from(alloquy_core::Reply::new(call)), ScriptedReply::text("Made.")];
        let conversation = alloquy_core::Conversation::new(ScriptedModel::replying(replies));
        let counter = Counter::default();
        let runner = FlowRunner::new(flow(text), conversation.clone()).tool(counter.clone());
        assert_eq!(runner.run().await.unwrap(), Progress::Ended { state: "bye".into() });
        assert_eq!(counter.arguments(), [json!({"drink": "tea"})]);
        let said = ["user: Tea!", "assistant: ", "tool: kitchen 1", "assistant: Made.", "assistant: Made."];
        assert_eq!(texts(&conversation).await, said);
    });
}

#[test]
fn messages_of_others_between_two_steps_stay() {
    block_on(async {
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = runner(&conversation, &Counter::default());
        runner.run().await.unwrap();
        conversation.send("By the way: hello!").await.unwrap();
        assert_eq!(runner.resume("tea").await.unwrap().state(), "cups");
        assert_eq!(texts(&conversation).await.len(), 5);
    });
}

#[test]
fn a_flow_begins_again_only_when_asked() {
    block_on(async {
        let text = "{name: hello, states: {hello: {say: 'Hello {{name}}!'}}}";
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let runner = FlowRunner::new(flow(text), conversation.clone()).variable("name", "Ann");
        runner.run().await.unwrap();
        runner.run().await.unwrap();
        assert_eq!(texts(&conversation).await.len(), 1);
        runner.begin().await.unwrap();
        assert_eq!(texts(&conversation).await.len(), 2);
        assert_eq!(runner.position().await.unwrap().unwrap().step, 1);
    });
}
