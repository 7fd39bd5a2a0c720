//! MLC's conversation templates: a system text, two roles and the separators between them.
//!
//! Reference: `cpp/conversation.h` and `cpp/conv_templates.cc` of MLC LLM up to May 2024, where the object is called
//! `conv_config`.

mod conv_config;
mod conversation;

use alloquy_core::{Digest, Error, ErrorKind, ModelInfo, PromptTemplate, Result, TemplateInput, TokenId};
use serde_json::{Map, Value};

use conv_config::{ConvConfig, Style};
use conversation::Conversation;

/// The templates known by name, as data: name and `conv_config`.
const NAMED: &[(&str, &str)] = &[("vicuna_v1.1", include_str!("mlc/vicuna_v1.1.json"))];

/// A conversation template in the form of MLC's `conv_config`.
///
/// The prompt is the system text and its separator, then each message as its role's name, a separator, the text
/// and a separator that alternates with the message's position, and at last the name of the assistant. A system
/// message at the beginning replaces the system text. There are no other roles, no tools and no media.
///
/// ```
/// use alloquy_core::{PromptTemplate, TemplateInput};
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationTemplate {
    config: ConvConfig,
    prefix: Option<String>,
    bos: Option<String>,
    stop_strings: Vec<String>,
}

impl ConversationTemplate {
    /// Returns the template known as `name`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for another name; the message lists the known ones.
    pub fn named(name: &str) -> Result<Self> {
        match NAMED.iter().find(|(known, _)| *known == name) {
            Some((_, json)) => Self::from_json(json),
            None => {
                let known = Self::names().collect::<Vec<_>>().join(", ");
                let message = format!("unknown conversation template {name:?}, one of: {known}");
                Err(Error::new(ErrorKind::NotFound, message))
            }
        }
    }

    /// Lists the names that [`ConversationTemplate::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// Reads a `conv_config` object.
    ///
    /// Every field may be absent. Then there is no system text and no earlier message, the roles are `USER` and
    /// `ASSISTANT`, `seps` is one line feed, `role_msg_sep` is `": "`, `role_empty_sep` is `":"`, nothing stops a
    /// reply, nothing stands before the prompt, and `offset` keeps all of `messages`.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when it is not such an object, has a field of another name, no or more than two
    /// separators, or a separator style other than 0, 1 and 2.
    pub fn from_json(json: &str) -> Result<Self> {
        let config: ConvConfig = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        config.validated().map(Self::new)
    }

    /// Returns this template with the fields of another `conv_config` in place of its own.
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
        let changes: Map<String, Value> = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        let mut fields = self.config.to_json();
        // The old offset counts the old messages.
        if changes.contains_key("messages") {
            fields.remove("offset");
        }
        fields.extend(changes);
        let config: ConvConfig =
            serde_json::from_value(Value::Object(fields)).map_err(|error| unreadable(&error))?;
        let prefix = self.prefix.clone().filter(|_| config.prefix_tokens == self.config.prefix_tokens);
        Ok(Self { prefix, bos: self.bos.clone(), ..Self::new(config.validated()?) })
    }

    fn new(config: ConvConfig) -> Self {
        let stop_strings =
            Some(config.stop_str.clone()).filter(|text| !text.is_empty()).into_iter().collect();
        Self { config, prefix: None, bos: None, stop_strings }
    }

    /// Sets the text of BOS, which a template with `add_bos` prints first.
    #[must_use]
    pub fn with_bos(mut self, text: impl Into<String>) -> Self {
        self.bos = Some(text.into());
        self
    }

    /// Takes the texts of BOS and of `prefix_tokens` from a model.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when the model has no BOS or no special token of such a number.
    pub fn with_tokens_of(mut self, model: &ModelInfo) -> Result<Self> {
        if self.config.add_bos {
            let bos = model.bos.as_ref().ok_or_else(|| self.wants("a BOS, which the model does not have"))?;
            self.bos = Some(bos.text.clone());
        }
        let text_of = |id: &TokenId| {
            let token = model.specials.iter().find(|token| token.id == *id);
            token.map(|token| token.text.as_str()).ok_or_else(|| {
                self.wants(&format!("token {id} in front, which is no special token of the model"))
            })
        };
        self.prefix = Some(self.config.prefix_tokens.iter().map(text_of).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Returns the template's name; empty when it has none.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Returns the system text of a conversation without a system message of its own.
    pub fn system(&self) -> &str {
        &self.config.system
    }

    /// Returns the texts that end a reply and do not belong to it.
    pub fn stop_strings(&self) -> &[String] {
        &self.stop_strings
    }

    /// Returns the tokens that end a reply.
    pub fn stop_tokens(&self) -> &[TokenId] {
        &self.config.stop_tokens
    }

    /// Returns the tokens that stand before everything, BOS too.
    pub fn prefix_tokens(&self) -> &[TokenId] {
        &self.config.prefix_tokens
    }

    /// What stands before the prompt: the prefix, then BOS.
    fn beginning(&self) -> Result<String> {
        let mut beginning = match &self.prefix {
            None if !self.config.prefix_tokens.is_empty() => {
                return Err(self.wants("tokens in front whose texts are not known, give the model"));
            }
            prefix => prefix.clone().unwrap_or_default(),
        };
        if self.config.add_bos {
            beginning +=
                self.bos.as_deref().ok_or_else(|| self.wants("the text of BOS, which was not given"))?;
        }
        Ok(beginning)
    }

    fn wants(&self, what: &str) -> Error {
        Error::new(ErrorKind::Template, format!("conversation template {:?} wants {what}", self.config.name))
    }
}

fn unreadable(source: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Template, format!("conv_config cannot be read: {source}"))
}

impl PromptTemplate for ConversationTemplate {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        let conversation = Conversation::read(&self.config, input)?;
        let prompt = match self.config.separator_style {
            Style::Roles => conversation.with_roles(&self.config, input.ending),
            Style::Plain(_) => conversation.plain(),
        };
        Ok(self.beginning()? + &prompt)
    }

    fn digest(&self) -> Digest {
        let config = Value::Object(self.config.to_json());
        Digest::of(format!("{config}\0{:?}\0{:?}", self.prefix, self.bos).as_bytes())
    }
}
