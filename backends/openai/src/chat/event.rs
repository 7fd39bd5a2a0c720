//! What a chat endpoint says while it replies, whatever its protocol.

/// One thing that the server said.
#[derive(Debug)]
pub(crate) enum ChatEvent {
    /// The server has accepted the request.
    Accepted,
    Text(String),
    Thinking(String),
    /// Text by which the model refuses.
    Refusal(String),
    /// What proves to the server later that the thinking is its own.
    Signature(String),
    /// A call begins. Servers may repeat it with each piece of its arguments.
    Call {
        place: u64,
        id: String,
        name: String,
    },
    /// More of the arguments of the call at a place.
    Arguments {
        place: u64,
        text: String,
    },
    Usage(ChatUsage),
    End(ChatEnd),
}

/// The numbers of tokens that the server counted; those that it did not report are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChatUsage {
    pub(crate) prompt: Option<usize>,
    pub(crate) cached: Option<usize>,
    pub(crate) generated: Option<usize>,
    pub(crate) thinking: Option<usize>,
}

impl ChatUsage {
    /// Takes the numbers of a later report.
    pub(crate) fn update(&mut self, later: Self) {
        self.prompt = later.prompt.or(self.prompt);
        self.cached = later.cached.or(self.cached);
        self.generated = later.generated.or(self.generated);
        self.thinking = later.thinking.or(self.thinking);
    }
}

/// Why the server ended the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChatEnd {
    Stop,
    /// A server may call a reply complete that its limit has cut.
    StopOrLength,
    Length,
    ContextFull,
    ToolCalls,
    /// Another reason, such as a filter, in the server's words.
    Other(String),
}
