//! Chooses the template for a model's prompts.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::PromptTemplate;
use alloquy_core::tokenizer::TokenId;

use crate::mlc::{ChatConfig, Warning};
use crate::sources::{self, TemplateOrigin};
use crate::{Capabilities, CompletionTemplate, JinjaTemplate, JinjaTemplateBuilder};

/// The template that was chosen, and where it comes from.
///
/// [`detect`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// The template that renders the model's prompts.
    pub template: Arc<dyn PromptTemplate>,
    /// Where it comes from; [`TemplateOrigin::Completion`] when the model brings none.
    pub origin: TemplateOrigin,
    /// The other places where the model has a template, in order. They are not used.
    pub passed_over: Vec<TemplateOrigin>,
    /// What a Jinja template can do, measured by rendering small conversations.
    pub capabilities: Option<Capabilities>,
    /// The texts that end a reply in the template's format; a Jinja template names none.
    pub stop: Vec<String>,
    /// The tokens that end a reply.
    pub stop_tokens: Vec<TokenId>,
    /// Settings of `mlc-chat-config.json` that have no effect or not the expected one, if the template is from there.
    pub warnings: Vec<Warning>,
}

/// Chooses the template for a model: its own if it has one, else [`CompletionTemplate`].
///
/// The first of these that exists counts: `chat_template.jinja` together with `additional_chat_templates/`, the
/// `chat_template` of `tokenizer_config.json`, that of `chat_template.json`, the conversation template of
/// `mlc-chat-config.json`. A Jinja template comes first, because the model was trained with it.
///
/// # Errors
/// * [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when the model's files cannot be read;
/// * [`ErrorKind::Template`](alloquy_core::ErrorKind::Template) when the template is invalid or needs tokens that the model
///   does not have;
/// * [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) for an unknown conversation template.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_templates::{TemplateOrigin, detect};
///
/// let mut model = ModelInfo::default();
/// assert_eq!(detect(&model)?.origin, TemplateOrigin::Completion);
/// model.files.insert("mlc-chat-config.json".into(), r#"{"conv_template": "redpajama_chat"}"#.into());
/// let detected = detect(&model)?;
/// assert_eq!(detected.origin.to_string(), "mlc-chat-config.json");
/// assert_eq!(detected.stop, ["<human>"]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn detect(model: &ModelInfo) -> Result<Detected> {
    detect_with(model, |builder| builder)
}

/// Chooses a template as [`detect`] does, and passes the builder of a Jinja template to `configure`, which sets its dialect,
/// polyfill, clock or limits.
///
/// # Errors
/// Those of [`detect`].
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::template::TemplateInput;
/// use alloquy_templates::{Dialect, detect_with};
///
/// let mut model = ModelInfo::default();
/// model.files.insert("chat_template.jinja".into(), "{{ messages }}".into());
/// let detected = detect_with(&model, |builder| builder.dialect(Dialect::LiteRtLm))?;
/// assert_eq!(detected.template.render(&TemplateInput::default())?, "[]");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn detect_with(
    model: &ModelInfo,
    configure: impl FnOnce(JinjaTemplateBuilder) -> JinjaTemplateBuilder,
) -> Result<Detected> {
    let detected = match sources::find(model)? {
        Some(source) => {
            let template = configure(JinjaTemplate::builder_from(&source, model)?).build()?.measured();
            let capabilities = Some(template.capabilities().clone());
            Detected { capabilities, ..Detected::new(template, source.origin) }
        }
        None => without_jinja(model)?,
    };
    let passed_over = sources::places(model).into_iter().filter(|place| *place != detected.origin);
    Ok(Detected { passed_over: passed_over.collect(), ..detected })
}

fn without_jinja(model: &ModelInfo) -> Result<Detected> {
    let config = ChatConfig::of(model)?.unwrap_or_default();
    match config.template {
        Some(template) => {
            let stop = template.stop_strings().to_vec();
            let stop_tokens = template.stop_tokens().to_vec();
            let detected = Detected::new(template, TemplateOrigin::MlcChatConfig);
            Ok(Detected { stop, stop_tokens, warnings: config.warnings, ..detected })
        }
        None => Ok(Detected::new(CompletionTemplate::of(model)?, TemplateOrigin::Completion)),
    }
}

impl Detected {
    fn new(template: impl PromptTemplate + 'static, origin: TemplateOrigin) -> Self {
        Self {
            template: Arc::new(template),
            origin,
            passed_over: Vec::new(),
            capabilities: None,
            stop: Vec::new(),
            stop_tokens: Vec::new(),
            warnings: Vec::new(),
        }
    }
}
