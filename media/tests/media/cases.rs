//! The folder of cases, and the models whose processors made the goldens.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::Media;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor, TensorData};
use alloquy_media::{MediaOptions, MediaProcessors};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Cases {
    folder: PathBuf,
    /// `golden/compact.json`.
    pub(crate) golden: Value,
}

impl Cases {
    /// Finds the cases; tells when there are none.
    pub(crate) fn find() -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let shared = env::var_os("ALLOQUY_SHARED").map_or_else(|| "../shared".into(), PathBuf::from);
        let below = workspace.join(shared).join("cases/media");
        let folder = env::var_os("ALLOQUY_CASES").map_or(below, PathBuf::from);
        if !folder.join("golden/compact.json").is_file() {
            println!("Skipping: {folder:?} has no media cases, set ALLOQUY_CASES or ALLOQUY_SHARED");
            return None;
        }
        let golden = read(&folder.join("golden/compact.json"));
        Some(Self { folder, golden })
    }

    #[cfg(feature = "audio")]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        read(&self.folder.join(path))
    }

    pub(crate) fn image(&self, name: &str) -> Media {
        let bytes = fs::read(self.folder.join("inputs/image").join(name)).unwrap();
        Media::new(media_type(name), bytes)
    }

    pub(crate) fn frame(&self, video: &str, index: usize) -> Media {
        let path = self.folder.join(format!("inputs/video/{video}/f{index:03}.png"));
        Media::new("image/png", fs::read(path).unwrap())
    }

    /// What Pillow decodes of a JPEG, where somebody has put it: `golden/rgb/NAME.png`, or below `ALLOQUY_MEDIA_REFERENCE`
    /// (`xtask/media/reference.py` makes it), or among the fixtures.
    pub(crate) fn reference(&self, name: &str) -> Option<Media> {
        let folder = env::var_os("ALLOQUY_MEDIA_REFERENCE").map(PathBuf::from);
        let folder = folder.unwrap_or_else(|| self.folder.join("golden/rgb"));
        let given = fs::read(folder.join(format!("{name}.png"))).ok();
        let digest = self.golden["decode"][name]["rgb_sha256"].as_str();
        let kept = || (digest == Some(KEPT.0)).then(|| KEPT.1.to_vec());
        given.or_else(kept).map(|bytes| Media::new("image/png", bytes))
    }
}

/// A whole image by the digest of its levels: of one so near to what is allowed, samples do not tell the mean.
const KEPT: (&str, &[u8]) = (
    "87a3e71a8f537b19f78423423fcea9df2398b0979bdac3bdc0593f33003d184a",
    include_bytes!("../fixtures/media/jpeg_227x149_420.png"),
);

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The type that a host would give a file by its extension.
fn media_type(name: &str) -> String {
    match name.rsplit('.').next().unwrap() {
        "jpg" => "image/jpeg".to_owned(),
        "ppm" => "image/x-portable-pixmap".to_owned(),
        "tga" => "image/x-tga".to_owned(),
        other => format!("image/{other}"),
    }
}

/// A model of a type, with settings for its images and its videos beside those that are built in.
pub(crate) fn model(model_type: &str, images: Value, videos: Value) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.name = model_type.to_owned();
    model.model_type = Some(model_type.to_owned());
    let mut file = |name: &str, content: Value| {
        model.files.insert(name.to_owned(), content.to_string());
    };
    file("config.json", json!({"vision_config": {}}));
    if !images.is_null() {
        file("preprocessor_config.json", images);
    }
    if !videos.is_null() {
        file("video_preprocessor_config.json", videos);
    }
    model
}

pub(crate) fn processors(model: &ModelInfo, options: &MediaOptions) -> MediaProcessors {
    MediaProcessors::with_options(model, options).unwrap().expect("the model takes media")
}

/// An outline as runs of texts.
pub(crate) fn prompt(outline: &MediaOutline) -> String {
    let mut prompt = outline.before.clone();
    for piece in &outline.pieces {
        match piece {
            MediaPlaceholder::Text(text) => prompt.push_str(text),
            MediaPlaceholder::Positions { token, count, .. } => prompt.push_str(&token.repeat(*count)),
        }
    }
    prompt + &outline.after
}

/// The same for the pieces of a golden: pairs of a text and how often it occurs.
pub(crate) fn golden_prompt(pieces: &Value) -> String {
    let pieces = pieces.as_array().unwrap().iter();
    pieces.map(|piece| piece[0].as_str().unwrap().repeat(piece[1].as_u64().unwrap() as usize)).collect()
}

/// Says whether a tensor has the shape, the type and the digest of a golden one.
pub(crate) fn equal(tensor: &MediaTensor, golden: &Value) -> Result<(), String> {
    shaped(tensor, golden)?;
    let found = Digest::of(&bytes(&tensor.values)).to_string();
    let wanted = golden[2].as_str().unwrap();
    if found == wanted { Ok(()) } else { Err(format!("{} has digest {found}, not {wanted}", tensor.name)) }
}

/// Says whether a tensor has the shape and the type of a golden one.
pub(crate) fn shaped(tensor: &MediaTensor, golden: &Value) -> Result<(), String> {
    let kind = match &tensor.values {
        TensorData::F32(_) => "float32",
        TensorData::I64(_) => "int64",
        TensorData::I32(_) => "int32",
        TensorData::Bool(_) => "bool",
        other => panic!("{other:?}"),
    };
    let found = json!([tensor.shape, kind]);
    let wanted = json!([golden[0], golden[1]]);
    if found == wanted { Ok(()) } else { Err(format!("{} is {found}, not {wanted}", tensor.name)) }
}

fn bytes(values: &TensorData) -> Vec<u8> {
    match values {
        TensorData::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        TensorData::I64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        TensorData::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        TensorData::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    wanted: &T,
) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted:?}")) }
}
