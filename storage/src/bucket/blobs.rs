//! Blobs as objects, and which of them nothing refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::{NodeId, Owner};
use object_store::ObjectMeta;

use super::key;
use super::logs::Bucket;
use crate::failure::Failure;

/// How often a reader looks again for bytes that were put anew while it looked.
const LOOKS: usize = 5;

impl Bucket {
    pub(super) async fn put_blob(&self, owner: &Owner, bytes: &[u8]) -> Result<Digest, Failure> {
        let (keys, digest) = (self.keys(owner), Digest::of(bytes));
        let older = self.objects.list(&keys.blob(digest)).await?;
        self.objects.put(&keys.bytes(digest, NodeId::new()), bytes.to_vec()).await?;
        // Those that were listed before are needed no more; one that stays is removed with the others.
        let _ = self.objects.remove(older.into_iter().map(|found| found.location).collect()).await;
        Ok(digest)
    }

    pub(super) async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>, Failure> {
        let keys = self.keys(owner);
        for _ in 0..LOOKS {
            let found = self.objects.list(&keys.blob(digest)).await?;
            let Some(newest) = found.last() else { return Ok(None) };
            match self.objects.get(&newest.location).await? {
                Some(bytes) if Digest::of(&bytes) != digest => {
                    return Err(Failure::damaged(format!("blob {digest}"), "its bytes have another digest"));
                }
                Some(bytes) => return Ok(Some(Arc::from(bytes))),
                None => {}
            }
        }
        Ok(None)
    }

    /// Removes what nothing refers to and what was put at least `grace` ago, and returns how many.
    pub(super) async fn collect(&self, owner: &Owner, grace: Duration) -> Result<usize, Failure> {
        let (keys, now) = (self.keys(owner), SystemTime::now());
        let mut blobs: BTreeMap<String, Vec<ObjectMeta>> = BTreeMap::new();
        for found in self.objects.list(&keys.blobs()).await? {
            if let Some(digest) = key::folder(&found.location) {
                blobs.entry(digest).or_default().push(found);
            }
        }
        let is_old = |found: &ObjectMeta| {
            let put: SystemTime = found.last_modified.into();
            // The clock of a server may be a little ahead.
            grace.is_zero() || now.duration_since(put).is_ok_and(|age| age >= grace)
        };
        blobs.retain(|_, all| all.iter().all(is_old));
        if blobs.is_empty() {
            return Ok(0);
        }
        let uses = self.objects.list(&keys.uses()).await?;
        let used: BTreeSet<String> = uses
            .iter()
            .filter_map(|found| found.location.parts().rev().nth(2))
            .map(|part| part.as_ref().to_owned())
            .collect();
        blobs.retain(|digest, _| !used.contains(digest));
        let gone = blobs.values().flatten().map(|found| found.location.clone()).collect();
        self.objects.remove(gone).await?;
        Ok(blobs.len())
    }
}
