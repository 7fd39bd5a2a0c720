//! A transcript: the messages of a document, its tools, and the fields beside them.

use alloquy_core::{Error, ErrorKind, Message, Preface, Request, Result, Role, ToolSpec};
use serde_json::{Map, Value};

/// What a document of any dialect says: its messages, its tools, and the fields beside them.
///
/// System messages are in `messages`, in their place. [`into_preface`](Self::into_preface) splits off the
/// leading ones.
///
/// ```
/// use alloquy_formats::messages::Transcript;
/// use alloquy_core::{Message, Preface};
///
/// let transcript = Transcript::of(&Preface::system("Be brief."), &["Hi".into()]);
/// let (preface, messages) = transcript.into_preface();
/// assert_eq!(preface, Preface::system("Be brief."));
/// assert_eq!(messages, [Message::user("Hi")]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// Every message, in order.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// Fields beside the messages, in order, such as `documents`.
    pub extra: Map<String, Value>,
}

impl Transcript {
    /// Creates a transcript of `messages` alone.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Joins a preface and the messages after it.
    pub fn of(preface: &Preface, messages: &[Message]) -> Self {
        Self {
            messages: [&preface.messages, messages].concat(),
            tools: preface.tools.clone(),
            extra: preface.arguments.extra.clone(),
        }
    }

    /// Splits off the preface: the leading system messages, the tools and the fields beside the messages.
    pub fn into_preface(mut self) -> (Preface, Vec<Message>) {
        let leading = self.messages.iter().take_while(|message| message.role == Role::System).count();
        let messages = self.messages.split_off(leading);
        let mut preface = Preface { messages: self.messages, tools: self.tools, ..Preface::default() };
        preface.arguments.extra = self.extra;
        (preface, messages)
    }

    /// Converts into a request to a model: the preface and the messages after it. The last message must be of the user or
    /// a result of a tool, as AKI and Gemini's API require.
    ///
    /// ```
    /// use alloquy_formats::messages::Transcript;
    /// use alloquy_core::Message;
    ///
    /// let mut transcript = Transcript::new(vec![Message::user("Hi"), Message::assistant("Hello!")]);
    /// let error = transcript.clone().into_request().unwrap_err();
    /// assert_eq!(error.to_string(), "the last message is of the role assistant, not of the user: nothing is asked");
    /// transcript.messages.push(Message::user("How are you?"));
    /// assert_eq!(transcript.into_request()?.path.len(), 3);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where the last message is neither the user's nor a tool's, and without messages.
    pub fn into_request(self) -> Result<Request> {
        let role = self.messages.last().map(|message| message.role);
        if matches!(role, Some(Role::User | Role::Tool)) {
            let (preface, path) = self.into_preface();
            return Ok(Request::new(preface, path));
        }
        let message = match role {
            Some(role) => {
                format!("the last message is of the role {role}, not of the user: nothing is asked")
            }
            None => "there is no message: nothing is asked".to_owned(),
        };
        Err(Error::new(ErrorKind::Invalid, message))
    }
}
