//! Flows from the shell: checked, drawn, run in one process and resumed in another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use alloquy::flows::Flow;
use program::Program;
use serde_json::{Value, json};

const ORDER: &str = "\
name: order
variables: {drink: string, cups: {type: integer, default: 1}}
states:
  question:
    wait: {say: Tea or coffee?, expects: {enum: [tea, coffee]}, set: drink}
    to: cups
  cups:
    wait: {say: 'How many cups of {{drink}}?', expects: {type: integer, minimum: 1}, set: cups}
    to:
      - {if: {at_least: {variable: cups, value: 10}}, to: approval}
      - to: thanks
  approval:
    approve: {say: 'So many? {{cups}}'}
    to:
      - {if: {equals: true}, to: thanks}
      - to: refusal
  thanks: {say: 'Here: {{cups}} {{drink}}.'}
  refusal: {say: So many cups we do not have.}
";

/// A program in whose folder the flow is.
fn program() -> Program {
    let program = Program::new();
    program.write("order.yaml", ORDER);
    program
}

fn json_of(program: &Program, arguments: &[&str]) -> Value {
    program.run(&[arguments, &["--json"]].concat()).ok().events().remove(0)
}

#[test]
fn a_flow_is_run_by_one_process_and_resumed_by_others() {
    let program = program();
    // No model is loaded for a flow that asks none.
    let run = program.run(&["flow", "run", "order.yaml", "tea", "--model", "nowhere"]).ok();
    assert_eq!(run.out, "Tea or coffee?\n");
    assert!(run.err.contains("(resume: alloquy flow resume tea ANSWER)"), "{run:?}");
    assert!(run.err.contains(r#"an answer that fits {"enum":["tea","coffee"]}"#), "{run:?}");
    let refused = program.run(&["flow", "resume", "tea", "milk"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.errors(), [r#"error: the answer is "milk", expected one of ["tea","coffee"]"#]);
    assert_eq!(program.run(&["flow", "resume", "tea", "coffee"]).ok().out, "How many cups of coffee?\n");
    // Piped in, and in the conversation that was updated last.
    let ended = program.run_with(&["flow", "resume"], "2\n").ok();
    assert_eq!(ended.out, "Here: 2 coffee.\n");
    assert!(ended.err.contains("(the flow ended at thanks; conversation tea)"), "{ended:?}");
    let more = program.run(&["flow", "resume", "tea", "3"]);
    assert_eq!(more.code, Some(1), "{more:?}");
    assert!(more.errors()[0].contains("the flow has ended"), "{more:?}");
}

#[cfg(unix)]
#[test]
fn a_definition_that_was_piped_in_is_not_read_from_there_again() {
    let program = Program::new();
    program.run_with(&["flow", "run", "/dev/stdin", "tea"], ORDER).ok();
    let ran = program.run_with(&["flow", "resume", "tea"], "coffee\n").ok();
    assert_eq!(ran.out, "How many cups of coffee?\n", "{ran:?}");
}

#[test]
fn an_approval_is_yes_or_no_of_somebody() {
    let program = program();
    program.run(&["flow", "run", "order.yaml", "big"]).ok();
    program.run(&["flow", "resume", "big", "tea", "--by", "Ann"]).ok();
    program.run(&["flow", "resume", "big", "12", "--by", "Ann"]).ok();
    let wrong = [
        (&["maybe", "--by", "Bea"][..], "\"maybe\" is no decision, expected yes or no"),
        (&["yes"], "add --by NAME"),
    ];
    for (arguments, message) in wrong {
        let ran = program.run(&[&["flow", "resume", "big"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.errors()[0].contains(message), "{ran:?}");
    }
    let own = program.run(&["flow", "resume", "big", "yes", "--by", "Ann"]);
    assert_eq!(own.code, Some(1), "{own:?}");
    assert!(own.errors()[0].contains("another person must"), "{own:?}");
    let ended = json_of(&program, &["flow", "resume", "big", "no", "--by", "Bea"]);
    assert_eq!(ended["progress"], json!({"progress": "ended", "state": "refusal"}));
    assert_eq!((&ended["steps"][0]["by"], &ended["steps"][0]["decision"]), (&json!("Bea"), &json!(false)));
}

#[test]
fn a_fork_and_its_original_go_two_ways() {
    let program = program();
    program.run(&["flow", "run", "order.yaml", "one"]).ok();
    program.run(&["fork", "--conversation", "one", "--name", "two"]).ok();
    program.run(&["flow", "resume", "one", "tea"]).ok();
    program.run(&["flow", "resume", "two", "coffee"]).ok();
    let drink = |name: &str| json_of(&program, &["flow", "status", name])["variables"]["drink"].clone();
    assert_eq!([drink("one"), drink("two")], ["tea", "coffee"]);
}

#[test]
fn a_correction_is_another_branch() {
    let program = program();
    program.run(&["flow", "run", "order.yaml", "tea"]).ok();
    program.run(&["flow", "resume", "tea", "tea"]).ok();
    program.run(&["flow", "resume", "tea", "2"]).ok();
    let corrected = program.run(&["flow", "resume", "tea", "3", "--correct", "0.0.0"]).ok();
    assert_eq!(corrected.out, "Here: 3 tea.\n");
    assert_eq!(program.run(&["branches", "--conversation", "tea"]).ok().out.lines().count(), 2);
    let wrong = program.run(&["flow", "resume", "tea", "3", "--correct", "0.0.0.0.0"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.errors()[0].contains("no state waited at \"0.0.0.0.0\""), "{wrong:?}");
}

#[test]
fn status_has_the_position_the_variables_and_the_trace() {
    let program = program();
    program.run(&["flow", "run", "order.yaml", "tea", "--set", "cups:=4"]).ok();
    program.run(&["flow", "resume", "tea", "tea"]).ok();
    program.run(&["flow", "resume", "tea", "5"]).ok();
    let text = program.run(&["flow", "status", "tea"]).ok().out;
    insta::assert_snapshot!("flow_status", text);
    let status = json_of(&program, &["flow", "status", "tea"]);
    assert_eq!(status["variables"], json!({"cups": 5, "drink": "tea"}));
    assert_eq!(status["trace"][4]["because"][0]["transition"], 1);
}

#[test]
fn deadlines_are_listed_and_late_answers_are_passed_over() {
    let program = Program::new();
    let text = "name: name\nstates:\n  name: {wait: {say: Your name?, deadline: 0, late: nobody}}\n  nobody: {say: Nobody.}\n";
    program.write("name.yaml", text);
    program.run(&["flow", "run", "name.yaml", "late"]).ok();
    let due = json_of(&program, &["flow", "status", "--due"]);
    assert_eq!((&due["due"][0]["conversation"], &due["due"][0]["late"]), (&json!("late"), &json!("nobody")));
    assert_eq!(program.run(&["flow", "resume", "late", "--late"]).ok().out, "Nobody.\n");
    assert_eq!(json_of(&program, &["flow", "status", "--due"]), json!({"due": []}));
}

#[test]
fn problems_have_lines_and_columns() {
    let program = program();
    program.write("bad.yaml", "name: x\nstates:\n  a:\n    say: hi\n    to: b\n");
    program.write("no.yaml", "name: [\n");
    program.run(&["flow", "check", "order.yaml"]).ok();
    let ran = program.run(&["flow", "check", "order.yaml", "bad.yaml", "no.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let expected = "bad.yaml:5:5: error: there is no state \"b\"; the states are: a (states.a.to)\n\
                    no.yaml: error: line 1 of the flow is no YAML: unclosed bracket '[' at line 1, column 7\n";
    assert_eq!(ran.out, expected);
    let ran = program.run(&["flow", "check", "bad.yaml", "--json"]);
    let problem = &ran.events()[0]["files"][0]["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&json!(5), &json!(5)));
    let run = program.run(&["flow", "run", "bad.yaml"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.errors()[0].contains("there is no state \"b\""), "{run:?}");
}

#[test]
fn drawings_are_those_of_the_library() {
    let program = program();
    let flow = Flow::from_yaml(ORDER).unwrap();
    assert_eq!(program.run(&["flow", "draw", "order.yaml"]).ok().out, flow.mermaid(None));
    program.run(&["flow", "draw", "order.yaml", "--output", "order.svg"]).ok();
    assert_eq!(std::fs::read_to_string(program.path("order.svg")).unwrap(), flow.svg(None));
    program.run(&["flow", "run", "order.yaml", "tea"]).ok();
    let now = program.run(&["flow", "draw", "-c"]).ok().out;
    assert!(now.contains("class s0 now"), "{now}");
    assert_ne!(now, flow.mermaid(None));
}

#[test]
fn a_definition_that_changed_or_is_gone_is_reported() {
    let program = program();
    program.run(&["flow", "run", "order.yaml", "tea"]).ok();
    program.write("order.yaml", &ORDER.replace("Here: ", "Look: "));
    let ran = program.run(&["flow", "resume", "tea", "tea"]).ok();
    assert!(ran.err.contains("the definition has changed since the last step"), "{ran:?}");
    std::fs::remove_file(program.path("order.yaml")).unwrap();
    let ran = program.run(&["flow", "resume", "tea", "2"]).ok();
    assert!(
        ran.err.contains("order.yaml cannot be read; the flow continues as it was defined before"),
        "{ran:?}"
    );
    assert_eq!(ran.out, "Look: 2 tea.\n");
    // A state that is gone stops the flow.
    program.write("order.yaml", ORDER);
    program.run(&["flow", "run", "order.yaml", "other"]).ok();
    program.write("order.yaml", "name: order\nstates:\n  hello: {say: Hello!}\n");
    let ran = program.run(&["flow", "resume", "other", "tea"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.errors()[0].contains("is at \"question\", which its definition no longer has"), "{ran:?}");
}

#[test]
fn wrong_arguments_are_quoted() {
    let program = program();
    program.write("call.yaml", "name: call\nstates:\n  pay: {call: {tool: pay, arguments: {}}}\n");
    program.run(&["flow", "run", "order.yaml", "known"]).ok();
    let wrong: [(&[&str], i32, &str); 9] = [
        (&["flow", "resume", "known", "tea", "--flow", "none.yaml"], 2, "flow \"none.yaml\" cannot be read"),
        (&["flow", "status", "--due", "--flow", "none.yaml"], 2, "flow \"none.yaml\" cannot be read"),
        (&["flow", "run", "none.yaml"], 2, "flow \"none.yaml\" cannot be read"),
        (&["flow", "check", "none.yaml"], 2, "flow \"none.yaml\" cannot be read"),
        (
            &["flow", "run", "order.yaml", "--set", "cups=2"],
            2,
            "the variable \"cups\" is \"2\", expected type integer",
        ),
        (
            &["flow", "run", "order.yaml", "--set", "cup=2"],
            2,
            "has no variable \"cup\", expected one of cups, drink",
        ),
        (&["flow", "run", "call.yaml"], 2, "flow \"call\" calls pay, and there is no terminal"),
        (&["flow", "draw"], 2, "no flow is named"),
        (&["flow", "resume", "nowhere", "tea"], 1, "conversation \"nowhere\" does not exist"),
    ];
    for (arguments, code, message) in wrong {
        let ran = program.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.errors()[0].contains(message), "{arguments:?}: {ran:?}");
    }
    let listed = program.run(&["conversations", "--json"]).ok().events().remove(0);
    let count = listed["conversations"].as_array().unwrap().len();
    assert_eq!(count, 1, "a flow that cannot run leaves nothing");
}

#[test]
fn a_flow_that_asks_the_model_is_answered_by_the_built_in_one() {
    let program = Program::new();
    let text = "name: talk\nstates:\n  sum: {ask: {text: 'What is 12 + 30?', set: reply}, to: end}\n  end: {say: 'So {{reply}}'}\n";
    program.write("talk.yaml", text);
    assert_eq!(program.run(&["flow", "run", "talk.yaml"]).ok().out, "12 + 30 = 42\nSo 12 + 30 = 42\n");
}
