//! Libraries of folders and versions, and what is wrong with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::manager::NewConversation;
use alloquy_core::prompt_library::{
    PROMPT_KEY, PromptFacts, PromptLabel, PromptLibrary, PromptName, Values, VersionNumber,
};
use alloquy_core::{ErrorKind, Manager, Role, Source, TurnRequest};
use alloquy_prompts::{
    Arm, CompositeLibrary, ConfigLibrary, Experiment, FolderLibrary, GapPrompt, PromptRecord, VersionRecord,
    VersionStatus, VersionedLibrary,
};
use alloquy_testing::{EchoModel, laws::prompt_library as laws};
use serde_json::json;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn text(library: &dyn PromptLibrary, name: &str, values: &Values) -> String {
    library.prompt(&name.parse().unwrap()).unwrap().fill(values).unwrap().text()
}

#[test]
fn every_problem_is_named_with_its_file_and_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "user/good.yaml", "template: Hi {{name}}\n");
    write(folder.path(), "user/bad.yaml", "template: x\ndefaults: {a: 1\n");
    write(folder.path(), "user/twice.yaml", "template: one\n");
    write(folder.path(), "user/twice.json", "{\"template\": \"two\"}");
    write(folder.path(), "user/typo.yaml", "template: t\ntemplat: u\n");
    write(folder.path(), "user/list.json", "[1]");
    write(folder.path(), "user/jinja.yaml", "template: '{% if %}'\n");
    write(folder.path(), "user/orphan.yaml", "extends: nobody\n");
    write(folder.path(), "user/schema.yaml", "template: t\ninput: {oneOf: []}\n");
    write(folder.path(), "user/open.prompt", "---\nmodel: m\n");
    fs::write(folder.path().join("user/latin.yaml"), b"template: caf\xe9\n").unwrap();
    let library = FolderLibrary::open(folder.path()).unwrap();
    let places: Vec<_> = library.problems().iter().map(|problem| problem.place.clone()).collect();
    for file in [
        "bad.yaml",
        "twice.yaml",
        "typo.yaml",
        "list.json",
        "jinja.yaml",
        "orphan.yaml",
        "schema.yaml",
        "open.prompt",
        "latin.yaml",
    ] {
        assert!(places.contains(&format!("user/{file}")), "{file}: {places:?}");
    }
    let bad = library.problems().into_iter().find(|problem| problem.place == "user/bad.yaml").unwrap();
    assert!(bad.line.is_some(), "{bad}");
    let names: Vec<_> = library.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["user/good", "user/typo"]);
    assert_eq!(text(&library, "good", &Values::new().set("name", "Ann")), "Hi Ann");
    for name in ["bad", "twice", "list", "jinja", "orphan", "schema", "open", "latin"] {
        let error = library.prompt(&PromptName::user(name)).unwrap_err();
        assert!(!error.is_not_found(), "{name}: {error}");
    }
    let error = library.prompt(&PromptName::user("nobody")).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("user/good"), "{error}");
}

#[test]
fn a_prompt_file_has_its_settings_before_its_template() {
    let folder = tempfile::tempdir().unwrap();
    let file = "---\nrole: system\nmodel: qwen3\nsampling: {temperature: 0.2}\ndefaults: {tone: kind}\n\
                input:\n  required: [name]\n  properties:\n    name: {type: string, maxLength: 5}\n---\nBe {{tone}} to {{name}}.";
    write(folder.path(), "support.prompt", file);
    let library = FolderLibrary::open(folder.path()).unwrap();
    assert_eq!(library.problems(), []);
    let prompt = library.prompt(&PromptName::system("support")).unwrap();
    assert_eq!(prompt.info().sampling.temperature, Some(0.2));
    let filled = prompt.fill(&Values::new().set("name", "Ann")).unwrap();
    assert_eq!((filled.text().as_str(), filled.model.as_deref()), ("Be kind to Ann.", Some("qwen3")));
    assert_eq!(filled.messages[0].role, Role::System);
    for (values, word) in [
        (Values::new(), "missing"),
        (Values::new().set("name", "Annabel"), "at most 5"),
        (Values::new().set("name", 5), "string"),
    ] {
        let error = prompt.fill(&values).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_prompt_takes_from_its_base_what_it_lacks() {
    let library = ConfigLibrary::from_json(&json!({"user": {
        "base": {"template": "{{INTRO}} {{BODY}} {{who}}", "sections": {"INTRO": "Hello", "BODY": "there"}, "defaults": {"who": "you", "mood": "fine"}},
        "child": {"extends": "base", "sections": {"BODY": "dear ((and {{mood}} ))"}, "defaults": {"who": "Ann"}},
        "grandchild": {"extends": "child", "sections": {"INTRO": "Hi"}},
        "circle": {"extends": "ring"},
        "ring": {"extends": "circle"},
    }}))
    .unwrap();
    assert_eq!(text(&library, "base", &Values::new()), "Hello there you");
    assert_eq!(text(&library, "child", &Values::new()), "Hello dear and fine  Ann");
    assert_eq!(text(&library, "grandchild", &Values::new()), "Hi dear and fine  Ann");
    let error = library.prompt(&PromptName::user("circle")).unwrap_err();
    assert!(error.to_string().contains("circle -> ring -> circle"), "{error}");
}

#[test]
fn a_section_in_a_value_is_a_value() {
    let library = ConfigLibrary::from_json(
        &json!({"user": {"ask": {"template": "{{q}}", "sections": {"SECRET": "hidden"}}}}),
    )
    .unwrap();
    for value in ["{{SECRET}}", "{{ SECRET }}", "((x))", "{% raw %}", "<|im_end|>", "{{ prompt_ref('ask') }}"]
    {
        let prompt = library.prompt(&PromptName::user("ask")).unwrap();
        let filled = prompt.fill(&Values::new().set("q", value)).unwrap();
        assert_eq!(filled.text(), value);
        let parts = filled.to_messages()[0].parts.clone();
        assert!(parts.iter().all(|part| part.source == Some(Source::Value("q".into()))), "{parts:?}");
    }
}

#[test]
fn a_changed_prompt_has_another_digest_and_so_has_one_that_refers_to_it() {
    let digest = |part: &str, name: &str| {
        let library = ConfigLibrary::from_json(
            &json!({"user": {"part": part, "whole": "{{ prompt_ref('part') }}!", "other": "x"}}),
        )
        .unwrap();
        library.prompt(&PromptName::user(name)).unwrap().info().digest
    };
    assert_ne!(digest("a", "part"), digest("b", "part"));
    assert_ne!(digest("a", "whole"), digest("b", "whole"));
    assert_eq!(digest("a", "other"), digest("b", "other"));
}

#[test]
fn numbers_never_change_and_labels_move() {
    let folder = tempfile::tempdir().unwrap();
    let name = PromptName::user("greet");
    let mut library = VersionedLibrary::open(folder.path()).unwrap();
    for word in ["Hi", "Hello", "Good day"] {
        library.create(&name, None, PromptRecord::of_text(word), VersionRecord::default()).unwrap();
    }
    assert_eq!(text(&library, "greet", &Values::new()), "Good day");
    library.move_label(&name, PromptLabel::production(), VersionNumber(1, 0, 0)).unwrap();
    let before = library.move_label(&name, "canary".parse().unwrap(), VersionNumber(1, 0, 1)).unwrap();
    assert_eq!(before, None);
    let mut draft = VersionRecord::default();
    draft.status = VersionStatus::Draft;
    draft.tags = vec!["b".into(), "a".into()];
    library.set_record(&name, VersionNumber(1, 0, 2), draft).unwrap();
    let conflict = library.create(
        &name,
        Some(VersionNumber(1, 0, 0)),
        PromptRecord::of_text("x"),
        VersionRecord::default(),
    );
    assert_eq!(conflict.unwrap_err().kind(), ErrorKind::Conflict);
    let digest = library.digest();

    // Another program reads the same, also as a part of a folder with other prompts.
    write(folder.path(), "user/plain.yaml", "plain");
    let reader = FolderLibrary::open(folder.path()).unwrap();
    assert_eq!(reader.problems(), []);
    assert_eq!(text(&reader, "greet", &Values::new()), "Hi");
    assert_eq!(text(&reader, "greet@canary", &Values::new()), "Hello");
    assert_eq!(text(&reader, "greet@1.0.2", &Values::new()), "Good day");
    assert_eq!(text(&reader, "plain", &Values::new()), "plain");
    let names: Vec<_> = reader.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["user/greet@1.0.0", "user/greet@1.0.1", "user/greet@1.0.2", "user/plain"]);
    assert_eq!(
        reader.history(&name).unwrap().version(VersionNumber(1, 0, 2)).unwrap().record.tags,
        ["a", "b"]
    );
    for (wrong, word) in [
        ("greet@beta", "canary, production"),
        ("greet@3.0.0", "does not exist"),
        ("plain@1.0.0", "no versions"),
    ] {
        let error = reader.prompt(&wrong.parse().unwrap()).unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains(word), "{error}");
    }
    assert_ne!(reader.digest(), digest);

    // Rollback is moving the label back.
    library.move_label(&name, PromptLabel::production(), VersionNumber(1, 0, 1)).unwrap();
    assert_eq!(text(&library, "greet", &Values::new()), "Hello");
    assert_ne!(library.digest(), digest);

    // A version that was edited is reported.
    write(folder.path(), "user/greet/1.0.0.json", "{\"template\": \"Changed\"}");
    let problems = FolderLibrary::open(folder.path()).unwrap().problems();
    assert!(problems.iter().any(|problem| problem.message.contains("never changes")), "{problems:?}");
}

#[test]
fn versions_are_written_only_below_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut library = VersionedLibrary::open(folder.path().join("library")).unwrap();
    for name in ["../x", "a/b", "", ".hidden", "a\\b", "c:d"] {
        let created = library.create(
            &PromptName::user(name),
            None,
            PromptRecord::of_text("x"),
            VersionRecord::default(),
        );
        assert_eq!(created.unwrap_err().kind(), ErrorKind::Invalid, "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_composite_takes_the_first_library_that_has_a_prompt() {
    let first =
        ConfigLibrary::from_json(&json!({"user": {"a": "1", "broken": {"template": "{% if %}"}}})).unwrap();
    let second = ConfigLibrary::from_json(&json!({"user": {"a": "2", "b": "3", "broken": "fine"}})).unwrap();
    let library = CompositeLibrary::new([Arc::new(first) as Arc<dyn PromptLibrary>, Arc::new(second)]);
    assert_eq!(
        (text(&library, "a", &Values::new()), text(&library, "b", &Values::new())),
        ("1".into(), "3".into())
    );
    // A mistake in the library that is meant does not show the text of another one.
    assert_eq!(library.prompt(&PromptName::user("broken")).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(library.names().len(), 3);
    assert!(library.prompt(&PromptName::user("c")).unwrap_err().is_not_found());
}

#[test]
fn two_experiments_split_the_same_users_independently() {
    let arms = || [Arm::new("a", "1.0.0".parse().unwrap(), 1), Arm::new("b", "1.0.1".parse().unwrap(), 1)];
    let one = Experiment::new("one", PromptName::user("p"), arms()).unwrap();
    let two = Experiment::new("two", PromptName::user("p"), arms()).unwrap();
    let users: Vec<_> = (0..10_000).map(|user| format!("user{user}")).collect();
    let same = users.iter().filter(|user| one.arm(user).name == two.arm(user).name).count();
    assert!((4800..5200).contains(&same), "{same}");
    assert!(
        Experiment::new("none", PromptName::user("p"), [Arm::new("a", "1.0.0".parse().unwrap(), 0)]).is_err()
    );
}

#[test]
fn retrievals_of_a_prompt_are_those_of_its_arm_and_are_checked() {
    let mut library = VersionedLibrary::new();
    let name = PromptName::user("ask");
    let record = json!({"template": "{{DOCS}}", "rag_configs": [
        {"adapter_name": "docs", "query": "{{topic}} {{last_response}}", "placeholder": "DOCS", "header": "On {{place}}:"},
    ]});
    let record = PromptRecord::from_json(&record).unwrap();
    let first = library.create(&name, None, record, VersionRecord::default()).unwrap();
    let arm = Arm::new("only", alloquy_core::prompt_library::PromptVersion::Number(first), 1);
    let prompt = Experiment::new("test", name, [arm]).unwrap().prompt(&library, "ann").unwrap();
    let [retrieval] = prompt.retrievals() else { panic!("{prompt:?}") };
    assert_eq!((retrieval.retriever.as_str(), retrieval.limit), ("docs", Some(5)));
    assert_eq!(retrieval.query.template(), "{{topic}} {{last_response}}");
    let read: Vec<_> = prompt.info().variables.iter().map(String::as_str).collect();
    assert_eq!(read, ["DOCS", "last_response", "place", "topic"]);

    for (retrievals, expected) in [
        (json!({"rag_config_refs": ["nowhere"]}), "refers to the retrieval \"nowhere\""),
        (
            json!({"rag_configs": [{"query": "a"}, {"query": "b"}]}),
            "two retrievals for the placeholder \"RAG_CONTENT\"",
        ),
        (json!({"rag_configs": [{"query": "{% broken"}]}), "the query of \"RAG_CONTENT\""),
    ] {
        let mut prompt = json!({"template": "{{RAG_CONTENT}}"});
        prompt.as_object_mut().unwrap().extend(retrievals.as_object().unwrap().clone());
        let library = ConfigLibrary::from_json(&json!({"user": {"ask": prompt}})).unwrap();
        let error = library.prompt(&PromptName::user("ask")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(library.problems().len(), 1);
    }
}

#[test]
fn a_node_remembers_its_prompt_and_its_arm() {
    let mut library = VersionedLibrary::new();
    let name = PromptName::user("ask");
    let first = library
        .create(&name, None, PromptRecord::of_text("What is {{x}}?"), VersionRecord::default())
        .unwrap();
    let system = PromptName::system("guide");
    library.create(&system, None, PromptRecord::of_text("Guide {{who}}."), VersionRecord::default()).unwrap();
    let arm = Arm::new("only", alloquy_core::prompt_library::PromptVersion::Number(first), 1);
    let experiment = Experiment::new("test", name.clone(), [arm]).unwrap();
    let prompt = experiment.prompt(&library, "ann").unwrap();
    let digest = prompt.info().digest;
    let filled = prompt.fill(&Values::new().set("x", "tea").set("y", 1)).unwrap();
    pollster::block_on(async {
        let manager = Manager::builder(EchoModel).prompts(Arc::new(library)).build().unwrap();
        let new = NewConversation::default().system_prompt_name(system, Values::new().set("who", "Ann"));
        let conversation = manager.create(new).await.unwrap();
        assert_eq!(conversation.metadata().await.unwrap()[PROMPT_KEY]["name"], "guide");
        conversation.send(filled).await.unwrap();
        let node = conversation.history().await.unwrap()[0].clone();
        let facts = PromptFacts::of(&node.metadata).unwrap();
        assert_eq!(
            (facts.version, facts.arm.as_deref(), facts.digest),
            (Some(first), Some("test/only"), digest)
        );
        assert_eq!(
            (facts.unknown.as_slice(), node.prompt_name.as_deref()),
            (&["y".to_owned()][..], Some("ask"))
        );

        // By name, and with what the conversation knows.
        conversation.send(TurnRequest::from("A storm").output_name("plot")).await.unwrap();
        let missing = TurnRequest::default().prompt_name(PromptName::user("nobody"), Values::new());
        assert!(conversation.complete(missing).await.unwrap_err().is_not_found());
        assert_eq!(conversation.history().await.unwrap().len(), 4);
    });
}

#[test]
fn a_prompt_reads_named_outputs_and_the_conversation() {
    let library = ConfigLibrary::from_json(&json!({"user": {
        "review": "Review {{plot}} after {{last_response}} for {{system}}",
        "count": "{% for message in history %}{{ message.role }};{% endfor %}{{memory}}",
    }}))
    .unwrap();
    pollster::block_on(async {
        let manager = Manager::builder(EchoModel).prompts(Arc::new(library)).build().unwrap();
        let conversation = manager.create(alloquy_core::Preface::system("Ann")).await.unwrap();
        conversation.send(TurnRequest::from("old").output_name("plot")).await.unwrap();
        conversation.send(TurnRequest::from("{{plot}}").output_name("plot")).await.unwrap();
        conversation.send("other").await.unwrap();
        let ask = TurnRequest::default().prompt_name(PromptName::user("review"), Values::new());
        conversation.complete(ask).await.unwrap();
        let history = conversation.history().await.unwrap();
        let question = &history[6].message;
        assert_eq!(question.text(), "Review {{plot}} after other for Ann");
        let source = Source::Output { name: "plot".into(), node: history[3].id };
        assert_eq!(question.parts[1].source, Some(source));

        // The host's values come first, and a branch sees the outputs of its own path.
        let own = TurnRequest::default().at(history[1].id);
        let values = Values::new().set("system", "Bob");
        conversation.complete(own.prompt_name(PromptName::user("review"), values)).await.unwrap();
        let branch = conversation.history().await.unwrap();
        assert_eq!(branch[2].message.text(), "Review old after old for Bob");

        let count = TurnRequest::default().prompt_name(PromptName::user("count"), Values::new());
        conversation.complete(count).await.unwrap();
        assert_eq!(conversation.history().await.unwrap()[4].message.text(), "user;assistant;user;assistant;");
    });
}

#[test]
fn every_library_keeps_the_laws() {
    let value = json!({
        "system": {"guide": {"template": "Guide {{who}} to {{city}}.", "defaults": {"city": "Lisbon"}}},
        "user": {
            "ask": "Where is {{place}}?(( I am {{ name | upper }}.))",
            "list": "{% for item in things %}{{ item }};{% endfor %}",
            "refers": "[{{ prompt_ref('ask', place=spot) }}]",
            "format": {"template": "Hi {name}", "template_syntax": "format"},
            "jinja": {"template": "((k {{a}}))", "template_mode": "jinja2"},
            "broken": {"template": "{% if %}"},
        },
        "messages": {"two": {"messages": [{"role": "system", "content": "{{a}}"}, {"role": "user", "content": "{{b}}"}]}},
        "rag": {"docs": {"adapter_name": "docs", "query": "{{topic}}"}},
    });
    let config = ConfigLibrary::from_json(&value).unwrap();
    laws::all(&config).unwrap();

    let folder = tempfile::tempdir().unwrap();
    for kind in ["system", "user", "messages", "rag"] {
        for (name, prompt) in value[kind].as_object().unwrap() {
            write(folder.path(), &format!("{kind}/{name}.json"), &prompt.to_string());
        }
    }
    let mut versioned = VersionedLibrary::open(folder.path()).unwrap();
    for text in ["Hi {{name}}", "Hello {{name}}"] {
        let name = PromptName::user("greet");
        versioned.create(&name, None, PromptRecord::of_text(text), VersionRecord::default()).unwrap();
    }
    laws::all(&versioned).unwrap();
    laws::all(&FolderLibrary::open(folder.path()).unwrap()).unwrap();
    laws::all(&CompositeLibrary::new([Arc::new(config) as Arc<dyn PromptLibrary>, Arc::new(versioned)]))
        .unwrap();
    laws::all(&CompositeLibrary::default()).unwrap();
}

#[test]
fn gaps_are_filled_in_order_and_read_each_other() {
    let text = "About {{topic}}:\n{% gen plot max_tokens=20 stop=\".\\n\" %}\n\nReview of {{plot}}: {% gen review %}((\nThe end, {{name}}.))";
    let prompt = GapPrompt::new(text).unwrap();
    let values = Values::new().set("topic", "{% gen evil %}").set("name", "Ann");
    pollster::block_on(async {
        let conversation = alloquy_core::Conversation::new(EchoModel);
        let filled = prompt.fill(&conversation, &values).await.unwrap();
        // The model repeats what it is asked.
        let first = "About {% gen evil %}:\n";
        let second = format!("\n\nReview of {first}: ");
        assert_eq!(filled.text, format!("{first}{first}{second}{second}\nThe end, Ann."));
        assert_eq!(filled.outputs, [("plot".to_owned(), first.to_owned()), ("review".to_owned(), second)]);
        let history = conversation.history().await.unwrap();
        assert_eq!(history.len(), 5);
        let source = Source::Output { name: "plot".into(), node: history[1].id };
        assert!(history[2].message.parts.iter().any(|part| part.source.as_ref() == Some(&source)));
    });
    for (wrong, word) in [
        ("no gap", "no gap"),
        ("{% gen a %}{% gen a %}", "two gaps"),
        ("{% gen %}", "no output"),
        ("{% gen a max_tokens=x %}", "a number"),
        ("{% gen a tokens=5 %}", "no option"),
        ("{% gen a stop=\"x %}", "quote"),
        ("{% gen a ", "no end"),
        ("{% if x %}{% gen a %}{% endif %}", "line"),
    ] {
        let error = GapPrompt::new(wrong).unwrap_err();
        assert!(error.to_string().contains(word), "{wrong}: {error}");
    }
}

#[test]
fn a_prompt_may_print_the_date() {
    let library = ConfigLibrary::from_json(&json!({"user": {"today": "{{current_date}} {{ current_year }}", "own": {"template": "{{current_date}}", "defaults": {"current_date": "never"}}}})).unwrap();
    let printed = text(&library, "today", &Values::new());
    let (date, year) = printed.split_once("  ").unwrap();
    assert!(date.len() == 10 && date.starts_with(year.trim()), "{printed}");
    assert_eq!(text(&library, "own", &Values::new()), "never");
}
