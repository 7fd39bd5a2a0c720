//! Tools with which a model remembers and forgets, after an approval.

use std::sync::Arc;

use alloquy_core::message::ToolCall;
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, ToolProvider};
use alloquy_core::{Error, ErrorKind, NodeId, Owner, Result, Tool, ToolSpec};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::note::{Note, NoteSource};
use crate::notes::Notes;
use crate::recall::Remember;

/// The tools `remember` and `forget`, with which a model writes notes. Each call needs the approval of the host.
///
/// A note has the reply with the call as its source. The notes are those of the owner of the conversation; outside of one a call
/// fails. A model names a note by a part of its id, which [`Reminder::with_ids`](crate::Reminder::with_ids) shows.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::store::MemoryStore;
/// use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox};
/// use alloquy_core::{Manager, Owner, Preface, ToolSpec};
/// use alloquy_memory::{NoteTools, Notes};
/// use alloquy_testing::ScriptedModel;
///
/// /// Allows to remember, and not to forget.
/// #[derive(Debug)]
/// struct OnlyRemember;
///
/// #[async_trait::async_trait]
/// impl ToolApproval for OnlyRemember {
///     async fn approve(&self, call: &ToolCall, _: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
///         if call.name == "remember" { ApprovalDecision::Allow } else { ApprovalDecision::Refuse("no".to_owned()) }
///     }
/// }
///
/// # pollster::block_on(async {
/// let store = Arc::new(MemoryStore::default());
/// let notes = Notes::new(store.clone());
/// let model = ScriptedModel::new([
///     ("<user>I moved to Oslo.<end><assistant>", "call:remember {\"text\": \"The user lives in Oslo.\"}"),
///     ("<tool>", "I will remember it."),
/// ]);
/// let tools = Toolbox::default().source(NoteTools::new(notes.clone(), OnlyRemember));
/// let manager = Manager::builder(model).store(store).toolbox(tools).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.send("I moved to Oslo.").await?;
/// assert_eq!(notes.list(&Owner::local()).await?[0].note.text, "The user lives in Oslo.");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct NoteTools {
    notes: Notes,
    approval: Arc<dyn ToolApproval>,
}

impl NoteTools {
    /// The name of the tool that remembers.
    pub const REMEMBER: &str = "remember";

    /// The name of the tool that forgets.
    pub const FORGET: &str = "forget";

    /// Creates the tools. `approval` decides each call, besides the approval of the toolbox.
    pub fn new(notes: Notes, approval: impl ToolApproval + 'static) -> Self {
        Self { notes, approval: Arc::new(approval) }
    }

    /// Returns the tool that remembers.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_core::tool::ToolApproval;
    /// use alloquy_core::{Tool, ToolSpec};
    /// use alloquy_memory::{NoteTools, Notes};
    ///
    /// fn offered(approval: impl ToolApproval + 'static) -> ToolSpec {
    ///     let notes = Notes::new(Arc::new(MemoryStore::default()));
    ///     NoteTools::new(notes, approval).remember().spec()
    /// }
    /// ```
    pub fn remember(&self) -> Arc<dyn Tool> {
        Arc::new(NoteTool { tools: self.clone(), action: Action::Remember })
    }

    /// Returns the tool that forgets.
    pub fn forget(&self) -> Arc<dyn Tool> {
        Arc::new(NoteTool { tools: self.clone(), action: Action::Forget })
    }
}

impl ToolProvider for NoteTools {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.remember(), self.forget()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Remember,
    Forget,
}

#[derive(Debug)]
struct NoteTool {
    tools: NoteTools,
    action: Action,
}

#[async_trait]
impl Tool for NoteTool {
    fn spec(&self) -> ToolSpec {
        let id = json!({"type": "string", "description": "The id of a note, as it is shown in brackets"});
        match self.action {
            Action::Remember => {
                let text = json!({"type": "string", "description": "One fact, as a sentence that is clear by itself"});
                let parameters = json!({
                    "type": "object",
                    "properties": {"text": text, "replaces": id},
                    "required": ["text"],
                });
                let description = "Remembers a fact about the user for later conversations. With `replaces`, it replaces a note \
                                   that is no longer true";
                ToolSpec::new(NoteTools::REMEMBER, description, parameters)
            }
            Action::Forget => {
                let parameters = json!({"type": "object", "properties": {"id": id}, "required": ["id"]});
                ToolSpec::new(NoteTools::FORGET, "Forgets a note, because the user wishes it", parameters)
            }
        }
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let Some(origin) = &context.origin else {
            let message = "notes belong to the owner of a conversation, and this call is outside of one";
            return Err(Error::new(ErrorKind::Tool, message));
        };
        match self.action {
            Action::Remember => {
                let mut note = Note::new(text(arguments, "text")?);
                if arguments.get("replaces").is_some_and(|former| !former.is_null()) {
                    note = note.replacing(self.named(&origin.owner, text(arguments, "replaces")?).await?);
                }
                if let Some(node) = origin.parent {
                    note = note.source(NoteSource::new(origin.conversation.clone(), node));
                }
                note.must_be_valid()?;
                self.must_be_approved(arguments, context).await?;
                self.remember(&origin.owner, note).await
            }
            Action::Forget => {
                let note = self.named(&origin.owner, text(arguments, "id")?).await?;
                self.must_be_approved(arguments, context).await?;
                self.tools.notes.forget(&origin.owner, note).await?;
                Ok(json!({"forgotten": note.to_string()}))
            }
        }
    }
}

impl NoteTool {
    /// Finds a note that is not replaced. A model is shown no others.
    async fn named(&self, owner: &Owner, id: &str) -> Result<NodeId> {
        let found = self.tools.notes.find(owner, id).await?.id;
        if self.tools.notes.list(owner).await?.iter().any(|note| note.id == found) {
            return Ok(found);
        }
        let message = format!("note {id:?} was replaced: name the note that replaces it");
        Err(Error::new(ErrorKind::NotFound, message))
    }

    async fn remember(&self, owner: &Owner, note: Note) -> Result<Value> {
        let id = self.tools.notes.remember(owner, note).await?;
        Ok(json!({"id": id.to_string()}))
    }

    async fn must_be_approved(&self, arguments: &Value, context: &ToolContext) -> Result<()> {
        let spec = self.spec();
        let call = ToolCall::new("", &spec.name, arguments.clone());
        match self.tools.approval.approve(&call, &spec, context).await {
            ApprovalDecision::Allow => Ok(()),
            ApprovalDecision::Refuse(reason) => {
                Err(Error::new(ErrorKind::Tool, format!("this call was refused: {reason}")))
            }
            other => Err(Error::new(ErrorKind::Tool, format!("this call was not allowed: {other:?}"))),
        }
    }
}

/// Returns a text among the arguments of a call.
fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str> {
    arguments.get(name).and_then(Value::as_str).ok_or_else(|| {
        Error::new(ErrorKind::Tool, format!("argument {name:?} is missing or is no string in {arguments}"))
    })
}
