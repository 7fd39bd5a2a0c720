//! The handle of a server that runs.

use std::fmt;
use std::sync::Arc;

use alloquy_core::Result;
use tokio::sync::Notify;

use crate::access::Access;
use crate::keys::KeyFile;
use crate::models::{ServedModel, ServedModels};

/// Ends a server that runs, and replaces its keys and models.
///
/// [`Server`](crate::Server) has an example.
#[derive(Clone)]
pub struct ServerHandle {
    pub(crate) access: Access,
    pub(crate) models: ServedModels,
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
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}
