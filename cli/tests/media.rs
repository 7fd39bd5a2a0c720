//! Pictures and sounds on the command line: what is read, what is refused, and what to do then.
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
            "the image does not begin as one of: image/png, image/jpeg",
        ),
        (["ask", "--audio", "cat.gif", "What?"], "the audio does not begin as one of: audio/wav"),
        (["ask", "--image", ".", "What?"], "is no regular file"),
        (["ask", "--image", "https://example.org/cat.png", "What?"], "download it and name the file"),
    ] {
        let told = refused(&program, &arguments, "");
        assert!(told.contains(expected), "{told}");
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
        (&rooted[..], "letter.txt", "does not begin as one of"),
        (&nowhere[..], "cat.gif", "the folder of media \"nowhere\" cannot be opened"),
    ] {
        let told = refused(&program, arguments, &document(path));
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_model_of_texts_says_that_it_is_one() {
    if !cfg!(feature = "pocket") {
        eprintln!("Skipping: the program carries no model");
        return;
    }
    let program = with_files();
    let told = refused(&program, &["ask", "--image", "cat.gif", "What?"], "");
    assert!(told.contains("takes no image; it takes: text"), "{told}");
}
