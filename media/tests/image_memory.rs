//! How much memory images take while they are read: never more than `docs/media.md` says, whatever the file. Every allocation of
//! this process is counted, so nothing else may be tested here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod bombs;

use std::time::Instant;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{MediaLimits, MediaOptions, MediaProcessors};
use alloquy_testing::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// What a decoder may take beside the image, and the little that the model is fed and that errors take.
const ROOM: usize = (64 << 20) + (1 << 20);

fn processors(model_type: &str) -> MediaProcessors {
    let mut model = ModelInfo::default();
    model.model_type = Some(model_type.to_owned());
    model.files.insert("config.json".to_owned(), r#"{"vision_config": {}}"#.to_owned());
    let settings = r#"{"size": {"width": 32, "height": 32}, "image_mean": [0, 0, 0]}"#;
    model.files.insert("preprocessor_config.json".to_owned(), settings.to_owned());
    let limits = MediaLimits { pixels: bombs::PIXELS, ..MediaLimits::default() };
    MediaProcessors::with_options(&model, &MediaOptions::default().limits(limits)).unwrap().unwrap()
}

#[test]
fn no_image_takes_more_than_is_documented() {
    let processors = processors("gemma3n");
    let bound = 4 * bombs::PIXELS + ROOM;
    let mut count = 0;
    let mut read = 0;
    let mut failures = Vec::new();
    for bomb in bombs::all() {
        let media = Media::new(bomb.media_type, (bomb.make)());
        let length = media.bytes().unwrap().len();
        assert!(length <= 64 << 20, "{}: {length} bytes", bomb.name);
        let began = Instant::now();
        let ((outline, tensors), most) = ALLOCATOR
            .most_during(|| (processors.outline(&media).map(drop), processors.tensors(&media).map(drop)));
        let took = began.elapsed();
        count += 1;
        read += usize::from(tensors.is_ok());
        let result = match &tensors {
            Ok(()) => "read".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        println!(
            "{:>5} MiB of {:>4}, {took:>8.1?}, {length:>9} bytes: {}: {result}",
            most >> 20,
            bound >> 20,
            bomb.name
        );
        if most > bound {
            failures.push(format!("{} takes {most} bytes, and the limit is {bound}", bomb.name));
        }
        if tensors.is_ok() != bomb.fine {
            failures.push(format!("{}: {result}", bomb.name));
        }
        if tensors.is_ok() && outline.is_err() {
            failures.push(format!("{} has tensors and no outline", bomb.name));
        }
        if let Err(error) = tensors
            && !matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported)
        {
            failures.push(format!("{}: {error:#}", bomb.name));
        }
    }
    println!("{count} images that are large, or hold much beside themselves: {read} read");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
