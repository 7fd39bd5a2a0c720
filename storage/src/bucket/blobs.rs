//! Blobs as objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::{NodeId, Owner};
use object_store::ObjectMeta;

use super::key;
use super::logs::Bucket;
use crate::failure::Failure;

/// How often a reader lists again when the listed bytes were replaced before they were read.
const LOOKS: usize = 5;

impl Bucket {
    pub(super) async fn put_blob(&self, owner: &Owner, bytes: &[u8]) -> Result<Digest, Failure> {
        let keys = self.keys(owner);
        let digest = Digest::of(bytes);
        let older = self.objects.list(&keys.blob(digest)).await?;
        self.objects.put(&keys.bytes(digest, NodeId::new()), bytes.to_vec()).await?;
        // The older objects are no longer needed. One that stays is collected with the new one.
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

    /// Removes blobs that are unused and were put at least `grace` ago, and returns how many.
    pub(super) async fn collect(&self, owner: &Owner, grace: Duration) -> Result<usize, Failure> {
        let keys = self.keys(owner);
        let now = SystemTime::now();
        let mut blobs: BTreeMap<String, Vec<ObjectMeta>> = BTreeMap::new();
        for found in self.objects.list(&keys.blobs()).await? {
            if let Some(digest) = key::folder(&found.location) {
                blobs.entry(digest).or_default().push(found);
            }
        }
        blobs.retain(|_, puts| {
            puts.iter().all(|found| {
                // The clock of a server may be a little ahead, which must not matter without a grace.
                let put: SystemTime = found.last_modified.into();
                grace.is_zero() || now.duration_since(put).is_ok_and(|age| age >= grace)
            })
        });
        if blobs.is_empty() {
            return Ok(0);
        }
        let mut used: BTreeSet<String> = BTreeSet::new();
        // Each key is uses/DIGEST/CONVERSATION/NUMBER.
        for found in self.objects.list(&keys.uses()).await? {
            if let Some(digest) = found.location.parts().rev().nth(2) {
                used.insert(digest.as_ref().to_owned());
            }
        }
        blobs.retain(|digest, _| !used.contains(digest));
        let gone = blobs.values().flatten().map(|found| found.location.clone()).collect();
        self.objects.remove(gone).await?;
        Ok(blobs.len())
    }
}
