//! A conversation template of either generation.

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use super::current::{self, ConvTemplate};
use super::current_prompt;
use super::front::Front;
use super::function_string::{TOOL_CHOICE, has_tools};
use super::generation::Generation;
use super::legacy::{self, ConvConfig};
use super::legacy_prompt;
use super::part::{Part, PartKind};
use super::relaxed;
use super::warning::Warning;

/// A conversation template of MLC: a system text, a header for each role, and separators.
///
/// The prompt is the system text, then each message with its role and separator, and finally the header of the assistant's
/// reply. A system message at the start replaces the system text. The text of a message is printed unchanged, even if it looks
/// like one of the template's placeholders.
///
/// There are two [generations](Generation) of such objects. Some of today's templates have a place for tools. All others refuse
/// a conversation with tools unless [`ignoring_tools`](ConversationTemplate::ignoring_tools) is set. Images and documents are
/// errors.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::ConversationTemplate;
/// use serde_json::json;
///
/// let template = ConversationTemplate::named("vicuna_v1.1")?.with_bos("<s>");
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "system", "content": "Be brief."}));
/// input.messages.push(json!({"role": "user", "content": "Hello"}));
/// assert_eq!(template.render(&input)?, "<s>Be brief. USER: Hello ASSISTANT:");
/// assert_eq!(template.stop_strings(), ["</s>"]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationTemplate {
    object: Object,
    front: Front,
    tools: Tools,
    stop_strings: Vec<String>,
    warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq)]
enum Object {
    Current(Box<ConvTemplate>),
    Legacy(Box<ConvConfig>),
}

/// What happens to tools that have no place in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tools {
    Refused,
    Ignored,
}

impl ConversationTemplate {
    /// Returns today's template known as `name`, or the legacy one if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for an unknown name; the message lists the known ones.
    pub fn named(name: &str) -> Result<Self> {
        match [Generation::Current, Generation::Legacy].into_iter().find(|of| of.find(name).is_some()) {
            Some(generation) => Self::named_in(generation, name),
            None => {
                let mut known: Vec<_> =
                    Self::names(Generation::Current).chain(Self::names(Generation::Legacy)).collect();
                known.sort_unstable();
                known.dedup();
                let known = known.join(", ");
                let message = format!("unknown conversation template {name:?}, one of: {known}");
                Err(Error::new(ErrorKind::NotFound, message))
            }
        }
    }

    /// Returns the template known as `name` in a generation. In the other generation the same name may mean another prompt.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for an unknown name; the message lists the known ones.
    ///
    /// ```
    /// use alloquy_templates::ConversationTemplate;
    /// use alloquy_templates::mlc::Generation;
    ///
    /// let old = ConversationTemplate::named_in(Generation::Legacy, "chatml")?;
    /// let new = ConversationTemplate::named_in(Generation::Current, "chatml")?;
    /// assert_ne!(old, new);
    /// assert_eq!(
    ///     old.warnings()[0].to_string(),
    ///     r#"conversation template "chatml" ends the system text by <|im_end|> twice"#
    /// );
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn named_in(generation: Generation, name: &str) -> Result<Self> {
        let mut template = Self::from_json_in(generation, generation.get(name)?)?;
        template.warnings.extend(generation.defects(name));
        Ok(template)
    }

    /// Lists the names of a generation.
    pub fn names(generation: Generation) -> impl Iterator<Item = &'static str> {
        generation.named().iter().map(|(name, _)| *name)
    }

    /// Reads an object of either generation. It is of today's if its `roles` are an object or it has a field that only today's
    /// generation has.
    ///
    /// The text may have comments and trailing commas, with a [warning](Warning::RelaxedJson). Unknown fields are
    /// [ignored](Warning::UnknownField).
    ///
    /// Today's objects must have `roles` and `seps`, as in MLC. Every field of a `conv_config` may be absent:
    ///
    /// * `system`, `messages`, `stop_str`, `stop_tokens` and `prefix_tokens` are empty by default, and `offset` keeps all of
    ///   `messages`;
    /// * `roles` are `USER` and `ASSISTANT`;
    /// * `seps` is one line feed, `role_msg_sep` is `": "`, and `role_empty_sep` is `":"`.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when the text is not such an object, or it has
    ///
    /// * no separator or more than two, or an unknown separator style;
    /// * no role `user` or `assistant`, or an earlier message of an unknown role.
    pub fn from_json(json: &str) -> Result<Self> {
        let (fields, warnings) = object_of(json)?;
        Ok(Self::read(generation_of(&fields), fields)?.warned(warnings))
    }

    /// Reads an object of a generation.
    ///
    /// # Errors
    /// As [`ConversationTemplate::from_json`].
    pub fn from_json_in(generation: Generation, json: &str) -> Result<Self> {
        let (fields, warnings) = object_of(json)?;
        Ok(Self::read(generation, fields)?.warned(warnings))
    }

    /// Returns this template with the fields of another object instead of its own.
    ///
    /// # Errors
    /// As [`ConversationTemplate::from_json`].
    ///
    /// ```
    /// use alloquy_templates::ConversationTemplate;
    ///
    /// let vicuna = ConversationTemplate::named("vicuna_v1.1")?;
    /// let guanaco = vicuna.overridden(r#"{"system": "You are Guanaco."}"#)?;
    /// assert_eq!(guanaco.system(), "You are Guanaco.");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn overridden(&self, json: &str) -> Result<Self> {
        let (changes, warnings) = object_of(json)?;
        Ok(self.merged(changes)?.warned(warnings))
    }

    fn warned(mut self, warnings: Vec<Warning>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    pub(super) fn merged(&self, changes: Map<String, Value>) -> Result<Self> {
        let fields = match &self.object {
            Object::Current(template) => template.merged(changes),
            Object::Legacy(config) => config.merged(changes),
        };
        let mut merged = Self::read(self.generation(), fields)?;
        let defects = self.warnings.iter().filter(|warning| matches!(warning, Warning::KnownDefect { .. }));
        merged.warnings.extend(defects.cloned());
        Ok(Self { front: merged.front.clone().with_texts_of(&self.front), tools: self.tools, ..merged })
    }

    pub(super) fn read(generation: Generation, fields: Map<String, Value>) -> Result<Self> {
        let (object, front, stop_strings, warnings) = match generation {
            Generation::Current => {
                let (template, warnings) = ConvTemplate::read(fields)?;
                let front = template.front();
                let stop_strings = template.stop_strings();
                (Object::Current(Box::new(template)), front, stop_strings, warnings)
            }
            Generation::Legacy => {
                let (config, warnings) = ConvConfig::read(fields)?;
                let front = config.front();
                let stop_strings = config.stop_strings();
                (Object::Legacy(Box::new(config)), front, stop_strings, warnings)
            }
        };
        Ok(Self { object, front, tools: Tools::Refused, stop_strings, warnings })
    }

    /// Returns the object that reads as this template.
    pub fn to_json(&self) -> Value {
        Value::Object(match &self.object {
            Object::Current(template) => template.to_json(),
            Object::Legacy(config) => config.to_json(),
        })
    }

    /// Sets the text of BOS, which a legacy template with `add_bos` prints after the prefix tokens.
    #[must_use]
    pub fn with_bos(mut self, text: impl Into<String>) -> Self {
        self.front.bos = Some(text.into());
        self
    }

    /// Sets the text of the [prefix tokens](ConversationTemplate::prefix_tokens), which are printed first.
    #[must_use]
    pub fn with_prefix(mut self, text: impl Into<String>) -> Self {
        self.front.prefix = Some(text.into());
        self
    }

    /// Reads the texts of BOS and of the prefix tokens from a model.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when the model has no BOS, or no special token with the id of a prefix token.
    pub fn with_tokens_of(mut self, model: &ModelInfo) -> Result<Self> {
        match self.front.take_texts_of(model) {
            Ok(()) => Ok(self),
            Err(missing) => Err(self.needs(&missing)),
        }
    }

    /// Leaves out tools that have no place in the prompt, as MLC does, instead of refusing the conversation.
    #[must_use]
    pub fn ignoring_tools(mut self) -> Self {
        self.tools = Tools::Ignored;
        self
    }

    /// Returns the generation.
    pub fn generation(&self) -> Generation {
        match &self.object {
            Object::Current(_) => Generation::Current,
            Object::Legacy(_) => Generation::Legacy,
        }
    }

    /// Returns the template's own name, which may differ from the name it is known by; empty when it has none.
    pub fn name(&self) -> &str {
        match &self.object {
            Object::Current(template) => template.name.as_deref().unwrap_or_default(),
            Object::Legacy(config) => &config.name,
        }
    }

    /// Returns the system text of a conversation without a system message of its own.
    pub fn system(&self) -> &str {
        match &self.object {
            Object::Current(template) => &template.system_message,
            Object::Legacy(config) => &config.system,
        }
    }

    /// Returns the texts that end a reply and do not belong to it.
    pub fn stop_strings(&self) -> &[String] {
        &self.stop_strings
    }

    /// Returns the tokens that end a reply.
    pub fn stop_tokens(&self) -> &[TokenId] {
        match &self.object {
            Object::Current(template) => &template.stop_token_ids,
            Object::Legacy(config) => &config.stop_tokens,
        }
    }

    /// Returns the tokens at the very start of the prompt, before BOS.
    pub fn prefix_tokens(&self) -> &[TokenId] {
        &self.front.tokens
    }

    /// Returns warnings about settings that have no effect, or not the expected one.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the parts of a prompt. One after the other, they are the text that [`PromptTemplate::render`] returns.
    ///
    /// # Errors
    /// As `render`: [`ErrorKind::Unsupported`] for a message that the template cannot print, [`ErrorKind::Template`] when the
    /// text of BOS or of the prefix tokens is unknown.
    pub fn parts(&self, input: &TemplateInput) -> Result<Vec<Part>> {
        refuse_documents(input)?;
        let (conversation, has_function_place) = match &self.object {
            Object::Current(template) => current_prompt::parts(template, input)?,
            Object::Legacy(config) => (legacy_prompt::parts(config, input)?, false),
        };
        if self.tools == Tools::Refused && has_tools(input) && !has_function_place {
            let message = format!("conversation template {:?} has no place for tools", self.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let text = self.front.text().map_err(|missing| self.needs(missing))?;
        let mut parts = Vec::with_capacity(conversation.len() + 1);
        if !text.is_empty() {
            parts.push(Part { kind: PartKind::Front, text });
        }
        parts.extend(conversation);
        Ok(parts)
    }

    fn needs(&self, what: &str) -> Error {
        Error::new(ErrorKind::Template, format!("conversation template {:?} needs {what}", self.name()))
    }
}

impl PromptTemplate for ConversationTemplate {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        Ok(self.parts(input)?.into_iter().map(|part| part.text).collect())
    }

    fn digest(&self) -> Digest {
        let object = self.to_json();
        let front = &self.front;
        let tools = self.tools;
        Digest::of(format!("{object}\0{front:?}\0{tools:?}").as_bytes())
    }

    fn reads(&self, _: &TemplateInput, variable: &str) -> bool {
        variable == TOOL_CHOICE
    }

    fn stop_strings(&self) -> Vec<String> {
        self.stop_strings.clone()
    }

    fn stop_tokens(&self) -> Vec<TokenId> {
        Self::stop_tokens(self).to_vec()
    }
}

fn object_of(json: &str) -> Result<(Map<String, Value>, Vec<Warning>)> {
    relaxed::object(json).map_err(|error| {
        Error::new(ErrorKind::Template, format!("a conversation template cannot be read: {error}"))
    })
}

/// Returns the generation of an object.
pub(super) fn generation_of(fields: &Map<String, Value>) -> Generation {
    match fields.get("roles") {
        Some(Value::Object(_)) => Generation::Current,
        Some(_) => Generation::Legacy,
        None if fields.keys().any(|field| is_of_today(field)) => Generation::Current,
        None => Generation::Legacy,
    }
}

/// Returns whether only today's generation has a field.
fn is_of_today(field: &str) -> bool {
    current::FIELDS.contains(&field) && !legacy::FIELDS.contains(&field)
}

fn refuse_documents(input: &TemplateInput) -> Result<()> {
    match input.documents.as_deref().unwrap_or_default() {
        [] => Ok(()),
        _ => Err(Error::new(ErrorKind::Unsupported, "a conversation template has no place for documents")),
    }
}
