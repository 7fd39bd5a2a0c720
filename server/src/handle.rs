//! The handle of a server that runs.

use std::fmt;
use std::sync::Arc;

use alloquy_core::prompt_library::PromptLibrary;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_flows::Flow;
use tokio::sync::Notify;

use crate::access::Access;
use crate::current_prompts::CurrentPrompts;
use crate::flow_set::{Flows, FlowsByName};
use crate::keys::KeyFile;
use crate::models::{ServedModel, ServedModels};

/// Ends a server that runs, and replaces its keys, its models, its prompts and its flows.
///
/// [`Server`](crate::Server) has an example.
#[derive(Clone)]
pub struct ServerHandle {
    pub(crate) access: Access,
    pub(crate) models: ServedModels,
    pub(crate) prompts: Option<CurrentPrompts>,
    pub(crate) flows: Flows,
    pub(crate) end: Arc<Notify>,
}

impl ServerHandle {
    /// Ends the server: new requests are refused, and [`Server::serve`](crate::Server::serve) returns once the running replies have ended.
    pub fn shut_down(&self) {
        self.end.notify_one();
    }

    /// Returns whether requests need a key.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
    /// assert!(!server.handle().has_keys());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn has_keys(&self) -> bool {
        self.access.has_keys()
    }

    /// Replaces the keys. Requests that run keep theirs.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a server that was started without keys.
    pub fn replace_keys(&self, keys: KeyFile) -> Result<()> {
        self.access.replace_keys(keys)
    }

    /// Replaces the models. One whose names and [`ModelSource::identity`] are as before stays in memory. The others are unloaded once they
    /// have no reply to write. It is called within the server's runtime.
    ///
    /// [`ModelSource::identity`]: crate::ModelSource::identity
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> alloquy_core::Result<()> {
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
    /// server.handle().replace_models(vec![ServedModel::loaded("parrot", EchoModel)])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ServerBuilder::build`](crate::ServerBuilder::build) for models that cannot be; those of before are served then.
    pub fn replace_models(&self, models: Vec<ServedModel>) -> Result<()> {
        self.models.replace(models)
    }

    /// Checks prompts and flows that are to replace those of the server, and changes nothing yet.
    ///
    /// ```
    /// use alloquy_flows::Flow;
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
    /// let flow = Flow::from_yaml("name: tea\nstates:\n  poem: {ask: Write a poem.}\n")?;
    /// let library = server.handle().check_library(None, vec![("tea".to_owned(), flow)])?;
    /// server.handle().replace_library(library);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for two flows of one name, for a flow with problems, and for prompts where the
    /// server was started without, or none where it was started with some.
    pub fn check_library(
        &self,
        prompts: Option<Arc<dyn PromptLibrary>>,
        flows: Vec<(String, Flow)>,
    ) -> Result<CheckedLibrary> {
        if prompts.is_some() != self.prompts.is_some() {
            let message = if prompts.is_some() {
                "there are prompts now, and the server began without: start it again"
            } else {
                "there are no prompts now, and the server began with some: start it again"
            };
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let flows = self.flows.checked(flows, prompts.as_ref())?;
        Ok(CheckedLibrary { prompts, flows })
    }

    /// Replaces the prompts and the flows. Replies that are written keep theirs, and a flow that waits continues in the new one of its name.
    /// [`ServerHandle::check_library`] has an example.
    pub fn replace_library(&self, library: CheckedLibrary) {
        if let (Some(current), Some(prompts)) = (&self.prompts, library.prompts) {
            current.replace(prompts);
        }
        self.flows.replace(library.flows);
    }
}

/// Prompts and flows that a server can use. [`ServerHandle::check_library`] has an example.
#[derive(Debug)]
pub struct CheckedLibrary {
    prompts: Option<Arc<dyn PromptLibrary>>,
    flows: FlowsByName,
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}
