//! Images, videos and audio clips as tensors, compared with what Hugging Face's processors make of the same files.
//!
//! The cases lie in the folder that `ALLOQUY_CASES` names, or in `cases/media` below the one that `ALLOQUY_SHARED` names.
//! `cargo xtask conformance media --cases DIR` runs it. Each failure is printed, then what differs on purpose and why, and
//! last `N passed, M failed`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[cfg(feature = "audio")]
#[path = "media/audio.rs"]
mod audio;
#[path = "media/cases.rs"]
mod cases;
#[path = "media/geometry.rs"]
mod geometry;
#[path = "media/images.rs"]
mod images;
#[path = "media/loading.rs"]
mod loading;
#[path = "media/report.rs"]
mod report;
#[path = "media/videos.rs"]
mod videos;

use cases::Cases;
use report::Report;

#[test]
fn tensors_are_those_of_hugging_face() {
    let Some(cases) = Cases::find() else { return };
    let mut report = Report::default();
    loading::check(&cases, &mut report);
    geometry::check(&cases, &mut report);
    videos::check(&cases, &mut report);
    #[cfg(feature = "audio")]
    audio::check(cases.folder(), &mut report);
    images::check(&cases, &mut report);
    report.print();
    assert!(report.failures().is_empty(), "{} fail: {:?}", report.failures().len(), report.failures());
}
