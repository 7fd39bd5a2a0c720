//! How much memory images take while they are read: never more than `docs/media.md` says, whatever the file. Every allocation of
//! this process is counted, so nothing else may be tested here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod bombs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use alloquy_core::{ErrorKind, Media, MediaProcessor, ModelInfo};
use alloquy_media::{MediaLimits, MediaOptions, MediaProcessors};

/// The system's allocator, and how much it has given away.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize, less: usize) {
    let before = NOW.fetch_add(more, Ordering::Relaxed);
    MOST.fetch_max(before + more, Ordering::Relaxed);
    NOW.fetch_sub(less, Ordering::Relaxed);
}

// SAFETY: each call is handed on to the system's allocator as it came, and numbers are added up beside it.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there for a moment, while what is in them is copied.
        count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    let (mut count, mut read, mut failures) = (0, 0, Vec::new());
    for bomb in bombs::all() {
        let media = Media::new(bomb.media_type, (bomb.make)());
        let length = media.bytes().unwrap().len();
        assert!(length <= 64 << 20, "{}: {length} bytes", bomb.name);
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let began = Instant::now();
        let outline = processors.outline(&media).map(drop);
        let tensors = processors.tensors(&media).map(drop);
        let (took, most) = (began.elapsed(), MOST.load(Ordering::Relaxed) - before);
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
