//! Dialects: every fixture read and written in every dialect, refusals, and media under rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use alloquy_core::media::MediaKind;
use alloquy_core::{Content, Error, ErrorKind, Media, Message, Result, Role};
use alloquy_formats::messages::{
    self, Dialect, MediaReference, MediaRules, MediaSource, NoMediaSource, Transcript,
};
use serde_json::{Map, Value, json};

const SVG: &str = "data:image/svg+xml;base64,PHN2Zy8+";

fn fixture(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn dialect(fixture: &Value) -> Dialect {
    fixture["dialect"].as_str().unwrap().parse().unwrap()
}

fn read(dialect: Dialect, document: &Value) -> Result<Transcript> {
    messages::read(dialect, document, &MediaRules::default())
}

fn sentence(error: &Error) -> String {
    format!("{:?}: {error:#}", error.kind())
}

fn listed(values: impl IntoIterator<Item = impl serde::Serialize>) -> String {
    values.into_iter().map(|value| format!("  {}\n", serde_json::to_string(&value).unwrap())).collect()
}

/// The transcript, a message a line, then what each dialect makes of it.
fn drawn(transcript: &Transcript) -> String {
    let mut drawing = format!("messages\n{}", listed(&transcript.messages));
    write!(drawing, "tools\n{}", listed(&transcript.tools)).unwrap();
    write!(drawing, "extra\n{}", listed([&transcript.extra])).unwrap();
    for dialect in Dialect::ALL {
        let written = match messages::write_text(dialect, transcript) {
            Ok(text) => text,
            Err(error) => sentence(&error),
        };
        write!(drawing, "\n{dialect}\n{written}\n").unwrap();
    }
    drawing
}

#[test]
fn every_document_in_every_dialect() {
    insta::glob!("fixtures/messages/documents/*.json", |path| {
        let fixture = fixture(path);
        let transcript = read(dialect(&fixture), &fixture["document"]).unwrap();
        insta::assert_snapshot!(drawn(&transcript));
    });
}

#[test]
fn what_a_dialect_wrote_reads_as_what_was_written() {
    insta::glob!("fixtures/messages/documents/*.json", |path| {
        let fixture = fixture(path);
        let own = dialect(&fixture);
        let transcript = read(own, &fixture["document"]).unwrap();
        for dialect in Dialect::ALL {
            let Ok(written) = messages::write(dialect, &transcript) else {
                assert_ne!(dialect, own, "a dialect writes what it read");
                continue;
            };
            let again = read(dialect, &written).unwrap();
            assert_eq!(messages::write(dialect, &again).unwrap(), written, "{dialect} settles");
            if dialect == own {
                assert_eq!(again, transcript);
            }
        }
    });
}

#[test]
fn a_refusal_names_the_place() {
    insta::glob!("fixtures/messages/refused/*.json", |path| {
        let fixture = fixture(path);
        let mut drawing = String::new();
        for (name, document) in fixture["documents"].as_object().unwrap() {
            let error = read(dialect(&fixture), document).expect_err(name);
            writeln!(drawing, "{name}\n  {}", sentence(&error)).unwrap();
        }
        insta::assert_snapshot!(drawing);
    });
}

#[test]
fn what_a_dialect_cannot_express_names_the_place() {
    insta::glob!("fixtures/messages/unwritable/*.json", |path| {
        let mut drawing = String::new();
        for (name, transcript) in fixture(path).as_object().unwrap() {
            let transcript = transcript_of(transcript);
            writeln!(drawing, "{name}").unwrap();
            for dialect in Dialect::ALL {
                let outcome = messages::write(dialect, &transcript);
                let outcome =
                    outcome.map_or_else(|error| sentence(&error), |_| format!("{dialect} writes it"));
                writeln!(drawing, "  {outcome}").unwrap();
            }
        }
        insta::assert_snapshot!(drawing);
    });
}

fn transcript_of(value: &Value) -> Transcript {
    Transcript {
        messages: serde_json::from_value(value["messages"].clone()).unwrap(),
        tools: value
            .get("tools")
            .map_or_else(Vec::new, |tools| serde_json::from_value(tools.clone()).unwrap()),
        extra: value.get("extra").map_or_else(Map::new, |extra| extra.as_object().unwrap().clone()),
    }
}

fn image(address: &str) -> Value {
    json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}])
}

#[test]
fn the_host_resolves_what_a_document_names() {
    let fetch = |kind: MediaKind, reference: MediaReference<'_>| match reference {
        MediaReference::Path("cat.svg") if kind == MediaKind::Image => {
            Ok(Media::new("image/svg+xml", b"<svg/>".to_vec()))
        }
        MediaReference::Path("cat.wav") => Ok(Media::new("audio/wav", b"miaow".to_vec())),
        other => Err(Error::new(ErrorKind::NotFound, format!("there is no {other:?}"))),
    };
    let rules = MediaRules { source: &fetch, ..MediaRules::default() };
    let resolved = |address: &str| messages::read(Dialect::OpenAi, &image(address), &rules);

    assert_eq!(resolved("cat.svg").unwrap(), read(Dialect::OpenAi, &image(SVG)).unwrap());
    let errors = ["https://example.org/cat.svg", "cat.wav"].map(|address| resolved(address).unwrap_err());
    insta::assert_snapshot!(errors.map(|error| sentence(&error)).join("\n"), @r#"
    NotFound: messages[0].content[0].image_url.url: there is no Url("https://example.org/cat.svg")
    Invalid: messages[0].content[0].image_url.url: the image has the MIME type "audio/wav"
    "#);
}

#[test]
fn limits_hold_before_anything_is_decoded() {
    let two = json!([{"role": "user", "content": [{"image": SVG}, {"image": SVG}]}]);
    let with = |rules: MediaRules<'_>| messages::read(Dialect::Aki, &two, &rules);
    assert!(with(MediaRules { max_bytes: 6, max_total_bytes: 12, ..MediaRules::default() }).is_ok());
    for padded in ["AA==", "AAA=", "AAAA"] {
        let document =
            json!([{"role": "user", "content": [{"image": format!("data:image/png;base64,{padded}")}]}]);
        let bytes = 4 - padded.matches('=').count() - 1;
        let with = |max_bytes| {
            messages::read(Dialect::Aki, &document, &MediaRules { max_bytes, ..MediaRules::default() })
        };
        assert!(with(bytes).is_ok() && with(bytes - 1).is_err(), "{padded}");
    }

    // Not base64 at all, and yet the length is what the error speaks of.
    let long =
        json!([{"role": "user", "content": [{"image": format!("data:image/png;base64,{}", "§".repeat(8))}]}]);
    let sentences = [
        with(MediaRules { max_bytes: 5, ..MediaRules::default() }),
        with(MediaRules { max_total_bytes: 11, ..MediaRules::default() }),
        with(MediaRules { kinds: &[MediaKind::Audio, MediaKind::Video], ..MediaRules::default() }),
        with(MediaRules { kinds: &[], ..MediaRules::default() }),
        messages::read(Dialect::Aki, &long, &MediaRules { max_bytes: 11, ..MediaRules::default() }),
    ];
    insta::assert_snapshot!(sentences.map(|read| sentence(&read.unwrap_err())).join("\n"), @r"
    Invalid: messages[0].content[0].image: the media have 6 bytes, of which one piece may have 5
    Invalid: messages[0].content[1].image: the media come to 12 bytes here, of which a document may have 11
    Unsupported: messages[0].content[0].image: media of the kind image are not taken here; taken: audio, video
    Unsupported: messages[0].content[0].image: media of the kind image are not taken here; taken: none
    Invalid: messages[0].content[0].image: the media have 12 bytes, of which one piece may have 11
    ");
}

#[test]
fn a_source_counts_against_the_limits() {
    let fetch = |_: MediaKind, _: MediaReference<'_>| -> Result<Media> {
        Ok(Media::new("image/svg+xml", b"<svg/>".to_vec()))
    };
    let rules = MediaRules { max_bytes: 5, source: &fetch, ..MediaRules::default() };
    let error = messages::read(Dialect::OpenAi, &image("cat.svg"), &rules).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn no_source_refuses_and_an_error_never_shows_a_whole_image() {
    let error = NoMediaSource.fetch(MediaKind::Audio, MediaReference::Path("a.wav")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let long = "iVBORw0KGgo".repeat(100);
    let mut part = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": SVG}}]}]);
    part[0]["content"][0]["type"] = json!(long);
    for document in [image(&long), image(&format!("data:{long};base64,")), part, json!([{"role": long}])] {
        let error = read(Dialect::OpenAi, &document).unwrap_err();
        assert!(error.to_string().len() < 300, "{error}");
    }
}

#[test]
fn media_that_no_reader_would_take_are_not_written() {
    let media = [
        Media::new("application/pdf", b"%PDF".to_vec()),
        Media::new("image/PNG", b"x".to_vec()),
        Media::new("image/png", Vec::new()),
    ];
    for media in media {
        let transcript = Transcript::new(vec![Message::new(Role::User, vec![Content::Image(media)])]);
        for dialect in Dialect::ALL {
            messages::write(dialect, &transcript).expect_err("media without a reader");
        }
    }
}

#[test]
fn text_documents() {
    let rules = MediaRules::default();
    let hi = Transcript::new(vec![Message::user("Hi")]);
    for dialect in Dialect::ALL {
        let text = messages::write_text(dialect, &hi).unwrap();
        assert_eq!(messages::read_text(dialect, &text, &rules).unwrap(), hi, "{dialect}");
    }
    let list = r#" [{"role": "user", "content": "Hi"}]"#;
    assert_eq!(messages::read_text(Dialect::ChatMl, list, &rules).unwrap(), hi);
    let error = messages::read_text(Dialect::OpenAi, "[", &rules).unwrap_err();
    insta::assert_snapshot!(
        sentence(&error),
        @"Invalid: the document is not JSON: EOF while parsing a list at line 1 column 1"
    );
}

#[test]
fn numbers_in_arguments_are_exact_or_the_string_of_their_digits() {
    let call = |arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        let document = json!([{"role": "assistant", "tool_calls": [{"id": "a", "function": function}]}]);
        let message = read(Dialect::OpenAi, &document).unwrap().messages.remove(0);
        message.tool_calls().next().unwrap().arguments.clone()
    };
    for exact in [
        r#"{"n":18446744073709551615}"#,
        r#"{"n":-9223372036854775808}"#,
        r#"{"n":0.1}"#,
        r#"{"n":[1.7976931348623157e308,2.2250738585072014e-308]}"#,
        r#"{"18446744073709551616":"say \"18446744073709551616\", \\"}"#,
    ] {
        let arguments = call(exact);
        assert!(arguments.is_object(), "{exact}");
        assert_eq!(arguments, serde_json::from_str::<Value>(exact).unwrap());
    }
    let large = r#"{"a":"\\1e400","n":[-9223372036854775809, 18446744073709551616,1e400],"1e400":-1.5E+999}"#;
    let digits = ["-9223372036854775809", "18446744073709551616", "1e400"];
    assert_eq!(call(large), json!({"a": "\\1e400", "n": digits, "1e400": "-1.5E+999"}));
    for text in [r#"{"n":"#, r#"{"n":018446744073709551616}"#, r#"{"n":1e+400-}"#, r#"{1e400:1}"#, "[1]", ""]
    {
        assert_eq!(call(text), json!(text));
    }
}

#[test]
fn ids_are_given_where_a_document_has_none() {
    let document = json!([
        {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "f"}}, {"function": {"name": "g"}}]},
        {"role": "tool", "content": [{"name": "g", "response": {}}, {"response": {}}, {"response": {}}]},
    ]);
    let transcript = read(Dialect::LiteRt, &document).unwrap();
    let calls: Vec<_> = transcript.messages[0].tool_calls().map(|call| call.id.as_str()).collect();
    let answers: Vec<_> = transcript.messages[1].tool_results().map(|result| result.id.as_str()).collect();
    assert_eq!((calls, answers), (vec!["call_1", "call_2"], vec!["call_2", "call_1", "call_3"]));
}

#[test]
fn a_repeated_id_hides_no_other_call() {
    let call = |id: &str, name: &str| json!({"id": id, "function": {"name": name}});
    let document = json!([
        {"role": "assistant", "tool_calls": [call("a", "f"), call("a", "g"), call("b", "f")]},
        {"role": "tool", "content": [{"name": "f", "response": 1}, {"name": "f", "response": 2}, {"name": "g", "response": 3}]},
    ]);
    let transcript = read(Dialect::LiteRt, &document).unwrap();
    let answers: Vec<_> = transcript.messages[1].tool_results().map(|result| result.id.as_str()).collect();
    assert_eq!(answers, ["a", "b", "a"]);
}

#[test]
fn a_long_document_is_read_in_one_go() {
    let calls: Vec<_> = (0..50_000).map(|_| json!({"function": {"name": "f"}})).collect();
    let answers: Vec<_> = (0..50_000).map(|_| json!({"name": "g", "response": {}})).collect();
    let document = json!([{"role": "model", "tool_calls": calls}, {"role": "tool", "content": answers}]);
    let transcript = read(Dialect::LiteRt, &document).unwrap();
    assert_eq!(transcript.messages[1].tool_results().last().unwrap().id, "call_100000");
}

#[test]
fn a_video_is_a_list_of_images_in_aki() {
    let frame = "data:image/png;base64,iVBORw0KGgo=";
    let video =
        |video: Value| json!([{"role": "assistant", "content": [{"text": "See:"}, {"video": video}]}]);
    let document = video(json!([frame, frame, "data:image/gif;base64,R0lGODlh"]));
    let transcript = read(Dialect::Aki, &document).unwrap();
    let media: Vec<_> = transcript.messages[0].media().map(Media::media_type).collect();
    assert_eq!(media, ["image/png", "image/png", "image/gif"]);
    assert_eq!(messages::write(Dialect::Aki, &transcript).unwrap(), document);
    let one = video(json!([frame]));
    assert_eq!(messages::write(Dialect::Aki, &read(Dialect::Aki, &one).unwrap()).unwrap(), one);

    let errors = [
        video(json!([])),
        video(json!([frame, 1])),
        video(json!(["data:audio/wav;base64,AAAA"])),
        video(json!([frame, "frame.png"])),
    ]
    .map(|document| sentence(&read(Dialect::Aki, &document).unwrap_err()));
    insta::assert_snapshot!(errors.join("\n"), @r#"
    Invalid: messages[0].content[1].video: a video has one image or more
    Invalid: messages[0].content[1].video[1]: expected a string, found a number
    Invalid: messages[0].content[1].video[0]: the image has the MIME type "audio/wav"
    Unsupported: messages[0].content[1].video[1]: the image is the file "frame.png", which is not read here: the host gives a media source, or puts the bytes into the document as base64
    "#);
    let videos = |kinds: &'static [MediaKind]| MediaRules { kinds, ..MediaRules::default() };
    assert!(messages::read(Dialect::Aki, &document, &videos(&[MediaKind::Video])).is_ok());
    assert!(messages::read(Dialect::Aki, &document, &videos(&[MediaKind::Image])).is_err());
}
