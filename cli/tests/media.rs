//! Images and audio clips on the command line: what is read, what is refused, and what to do then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

/// Runs the program with the model that it carries, which reads text alone; it has to fail with one error.
fn refused(program: &Program, arguments: &[&str], stdin: &str) -> String {
    let ran = program.run_with(arguments, stdin);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    program.redacted(ran.errors().first().unwrap())
}

fn with_files() -> Program {
    let program = Program::new();
    program.write("cat.gif", "GIF89a and so on");
    program.write("letter.txt", "Dear diary");
    program
}

#[test]
fn files_that_are_no_media_are_refused_before_a_model_is_loaded() {
    let program = with_files();
    for (arguments, expected) in [
        (["ask", "--image", "nowhere.png", "What?"], "the file \"nowhere.png\" cannot be read"),
        (
            ["ask", "--image", "letter.txt", "What?"],
            "not an image file of a known format (image/png, image/jpeg",
        ),
        (["ask", "--audio", "cat.gif", "What?"], "not an audio file of a known format (audio/wav"),
        (["ask", "--image", ".", "What?"], "is not a regular file"),
        (["ask", "--image", "https://example.org/cat.png", "What?"], "download it and name the file"),
    ] {
        let reported = refused(&program, &arguments, "");
        assert!(reported.contains(expected), "{reported}");
    }
}

#[test]
fn a_document_has_its_media_inside_of_one_folder() {
    let program = with_files();
    let document =
        |path: &str| format!(r#"[{{"role": "user", "content": [{{"type": "image", "path": "{path}"}}]}}]"#);
    let convert = ["convert", "--from", "litert", "--to", "aki"];
    let rooted = [&convert[..], &["--media-root", "."]].concat();
    let converted = program.run_with(&rooted, &document("cat.gif")).ok().out;
    assert!(converted.contains("data:image/gif;base64,R0lGODlhIGFuZCBzbyBvbg=="), "{converted}");
    let nowhere = [&convert[..], &["--media-root", "nowhere"]].concat();
    for (arguments, path, expected) in [
        (&convert[..], "cat.gif", "name the folder that it may come from with --media-root DIR"),
        (&rooted[..], "../cat.gif", "leads out of the folder"),
        (&rooted[..], "letter.txt", "not an image file of a known format"),
        (&nowhere[..], "cat.gif", "the media folder \"nowhere\" cannot be opened"),
    ] {
        let reported = refused(&program, arguments, &document(path));
        assert!(reported.contains(expected), "{reported}");
    }
}

#[test]
fn a_model_of_texts_says_that_it_is_one() {
    if !cfg!(feature = "pocket") {
        eprintln!("Skipping: the program carries no model");
        return;
    }
    let program = with_files();
    let reported = refused(&program, &["ask", "--image", "cat.gif", "What?"], "");
    assert!(reported.contains("takes no image; it takes: text"), "{reported}");
    let reported = refused(&program, &["chat", "--image", "cat.gif"], "What?\n");
    assert!(reported.contains("takes no image; it takes: text"), "{reported}");
    // Refused where it is attached: what is said next is not lost with it.
    let reported = refused(&program, &["chat", "-q"], "/image cat.gif\nWhat?\n");
    assert!(reported.contains("takes no image; it takes: text"), "{reported}");
    assert_eq!(program.run(&["conversations"]).ok().out, "", "nothing was asked");
}

/// A template that has a place for images; the tiny models' own knows none.
const SEEING: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{% for part in message.content %}\
    {% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}\
    {% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

/// A folder of media with an image, an image beside it, and a link from the one to the other.
fn with_a_folder() -> Option<Program> {
    let image = shared::find("cases/media/inputs/image/apng_160x120.png")?;
    let program = Program::new();
    std::fs::create_dir(program.path("media")).unwrap();
    for name in ["media/cat.png", "dog.png"] {
        std::fs::copy(&image, program.path(name)).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(program.path("dog.png"), program.path("media/link.png")).unwrap();
    program.write("seeing.jinja", SEEING);
    Some(program)
}

/// What leads out of the folder of media, and what is said then.
fn ways_out() -> Vec<(&'static str, &'static str)> {
    let link = cfg!(unix).then_some(("link.png", "leads out of the folder"));
    let others = [("../dog.png", "leads out of the folder"), ("lion.png", "lion.png")];
    link.into_iter().chain(others).collect()
}

#[test]
fn render_shows_what_an_image_of_a_document_takes_and_reads_no_file_outside_of_the_folder() {
    let (Some(program), Some(model)) = (with_a_folder(), shared::find("models/tiny/tjs-qwen2.5-vl")) else {
        return;
    };
    let program = program.variable("ALLOQUY_MODEL", model);
    let document = |path: &str| {
        format!(
            r#"[{{"role": "user", "content": [{{"type": "image", "path": "{path}"}}, {{"type": "text", "text": "What?"}}]}}]"#
        )
    };
    let render = ["render", "--template", "seeing.jinja", "--from", "litert", "--media-root", "media"];
    let shown = |stage: &str| {
        program.run_with(&[&render[..], &["--show", stage]].concat(), &document("cat.png")).ok().out
    };
    insta::assert_snapshot!([shown("text"), shown("parts"), shown("ids")].join("\n"));
    let json =
        program.run_with(&[&render[..], &["--json"]].concat(), &document("cat.png")).ok().events().remove(0);
    let media = json["parts"].as_array().unwrap().iter().find(|part| part.get("media").is_some()).unwrap();
    assert_eq!((&media["kind"], &media["positions"]), (&"image".into(), &24.into()));
    let capped = [&render[..], &["--show", "parts", "--pixel-cap", "5000"]].concat();
    let capped = program.run_with(&capped, &document("cat.png")).ok();
    assert!(capped.out.contains("image of 4 positions"), "{capped:?}");
    assert!(capped.err.contains("made smaller"), "{capped:?}");
    for (path, expected) in ways_out() {
        let reported = refused(&program, &render, &document(path));
        assert!(reported.contains(expected), "{reported}");
    }
}

#[test]
fn import_takes_the_images_of_a_folder_and_no_others() {
    let Some(program) = with_a_folder() else { return };
    let talk = |path: &str| {
        let line = format!(
            r#"{{"messages": [{{"role": "user", "content": [{{"type": "image", "path": "{path}"}}, {{"type": "text", "text": "What?"}}]}}]}}"#
        );
        program.write("talk.jsonl", &(line + "\n"));
    };
    let import = ["import", "talk.jsonl", "--from", "openai"];
    let rooted = [&import[..], &["--media-root", "media"]].concat();
    talk("cat.png");
    let id = program.run(&rooted).ok().out;
    let exported = program.run(&["export", id.trim(), "--to", "openai"]).ok().out;
    assert!(exported.contains("data:image/png;base64,"), "{exported}");
    let reported = refused(&program, &import, "");
    assert!(reported.contains("name the folder that it may come from with --media-root DIR"), "{reported}");
    for (path, expected) in ways_out() {
        talk(path);
        let reported = refused(&program, &rooted, "");
        assert!(reported.contains(expected), "{reported}");
    }
    let listed = program.run(&["conversations", "--json"]).ok().events().remove(0);
    assert_eq!(
        listed["conversations"].as_array().map(Vec::len),
        Some(1),
        "what is refused leaves nothing: {listed}"
    );
}
