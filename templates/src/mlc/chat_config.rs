//! Reads `mlc-chat-config.json` of any version: template, sampling options, context shift, and all other fields.
//!
//! References: `ChatConfig` in `python/mlc_chat/chat_module.py` and `LoadJSONOverride` in `cpp/llm_chat.cc` for older files,
//! `MLCChatConfig` in `python/mlc_llm/protocol/mlc_chat_config.py` for today's.

use alloquy_core::model_info::ModelInfo;
use alloquy_core::sampling::PenaltyScope;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context_shift::{ContextShift, MEAN_GEN_LEN, SHIFT_FILL_FACTOR};
use super::generation::Generation;
use super::relaxed;
use super::template::{ConversationTemplate, generation_of};
use super::warning::Warning;

/// The file's name.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};
///
/// let mut model = ModelInfo::default();
/// model.files.insert(MLC_CHAT_CONFIG.to_owned(), r#"{"temperature": 0.7}"#.to_owned());
/// let config = ChatConfig::of(&model)?;
/// assert_eq!(config.and_then(|config| config.sampling.temperature), Some(0.7));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub const MLC_CHAT_CONFIG: &str = "mlc-chat-config.json";

/// The content of a `mlc-chat-config.json`, with all of its fields.
///
/// ```
/// use alloquy_templates::mlc::ChatConfig;
///
/// let config = ChatConfig::from_json(
///     r#"{
///         "conv_template": "vicuna_v1.1",
///         "conv_config": {"system": "You are Guanaco."},
///         "temperature": 0.7,
///         "repetition_penalty": 1.1,
///         "max_window_size": 2048,
///         "shift_fill_factor": 0.3,
///         "bos_token_id": 1
///     }"#,
/// )?;
/// assert_eq!(config.template.map(|template| template.system().to_owned()).as_deref(), Some("You are Guanaco."));
/// assert_eq!(config.sampling.temperature, Some(0.7));
/// assert_eq!(config.context_shift.map(|shift| shift.window), Some(2048));
/// assert_eq!(config.sampling.repetition_penalty, Some(1.1));
/// assert_eq!(config.specials.bos, Some(1));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatConfig {
    /// The conversation template: `conv_template`, `conv_config`, or the first changed by the second.
    pub template: Option<ConversationTemplate>,
    /// `temperature`, `top_p`, the penalties, `max_gen_len`, and the template's texts and tokens that end a reply.
    pub sampling: SamplingOptions,
    /// How a conversation is shortened that outgrows its window. `None` for today's files, whose engine refuses such a prompt,
    /// and for sliding windows.
    pub context_shift: Option<ContextShift>,
    /// `context_window_size`, or `max_window_size` of older files: tokens of prompt and reply together.
    pub context_window: Option<usize>,
    /// `sliding_window_size`, or `sliding_window` of older files: tokens that attention covers.
    pub sliding_window: Option<usize>,
    /// `attention_sink_size`: tokens at the start that a sliding window keeps.
    pub attention_sink: Option<usize>,
    /// `prefill_chunk_size`: tokens of a prompt that are computed at once.
    pub prefill_chunk: Option<usize>,
    /// `mean_gen_len`: the expected tokens of a reply.
    pub mean_gen_len: Option<usize>,
    /// `shift_fill_factor`: the share of the window that a context shift fills.
    pub shift_fill_factor: Option<f64>,
    /// `vocab_size`: logits of a step.
    pub vocabulary: Option<usize>,
    /// `tokenizer_files`: names of files in the same folder.
    pub tokenizer_files: Vec<String>,
    /// `bos_token_id`, `eos_token_id`, `pad_token_id`.
    pub specials: SpecialIds,
    /// Every other field unchanged, including unknown ones.
    pub rest: Map<String, Value>,
    /// Settings of the file and of the template that have no effect, or not the expected one.
    pub warnings: Vec<Warning>,
}

/// The special tokens that a configuration names.
///
/// [`ChatConfig`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialIds {
    /// Beginning of text.
    pub bos: Option<TokenId>,
    /// End of a reply: one, or several.
    pub eos: Vec<TokenId>,
    /// Padding.
    pub pad: Option<TokenId>,
}

/// Fields about compiling and loading a model, which are known but not needed here.
const OF_THE_COMPILER: [&str; 20] = [
    "active_vocab_size",
    "embedding_metadata",
    "local_id",
    "max_batch_size",
    "model_category",
    "model_config",
    "model_lib",
    "model_lib_path",
    "model_name",
    "model_task",
    "model_type",
    "num_shards",
    "opt",
    "pipeline_parallel_stages",
    "quantization",
    "tensor_parallel_shards",
    "tokenizer_info",
    "use_presharded_weights",
    "version",
    "kv_state_kind",
];

/// Returns whether the text of such a file names or contains a template.
pub(crate) fn has_template(json: &str) -> bool {
    let Ok((fields, _)) = relaxed::object(json) else { return false };
    ["conv_template", "conv_config"]
        .iter()
        .any(|field| fields.get(*field).is_some_and(|value| !value.is_null()))
}

impl ChatConfig {
    /// Reads a file.
    ///
    /// `conv_template` may be a name or an object. A name means the legacy template, or today's if there is no legacy one,
    /// because names were written to files while templates were legacy. A `conv_config` changes the template of a name;
    /// without a name it is a whole template. Every field may be absent. Comments and trailing commas are ignored, with a
    /// warning.
    ///
    /// # Errors
    /// * [`ErrorKind::Model`] when the text is not a JSON object, or a field is not of its type;
    /// * [`ErrorKind::NotFound`] for an unknown name;
    /// * [`ErrorKind::Template`] for an invalid template;
    /// * [`ErrorKind::Invalid`] for a value out of range.
    pub fn from_json(json: &str) -> Result<Self> {
        let (fields, warnings) = relaxed::object(json).map_err(|error| {
            Error::new(ErrorKind::Model, format!("{MLC_CHAT_CONFIG} cannot be read: {error}"))
        })?;
        Reader { fields, warnings }.read()
    }

    /// Reads a model's own file, or returns `None` when it has none. The template gets the texts of the model's tokens.
    ///
    /// # Errors
    /// Those of [`ChatConfig::from_json`], and [`ErrorKind::Template`] when the model does not have a token that the template
    /// prints.
    pub fn of(model: &ModelInfo) -> Result<Option<Self>> {
        let Some(json) = model.files.get(MLC_CHAT_CONFIG) else { return Ok(None) };
        let mut config = Self::from_json(json)?;
        config.template = config.template.map(|template| template.with_tokens_of(model)).transpose()?;
        Ok(Some(config))
    }
}

impl ChatConfig {
    /// Returns the context shift for a model with a context of `context` positions.
    ///
    /// `None` when the file names neither `mean_gen_len` nor `shift_fill_factor`, or the window slides. The window is the
    /// smaller of the file's, if it names one, and the model's.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when a value is out of its range for that window.
    ///
    /// ```
    /// use alloquy_templates::mlc::ChatConfig;
    ///
    /// let config = ChatConfig::from_json(r#"{"max_window_size": 2048, "mean_gen_len": 64}"#)?;
    /// let shift = config.shift_within(4096)?.unwrap();
    /// assert_eq!((shift.window, shift.mean_gen_len, shift.shift_fill_factor), (2048, 64, 0.3));
    /// assert!(ChatConfig::from_json(r#"{"context_window_size": 2048}"#)?.shift_within(4096)?.is_none());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn shift_within(&self, context: usize) -> Result<Option<ContextShift>> {
        let names_none = self.mean_gen_len.is_none() && self.shift_fill_factor.is_none();
        if names_none || self.sliding_window.is_some() {
            return Ok(None);
        }
        let shift = ContextShift::new(self.context_window.map_or(context, |window| window.min(context)));
        let shift = shift.with_mean_gen_len(self.mean_gen_len.unwrap_or(MEAN_GEN_LEN));
        let shift = shift.with_fill_factor(self.shift_fill_factor.unwrap_or(SHIFT_FILL_FACTOR));
        shift.validate().map_err(|error| error.context(MLC_CHAT_CONFIG))?;
        Ok(Some(shift))
    }
}

/// The fields that are not yet read.
struct Reader {
    fields: Map<String, Value>,
    warnings: Vec<Warning>,
}

impl Reader {
    fn read(mut self) -> Result<ChatConfig> {
        let template = self.template()?;
        let windows = self.windows()?;
        let mut config = ChatConfig {
            sampling: self.sampling(template.as_ref())?,
            mean_gen_len: self.take("mean_gen_len")?,
            shift_fill_factor: self.take("shift_fill_factor")?,
            vocabulary: self.take("vocab_size")?,
            tokenizer_files: self.take("tokenizer_files")?.unwrap_or_default(),
            specials: self.specials()?,
            template,
            ..windows
        };
        config.context_shift = self.context_shift(&config)?;
        for field in self.fields.keys() {
            if !OF_THE_COMPILER.contains(&field.as_str()) {
                let field = field.clone();
                self.warnings.push(Warning::UnknownField { object: MLC_CHAT_CONFIG, field });
            }
        }
        Ok(ChatConfig { rest: self.fields, warnings: self.warnings, ..config })
    }

    /// Removes and reads a field. Null counts as absent.
    fn take<T: DeserializeOwned>(&mut self, field: &str) -> Result<Option<T>> {
        let value = self.fields.shift_remove(field).filter(|value| !value.is_null());
        let read = value.map(|value| {
            serde_json::from_value(value.clone()).map_err(|error| {
                let message = format!("field {field:?} of {MLC_CHAT_CONFIG} with value {value}: {error}");
                Error::new(ErrorKind::Model, message)
            })
        });
        read.transpose()
    }

    /// Removes and reads a field in which -1 means "none".
    fn size(&mut self, field: &str) -> Result<Option<usize>> {
        if self.fields.get(field).and_then(Value::as_i64) == Some(-1) {
            self.fields.shift_remove(field);
        }
        self.take(field)
    }

    /// Reads a field of today's files, or else the one of older files.
    fn size_or(&mut self, field: &str, older: &str) -> Result<Option<usize>> {
        let old_value = self.fields.get(older).cloned();
        let today = self.size(field)?;
        let old = self.size(older)?;
        if let (Some(_), Some(value)) = (today, old_value) {
            self.has_no_effect(older, value, "the field that replaced it is set, too");
        }
        Ok(today.or(old))
    }

    fn has_no_effect(&mut self, field: &str, value: Value, reason: &'static str) {
        self.warnings.push(Warning::NotApplied { field: field.to_owned(), value, reason });
    }

    fn template(&mut self) -> Result<Option<ConversationTemplate>> {
        let conv_config: Option<Map<String, Value>> = self.take("conv_config")?;
        let template = match (self.take::<Value>("conv_template")?, conv_config) {
            (None, None) => None,
            (None, Some(config)) => Some(ConversationTemplate::read(Generation::Legacy, config)?),
            (Some(Value::String(name)), changes) => Some(self.named(&name, changes)?),
            (Some(Value::Object(object)), changes) => {
                if let Some(changes) = changes {
                    let reason = "conv_template is a whole object";
                    self.has_no_effect("conv_config", Value::Object(changes), reason);
                }
                Some(ConversationTemplate::read(generation_of(&object), object)?)
            }
            (Some(other), _) => {
                let message = format!("conv_template {other} is neither a name nor an object");
                return Err(Error::new(ErrorKind::Model, message));
            }
        };
        self.warnings.extend(template.iter().flat_map(ConversationTemplate::warnings).cloned());
        Ok(template)
    }

    fn named(&mut self, name: &str, changes: Option<Map<String, Value>>) -> Result<ConversationTemplate> {
        let is_legacy = Generation::Legacy.find(name).is_some();
        let template = if is_legacy {
            ConversationTemplate::named_in(Generation::Legacy, name)?
        } else {
            ConversationTemplate::named(name)?
        };
        if is_legacy && Generation::Current.find(name).is_some() {
            let taken = template.generation();
            self.warnings.push(Warning::NameInBoth { name: name.to_owned(), taken });
        }
        match changes {
            Some(changes) => template.merged(changes),
            None => Ok(template),
        }
    }

    fn sampling(&mut self, template: Option<&ConversationTemplate>) -> Result<SamplingOptions> {
        let repetition_penalty = self.take("repetition_penalty")?;
        let sampling = SamplingOptions {
            temperature: self.take("temperature")?,
            top_p: self.take("top_p")?,
            // In MLC the prompt's tokens do not count.
            penalty_scope: repetition_penalty.map(|_| PenaltyScope::Reply),
            repetition_penalty,
            presence_penalty: self.take("presence_penalty")?,
            frequency_penalty: self.take("frequency_penalty")?,
            max_tokens: self.size("max_gen_len")?,
            stop: template.map(|template| template.stop_strings().to_vec()).unwrap_or_default(),
            stop_tokens: template.into_iter().flat_map(single_tokens).collect(),
            ..SamplingOptions::default()
        };
        sampling.validate().map_err(|error| error.context(MLC_CHAT_CONFIG))?;
        Ok(sampling)
    }

    fn windows(&mut self) -> Result<ChatConfig> {
        Ok(ChatConfig {
            context_window: self.size_or("context_window_size", "max_window_size")?,
            sliding_window: self.size_or("sliding_window_size", "sliding_window")?,
            attention_sink: self.size("attention_sink_size")?,
            prefill_chunk: self.size("prefill_chunk_size")?,
            ..ChatConfig::default()
        })
    }

    fn specials(&mut self) -> Result<SpecialIds> {
        let eos = self.take::<Value>("eos_token_id")?.map(|eos| match eos {
            Value::Array(_) => eos,
            one => Value::from(vec![one]),
        });
        if let Some(eos) = eos {
            self.fields.insert("eos_token_id".to_owned(), eos);
        }
        let eos = self.take("eos_token_id")?.unwrap_or_default();
        Ok(SpecialIds { bos: self.take("bos_token_id")?, eos, pad: self.take("pad_token_id")? })
    }

    /// Returns the context shift, if the file has fields for one.
    fn context_shift(&mut self, config: &ChatConfig) -> Result<Option<ContextShift>> {
        let reply = config.mean_gen_len;
        let share = config.shift_fill_factor;
        let reason = match (config.sliding_window, config.context_window) {
            _ if reply.is_none() && share.is_none() => return Ok(None),
            (Some(_), _) => "a sliding window never shifts",
            (None, None) => "the size of the window is not given",
            (None, Some(window)) => {
                let shift = ContextShift::new(window);
                let shift = shift.with_mean_gen_len(reply.unwrap_or(MEAN_GEN_LEN));
                let shift = shift.with_fill_factor(share.unwrap_or(SHIFT_FILL_FACTOR));
                shift.validate().map_err(|error| error.context(MLC_CHAT_CONFIG))?;
                return Ok(Some(shift));
            }
        };
        for (field, value) in
            [("mean_gen_len", reply.map(Value::from)), ("shift_fill_factor", share.map(Value::from))]
        {
            if let Some(value) = value {
                self.has_no_effect(field, value, reason);
            }
        }
        Ok(None)
    }
}

/// Returns the tokens that end a reply, as sequences of one token.
fn single_tokens(template: &ConversationTemplate) -> impl Iterator<Item = Vec<TokenId>> {
    template.stop_tokens().iter().map(|token| vec![*token])
}
