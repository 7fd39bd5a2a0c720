//! Objects in a folder that only their owner may read, whatever the umask.

use std::fmt;
use std::io;
use std::path::Path as FilePath;

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

use crate::private;

/// The files of a folder as objects. Folders are made private before anything is put into them.
#[derive(Debug)]
pub(super) struct PrivateFolder(LocalFileSystem);

impl PrivateFolder {
    /// Uses an existing folder, which keeps its permissions.
    pub(super) fn new(path: &FilePath) -> Result<Self> {
        Ok(Self(LocalFileSystem::new_with_prefix(path)?.with_fsync(true)))
    }

    /// Creates the folders of an object.
    fn make_room(&self, key: &Path) -> Result<()> {
        let path = self.0.path_to_filesystem(key)?;
        match path.parent() {
            Some(folder) => make_synced(folder).map_err(failed),
            None => Ok(()),
        }
    }

    /// Makes a written file private.
    fn restrict(&self, key: &Path) -> Result<()> {
        private::restrict(&self.0.path_to_filesystem(key)?).map_err(failed)
    }
}

/// Creates a folder and its missing parents, and syncs their names.
fn make_synced(folder: &FilePath) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let Some(above) = folder.parent() else { return Ok(()) };
    make_synced(above)?;
    private::make_folder(folder)?;
    // Elsewhere folders cannot be opened, and the file system syncs them by itself.
    if cfg!(unix) { std::fs::File::open(above)?.sync_all() } else { Ok(()) }
}

fn failed(source: io::Error) -> Error {
    Error::Generic { store: "folder", source: source.into() }
}

impl fmt::Display for PrivateFolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[async_trait]
impl ObjectStore for PrivateFolder {
    async fn put_opts(&self, key: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.make_room(key)?;
        let put = self.0.put_opts(key, payload, options).await?;
        // A failure is harmless: the folders are private too.
        let _ = self.restrict(key);
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.make_room(key)?;
        self.0.put_multipart_opts(key, options).await
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(key, options).await
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(keys)
    }

    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(below)
    }

    fn list_with_offset(
        &self,
        below: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(below, offset)
    }

    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(below).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.make_room(to)?;
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.make_room(to)?;
        self.0.rename_opts(from, to, options).await
    }
}
