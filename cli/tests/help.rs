//! Help that teaches: every command has a description and examples that the program accepts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

/// Returns the names under "Commands:" of a help text, without `help` itself.
fn commands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let mut names = Vec::new();
    for line in list.lines().take_while(|line| !line.is_empty()) {
        // A description that takes several lines continues in a column of its own.
        if line.starts_with("  ") && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    names.retain(|name| name != "help");
    names
}

/// Returns the command lines of this program in the examples of a help text, each as its arguments.
fn examples(help: &str) -> Vec<Vec<String>> {
    let Some((_, lines)) = help.split_once("\nExamples:\n") else { return Vec::new() };
    let mut examples = Vec::new();
    for line in lines.lines().take_while(|line| !line.is_empty()) {
        // What an example does may continue on lines of its own, far from the margin.
        if line.starts_with("   ") {
            continue;
        }
        for command in commands_of(line) {
            // What an example does follows it after two spaces or more.
            let Some((_, arguments)) = command.split_once("alloquy ") else { continue };
            let arguments = arguments.split("  ").next().unwrap();
            let mut arguments = arguments;
            for redirection in [" < ", " > ", " >> "] {
                arguments = arguments.split(redirection).next().unwrap();
            }
            examples.push(shlex::split(arguments).unwrap_or_else(|| panic!("{arguments:?} is not closed")));
        }
    }
    examples
}

/// Returns the commands of a line of a shell: those of a pipe, and those whose output is an argument, as `1` there.
fn commands_of(line: &str) -> Vec<String> {
    if let Some((before, rest)) = line.split_once("$(") {
        let (inside, after) = rest.rsplit_once(')').unwrap();
        return [commands_of(&format!("{before}1{after}")), commands_of(inside)].concat();
    }
    line.split(" | ").map(str::to_owned).collect()
}

/// Checks the help of a command, and of those below it: it says what the command does, and its examples are accepted.
fn check_help(program: &Program, path: &[String]) {
    let mut arguments: Vec<_> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = program.run(&arguments).ok().out;
    let first = help.lines().next().unwrap();
    assert!(first.len() > 10 && first.starts_with(char::is_uppercase), "{path:?}: {first:?}");

    let below = commands(&help);
    if below.is_empty() {
        assert!(!examples(&help).is_empty(), "the help of {path:?} has no example");
    }
    for example in examples(&help) {
        // With --help at its end, a command line is read and not run; flags that do not exist are refused.
        let mut example: Vec<_> = example.iter().map(String::as_str).collect();
        example.push("--help");
        let ran = program.run(&example);
        assert_eq!(ran.code, Some(0), "an example of {path:?}: {example:?}\n{}", ran.err);
    }
    for name in below {
        check_help(program, &[path, &[name]].concat());
    }
}

#[test]
fn every_command_has_help_whose_examples_are_accepted() {
    check_help(&Program::new(), &[]);
}

#[test]
fn the_first_help_lists_every_command() {
    let help = Program::new().run(&["--help"]).ok().out;
    insta::assert_snapshot!("alloquy", help);
}

/// Returns the flags that a help text lists.
fn flags(help: &str) -> usize {
    let is_flag = |line: &&str| line.trim_start().starts_with('-') && line.starts_with("  ");
    help.lines().filter(is_flag).count()
}

#[test]
fn short_help_shows_the_common_flags() {
    let program = Program::new();
    for command in ["ask", "chat", "render"] {
        let short = program.run(&[command, "-h"]).ok().out;
        let long = program.run(&[command, "--help"]).ok().out;
        assert!(flags(&short) <= 25 && flags(&long) > 40, "{command}: {} of {}", flags(&short), flags(&long));
        assert!(short.contains("--model") && !short.contains("--penalty-window"), "{short}");
        assert!(short.contains("(see more with '--help')"), "{short}");
        assert!(!short.contains("[env: ") && long.contains("[env: ALLOQUY_MODEL]"), "{short}");
        assert!(short.lines().count() <= 80, "{short}");
    }
    let few = [["tree", "-h"], ["tree", "--help"]].map(|arguments| flags(&program.run(&arguments).ok().out));
    assert_eq!(few[0], few[1]);
}

#[test]
fn wrong_arguments_end_with_2() {
    let program = Program::new();
    for arguments in
        [&["bark"][..], &[], &["ask", "--top-k", "many", "Hello"], &["chat", "-c", "--conversation", "a"]]
    {
        assert_eq!(program.run(arguments).code, Some(2), "{arguments:?}");
    }
}

/// The table in docs/hub.md and that of the README come from the same file.
#[test]
fn the_help_on_models_names_public_ones() {
    let facts: serde_json::Value = serde_json::from_str(include_str!("../../docs/models.json")).unwrap();
    let help = Program::new().run(&["help", "models"]).ok().out;
    for model in facts["models"].as_array().unwrap() {
        for fact in ["name", "variant", "size", "licence"] {
            assert!(help.contains(model[fact].as_str().unwrap()), "{model}: {help}");
        }
    }
    assert!(!Program::new().run(&["models", "-h"]).ok().out.contains("SmolLM2"));
}
