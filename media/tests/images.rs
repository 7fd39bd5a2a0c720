//! Images and videos through the public interface: what is refused and why, the warnings, and laws for every size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::time::Duration;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::media_processor::{
    MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor, TensorData,
};
use alloquy_media::{
    AlphaHandling, FrameRate, ImageBackend, MediaLimits, MediaOptions, MediaProcessors, ResizeArea, Size,
    VideoProcessor,
};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

fn model(model_type: &str) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.name = model_type.to_owned();
    model.model_type = Some(model_type.to_owned());
    model.files.insert("config.json".to_owned(), r#"{"vision_config": {}}"#.to_owned());
    model
}

fn configured(model_type: &str, settings: &str) -> ModelInfo {
    let mut model = model(model_type);
    model.files.insert("preprocessor_config.json".to_owned(), settings.to_owned());
    model
}

fn processors(model_type: &str, options: &MediaOptions) -> MediaProcessors {
    MediaProcessors::with_options(&model(model_type), options).unwrap().unwrap()
}

fn usual(model_type: &str) -> MediaProcessors {
    processors(model_type, &MediaOptions::default())
}

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Media {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    Media::new(format.to_mime_type(), bytes.into_inner())
}

fn gradient(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([(x * 7) as u8, (y * 5) as u8, (x + y) as u8]))
}

/// An image of which there is nothing but the header.
fn header(width: usize, height: usize) -> Media {
    Media::new("image/x-portable-pixmap", format!("P6 {width} {height} 255 ").into_bytes())
}

fn error(processors: &MediaProcessors, media: &Media) -> (ErrorKind, String) {
    let outlined = processors.outline(media).unwrap_err();
    let made = processors.tensors(media).unwrap_err();
    assert_eq!(outlined.to_string(), made.to_string());
    (made.kind(), made.to_string())
}

fn floats(tensor: &MediaTensor) -> &[f32] {
    match &tensor.values {
        TensorData::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_hold_by_the_header_alone() {
    let limits = MediaLimits { bytes: 100, pixels: 1_000, ratio: 10, frames: 2 };
    let processors = processors("qwen3_vl", &MediaOptions::default().limits(limits));
    let message = |media: &Media| {
        let (kind, message) = error(&processors, media);
        assert_eq!(kind, ErrorKind::Invalid);
        message
    };
    assert_eq!(
        message(&Media::new("image/png", vec![0; 101])),
        "an image has 101 bytes, and the limit is 100"
    );
    assert_eq!(message(&header(50, 21)), "a PNM of 50 x 21 has 1050 pixels, and the limit is 1000");
    assert_eq!(
        message(&header(1, 11)),
        "a PNM of 1 x 11 has a side more than 10 times longer than the other, which is the limit"
    );
    assert_eq!(message(&Media::video(vec![header(8, 8); 3])), "a video has 3 frames, and the limit is 2");
    assert_eq!(message(&Media::video(Vec::new())), "a video has no frames");
}

#[test]
fn what_is_no_image_is_refused_with_what_is_found() {
    let processors = usual("gemma3");
    let message =
        |media_type: &str, bytes: &[u8]| error(&processors, &Media::new(media_type, bytes.to_vec()));
    let supported = "supported: JPEG, PNG, GIF, WebP, BMP, TIFF, ICO, PNM (PBM, PGM, PPM, PAM) and TGA";
    assert_eq!(
        message("image/avif", b"\0\0\0\x20ftypavif"),
        (
            ErrorKind::Unsupported,
            format!(r#"an image of type "image/avif" is AVIF, which is not read; {supported}"#)
        )
    );
    assert_eq!(
        message("image/png", b"hello"),
        (
            ErrorKind::Unsupported,
            format!(r#"an image of type "image/png" begins like no format that is read; {supported}"#)
        )
    );
    assert_eq!(
        message("image/png", b""),
        (ErrorKind::Invalid, "an image is empty: it has no bytes".to_owned())
    );
    assert_eq!(
        message("image/jpeg", b"\xff\xd8\xff\xe0"),
        (ErrorKind::Invalid, "a JPEG is damaged or truncated".to_owned())
    );
    let stored = serde_json::to_string(&Media::new("image/png", vec![1])).unwrap();
    let (kind, message) = error(&processors, &serde_json::from_str(&stored).unwrap());
    let digest = Digest::of(&[1]);
    assert_eq!((kind, message), (ErrorKind::Invalid, format!("the bytes of image {digest} are not loaded")));
}

#[test]
fn a_kind_that_the_model_does_not_take_is_refused() {
    let gemma = usual("gemma3");
    assert_eq!(gemma.kinds(), [MediaKind::Image]);
    let (kind, message) = error(&gemma, &Media::new("audio/wav", vec![0]));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert_eq!(message, r#"model "gemma3" takes no media of type "audio/wav"; it takes: image"#);
    let (kind, message) = error(&usual("qwen2_vl"), &Media::new("video/mp4", vec![0]));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert_eq!(
        message,
        r#"a video of type "video/mp4" is not decoded here; decode the frames that `VideoProcessor::frames_wanted` names, and hand them over as images by `Media::video`, each with its time by `Media::at`"#
    );
    assert!(MediaProcessors::of(&model("llama")).unwrap().is_none());
    let mut blind = model("gemma3");
    blind.files.clear();
    assert!(MediaProcessors::of(&blind).unwrap().is_none());
}

#[test]
fn an_image_is_known_by_its_bytes_where_its_type_says_nothing() {
    let image = encoded(gradient(4, 4), ImageFormat::Png);
    let unnamed = Media::new("application/octet-stream", image.bytes().unwrap().to_vec());
    let processors = usual("gemma3");
    assert_eq!(processors.tensors(&unnamed).unwrap(), processors.tensors(&image).unwrap());
}

#[test]
fn every_format_without_loss_gives_the_same_tensors() {
    let processors = usual("gemma3n");
    let png = processors.tensors(&encoded(gradient(20, 10), ImageFormat::Png)).unwrap();
    for format in [ImageFormat::Bmp, ImageFormat::Tiff, ImageFormat::WebP, ImageFormat::Pnm, ImageFormat::Tga]
    {
        let media = encoded(gradient(20, 10), format);
        assert_eq!(processors.tensors(&media).unwrap(), png, "{format:?}");
    }
}

#[test]
fn what_is_cut_short_is_refused_by_the_tensors() {
    let processors = usual("gemma3");
    use ImageFormat::{Bmp, Gif, Ico, Jpeg, Png, Pnm, Tga, Tiff, WebP};
    for format in [Png, Jpeg, Gif, WebP, Bmp, Tiff, Ico, Pnm, Tga] {
        let whole = encoded(gradient(64, 64), format);
        let bytes = whole.bytes().unwrap();
        let cut = Media::new(whole.media_type(), bytes[..bytes.len() * 2 / 3].to_vec());
        let error = processors.tensors(&cut).map(|_| format!("{format:?}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{format:?}: {error:#}");
    }
}

/// A WebP whose canvas has two pixels each way, with chunks of whatever length they say.
fn webp(chunks: &[(&[u8; 4], u32, &[u8])]) -> Media {
    let flags_and_canvas: &[u8] = &[8, 0, 0, 0, 1, 0, 0, 1, 0, 0];
    let mut file = b"RIFF\xff\0\0\0WEBP".to_vec();
    for (name, length, content) in [(b"VP8X", 10, flags_and_canvas)].iter().chain(chunks) {
        file.extend_from_slice(*name);
        file.extend(length.to_le_bytes());
        file.extend_from_slice(content);
    }
    Media::new("image/webp", file)
}

/// Found by mutating images: the decoder would make room for what these say before it looks further.
#[test]
fn a_webp_that_says_it_is_larger_than_it_is_takes_no_memory() {
    let lossy = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0xff, 0x3f];
    let frame = [&[0; 16][..], b"VP8 \x0a\0\0\0", &lossy].concat();
    let small = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 2, 0, 2, 0];
    let long = webp(&[(b"VP8 ", 10, &small), (b"EXIF", 342_958_599, b"II*\0")]);
    let large = webp(&[(b"VP8 ", 10, &lossy)]);
    let animated = webp(&[(b"ANIM", 6, &[0; 6]), (b"ANMF", 34, &frame)]);
    let processors = usual("gemma3");
    let errors = [long, large, animated].map(|media| {
        let errors = [processors.outline(&media).unwrap_err(), processors.tensors(&media).unwrap_err()];
        assert_eq!(errors.each_ref().map(alloquy_core::Error::kind), [ErrorKind::Invalid; 2]);
        format!("{:#}", errors[0])
    });
    insta::assert_debug_snapshot!(errors);
}

#[test]
fn transparency_lies_on_white_unless_it_is_dropped() {
    let image = encoded(RgbaImage::from_pixel(2, 2, Rgba([10, 20, 30, 0])), ImageFormat::Png);
    let first = |alpha| {
        let tensors = processors("gemma3n", &MediaOptions::default().alpha(alpha)).tensors(&image).unwrap();
        (floats(&tensors[0])[0] * 255.0).round()
    };
    assert_eq!((first(AlphaHandling::White), first(AlphaHandling::Drop)), (255.0, 10.0));
}

#[test]
fn what_becomes_of_transparency_is_the_models_unless_the_host_says_it() {
    let image = encoded(RgbaImage::from_pixel(64, 64, Rgba([255, 255, 255, 0])), ImageFormat::Png);
    let hidden = encoded(RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 0])), ImageFormat::Png);
    let shows = |name: &str, options: &MediaOptions| {
        let processors = processors(name, options);
        let tensors = |image| floats(&processors.tensors(image).unwrap()[0]).to_vec();
        tensors(&image) != tensors(&hidden)
    };
    let usual = MediaOptions::default();
    assert_eq!(["gemma3", "qwen2_5_vl", "lfm2_vl"].map(|name| shows(name, &usual)), [false, false, true]);
    assert!(!shows("lfm2_vl", &usual.alpha(AlphaHandling::White)));
}

#[test]
fn a_cap_on_pixels_is_reported() {
    let image = header(4_032, 3_024);
    let outline = usual("qwen2_5_vl").outline(&image).unwrap();
    let [Warning::PixelsCapped { media, wanted, taken }] = outline.warnings.as_slice() else {
        panic!("{outline:?}");
    };
    assert_eq!((*media, *wanted), (image.digest(), 15_552 * 28 * 28));
    assert_eq!(*taken, outline.features() * 28 * 28);
    assert!(*taken <= 4_096 * 28 * 28);

    let uncapped = processors("qwen2_5_vl", &MediaOptions::default().pixel_cap(None));
    let outline = uncapped.outline(&image).unwrap();
    assert_eq!((outline.features(), outline.warnings), (15_552, Vec::new()));
    assert!(usual("qwen2_5_vl").outline(&header(1_920, 1_080)).unwrap().warnings.is_empty());
}

#[test]
fn the_model_s_files_decide() {
    let of = |model: &ModelInfo| MediaProcessors::of(model).unwrap().unwrap();
    let plan =
        |processors: &MediaProcessors| processors.images().unwrap().plan(Size::new(1_000, 500)).unwrap();
    let small =
        of(&configured("gemma3", r#"{"size": {"height": 56, "width": 28}, "do_pan_and_scan": true}"#));
    assert_eq!(plan(&small).views[0].size, Size::new(28, 56));
    assert_eq!(plan(&small).views.len(), 3);

    // What a file for the whole processor says of images goes before the file for images alone.
    let mut both = configured("gemma3n", r#"{"size": {"height": 512, "width": 512}}"#);
    let whole = r#"{"image_processor": {"size": {"height": 256, "width": 256}}}"#;
    both.files.insert("processor_config.json".to_owned(), whole.to_owned());
    assert_eq!(plan(&of(&both)).views[0].size, Size::new(256, 256));

    let error = |settings: &str| MediaProcessors::of(&configured("qwen3_vl", settings)).unwrap_err();
    assert_eq!(
        error(r#"{"patch_size": "16"}"#).to_string(),
        r#"/patch_size of the model's processor is "16", not a whole number above zero"#
    );
    assert_eq!(
        error(r#"{"resample": 1}"#).to_string(),
        "/resample of the model's processor is 1; supported: 2 (bilinear), 3 (bicubic)"
    );
    assert_eq!(
        error(r#"{"image_std": [0.5, 0, 0.5]}"#).to_string(),
        "/image_std or /rescale_factor of the model's processor is 0, and divides"
    );
    let error = |settings: &str| MediaProcessors::of(&configured("lfm2_vl", settings)).unwrap_err();
    assert_eq!(
        error(r#"{"min_tiles": 4, "max_tiles": 3}"#).to_string(),
        "the model's processor cuts images into 4 to 3 tiles; the second is neither below the first nor above 1024"
    );
    assert_eq!(error(r#"{"max_tiles": 100000}"#).kind(), ErrorKind::Model);
    let odd = MediaOptions::default().visual_tokens(100);
    let error = MediaProcessors::with_options(&model("gemma4"), &odd).unwrap_err();
    assert_eq!(
        error.to_string(),
        "100 is no number of positions for an image; one of: [70, 140, 280, 560, 1120]"
    );
}

#[test]
fn tokens_have_the_texts_that_the_model_gives_them() {
    let mut model = model("qwen2_vl");
    model.files.insert("config.json".to_owned(), r#"{"vision_config": {}, "image_token_id": 7}"#.to_owned());
    model.specials = vec![alloquy_core::tokenizer::SpecialToken { text: "<pad>".to_owned(), id: 7 }];
    let outline = MediaProcessors::of(&model).unwrap().unwrap().outline(&header(56, 56)).unwrap();
    let MediaPlaceholder::Positions { token, count, grid } = &outline.pieces[0] else {
        panic!("{outline:?}")
    };
    assert_eq!((token.as_str(), *count, grid.unwrap().width), ("<pad>", 4, 2));
    assert_eq!((outline.before.as_str(), outline.after.as_str()), ("", ""));
}

#[test]
fn frames_that_are_left_out_are_reported() {
    let frame = encoded(gradient(48, 48), ImageFormat::Png);
    let video = Media::video(vec![frame; 40]);
    let outline = usual("gemma4").outline(&video).unwrap();
    let reported = Warning::FramesSampled { media: video.digest(), frames: 40, taken: 32 };
    assert_eq!(outline.warnings, [reported]);
    assert_eq!(outline.before, "00:00 <|image>");
}

#[test]
fn frames_are_of_one_size() {
    let video = Media::video(vec![header(56, 56), header(56, 28)]);
    let (kind, message) = error(&usual("qwen2_vl"), &video);
    assert_eq!(kind, ErrorKind::Invalid);
    assert_eq!(message, "frame 1 of a video has 56 x 28 pixels, and the first has 56 x 56");
}

#[test]
fn frames_say_when_they_are_shown() {
    let frame = |seconds: u64| header(64, 64).at(Duration::from_secs(seconds));
    let outline = |model: &str| usual(model).outline(&Media::video(vec![frame(3), frame(66)])).unwrap();
    assert_eq!(outline("qwen3_vl").before, "<34.5 seconds><|vision_start|>");
    let gemma = outline("gemma4");
    assert_eq!(gemma.before, "00:03 <|image>");
    assert_eq!(gemma.pieces[1], MediaPlaceholder::Text("<image|> 01:06 <|image>".to_owned()));
    let grid = |outline: &MediaOutline| match outline.pieces[0] {
        MediaPlaceholder::Positions { grid: Some(grid), .. } => grid,
        ref other => panic!("{other:?}"),
    };
    // Two frames, 63 seconds apart, in a group; two positions a second.
    assert_eq!(grid(&outline("qwen2_5_vl")).time_step, 2.0 * 2.0 * 63.0);
    assert_eq!(grid(&outline("qwen2_vl")).time_step, 1.0);
}

#[test]
fn a_rate_that_is_none_is_refused() {
    let processors = usual("qwen3_vl");
    let videos = processors.videos().unwrap();
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(videos.frames_wanted(10, FrameRate::of(rate)).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(videos.frames_wanted(0, FrameRate::of(24.0)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_line_of_pixels_costs_no_more_than_an_image() {
    let options = MediaOptions::default().limits(MediaLimits { ratio: 100_000, ..MediaLimits::default() });
    for (width, height) in [(1, 65_535), (65_535, 1)] {
        let line = encoded(gradient(width, height), ImageFormat::Png);
        for name in ["gemma3", "gemma3n", "gemma4", "llava", "fast_vlm"] {
            for backend in [ImageBackend::Torchvision, ImageBackend::Pillow] {
                let tensors = processors(name, &options.clone().backend(backend)).tensors(&line).unwrap();
                assert!(floats(&tensors[0]).iter().all(|value| value.is_finite()), "{name}");
            }
        }
        // Of its thumbnail alone the encoder would be fed more than it takes.
        let error = processors("lfm2_vl", &options).tensors(&line).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let padded = configured("llava", r#"{"do_pad": true}"#);
        let padded = MediaProcessors::with_options(&padded, &options).unwrap().unwrap();
        assert_eq!(padded.tensors(&line).unwrap()[0].shape, [1, 3, 336, 336]);
    }
}

#[test]
fn a_cap_holds_for_an_image_that_grows() {
    for (size, cap, fed) in [
        (Size::new(63, 1), 64_513, Size::new(2_016, 32)),
        (Size::new(6, 321), 50_000, Size::new(32, 1_536)),
        (Size::new(64, 64), 50_000, Size::new(224, 192)),
    ] {
        let processors = processors("qwen3_vl", &MediaOptions::default().pixel_cap(Some(cap)));
        assert_eq!(processors.images().unwrap().plan(size).unwrap().views[0].size, fed, "{size} under {cap}");
    }
}

/// Sizes whose sides are not more than 200 times apart.
fn sizes() -> impl Strategy<Value = Size> {
    (1_usize..6_000, 1_usize..6_000)
        .prop_map(|(width, height)| Size::new(width, height))
        .prop_filter("too long", |size| size.width <= size.height * 200 && size.height <= size.width * 200)
}

proptest! {
    #[test]
    fn qwen_s_sizes_are_whole_positions_within_bounds(size in sizes(), cap in prop::option::of(50_000_usize..2_000_000)) {
        for (name, unit, least, most) in [("qwen2_vl", 28, 3_136, 12_845_056), ("qwen3_vl", 32, 65_536, 16_777_216)] {
            let processors = processors(name, &MediaOptions::default().pixel_cap(cap));
            let fed = processors.images().unwrap().plan(size).unwrap().views[0].size;
            prop_assert_eq!((fed.width % unit, fed.height % unit), (0, 0));
            prop_assert!(fed.width > 0 && fed.height > 0);
            // A line as narrow as one position may be longer than the area allows.
            let narrow = fed.width == unit || fed.height == unit;
            prop_assert!(narrow || fed.pixels() <= cap.unwrap_or(most).min(most), "{}", fed);
            // Rounding down to whole positions may take nearly half of each side.
            prop_assert!(fed.pixels() >= least.min(cap.unwrap_or(least) / 4), "{}", fed);
            let outline = processors.outline(&header(size.width, size.height)).unwrap();
            prop_assert_eq!(outline.features() * unit * unit, fed.pixels());
        }
    }

    #[test]
    fn gemma_4_keeps_its_budget(size in sizes(), budget in prop::sample::select(vec![70_usize, 140, 280, 560, 1120])) {
        let processors = processors("gemma4", &MediaOptions::default().visual_tokens(budget));
        let features = processors.outline(&header(size.width, size.height)).unwrap().features();
        prop_assert!((1..=budget).contains(&features), "{}", features);
    }

    #[test]
    fn crops_are_the_whole_image(size in sizes()) {
        let processors = processors("gemma3", &MediaOptions::default().pan_and_scan(true));
        let plan = processors.images().unwrap().plan(size).unwrap();
        let whole = ResizeArea { x: 0, y: 0, width: size.width, height: size.height };
        prop_assert_eq!(plan.views[0].part, whole);
        let crops: usize = plan.views.iter().skip(1).map(|view| view.part.size().pixels()).sum();
        prop_assert!(crops == 0 || crops == size.pixels());
        prop_assert!(plan.views.len() <= 5);
    }

    #[test]
    fn what_is_cut_out_lies_within(size in sizes()) {
        for name in ["llava", "fast_vlm", "lfm2_vl"] {
            let plan = usual(name).images().unwrap().plan(size).unwrap();
            for view in &plan.views {
                for window in &view.windows {
                    prop_assert!(window.x + window.width <= view.size.width && window.y + window.height <= view.size.height);
                }
            }
        }
    }

    #[test]
    fn positions_are_what_the_encoder_is_fed(width in 1_u32..300, height in 1_u32..300) {
        let image = encoded(gradient(width, height), ImageFormat::Png);
        let tensors = usual("qwen2_vl").tensors(&image);
        if width > height * 200 || height > width * 200 {
            prop_assert!(tensors.is_err());
        } else {
            let patches = tensors.unwrap()[0].shape[0];
            prop_assert_eq!(usual("qwen2_vl").outline(&image).unwrap().features() * 4, patches);
        }
    }

    #[test]
    fn both_backends_are_within_two_levels(width in 1_u32..120, height in 1_u32..120) {
        let image = encoded(gradient(width, height), ImageFormat::Png);
        let made = |backend| processors("llava", &MediaOptions::default().backend(backend)).tensors(&image).unwrap();
        let (left, right) = (made(ImageBackend::Torchvision), made(ImageBackend::Pillow));
        let apart = floats(&left[0]).iter().zip(floats(&right[0])).map(|(left, right)| (left - right).abs());
        prop_assert!(apart.fold(0.0, f32::max) <= 2.1 / 255.0 / 0.26);
    }
}

#[test]
fn a_rate_of_frames_is_above_zero() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = MediaOptions::default().frames_per_second(rate);
        let refused = MediaProcessors::with_options(&model("qwen3_vl"), &options).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("give a number above 0"), "{refused}");
    }
}

/// Of the documents that may have settings for videos one counts, whole, and those before it in this order are not there.
#[test]
fn one_document_decides_about_videos() {
    let mut model = model("qwen3_vl");
    let mut frames = |name: &str, settings: &str| {
        model.files.insert(name.to_owned(), settings.to_owned());
        let videos = VideoProcessor::of(&model, &MediaOptions::default()).unwrap().unwrap();
        videos.frames_wanted(1_000, FrameRate::of(10.0)).unwrap().len()
    };
    assert_eq!(frames("processor_config.json", r#"{"processor_class": "Qwen3VLProcessor"}"#), 200);
    assert_eq!(frames("preprocessor_config.json", r#"{"max_frames": 8}"#), 8);
    assert_eq!(frames("video_preprocessor_config.json", r#"{"max_frames": 10}"#), 10);
    assert_eq!(frames("video_preprocessor_config.json", r#"{"fps": 1.0}"#), 100);
    assert_eq!(frames("processor_config.json", r#"{"video_processor": {"max_frames": 6}}"#), 6);
}
