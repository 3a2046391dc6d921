//! Closed cases on a cluster: each the archive of one case, as an object of its name.

use crate::{Cluster, NatsError};

/// The largest archive that is read.
const MAX_BYTES: u64 = 4 << 30;

impl Cluster {
    /// The names of all closed cases, sorted.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn cases(&self) -> Result<Vec<String>, NatsError> {
        let all = self.objects(&self.names().cases())?;
        let mut names: Vec<String> = all.into_iter().map(|object| object.name).collect();
        names.sort();
        Ok(names)
    }

    /// The archive of the closed case of a name, if there is one.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn case(&self, name: &str) -> Result<Option<Vec<u8>>, NatsError> {
        let bucket = self.names().cases();
        self.persist(|cluster| cluster.get_object(bucket.clone(), name.to_owned(), MAX_BYTES))
    }

    /// Stores the archive of a closed case, whole or not at all, in place of one of the same name.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn put_case(&self, name: &str, archive: &[u8]) -> Result<(), NatsError> {
        let bucket = self.names().cases();
        self.persist(|cluster| cluster.put_object(bucket.clone(), name.to_owned(), archive))
    }
}
