//! What belongs to a state folder alone: a random key, made when the folder is first used.

use std::fmt;
use std::io;
use std::path::Path;

use eog::Digest;
use eog::durable::{self, Disk};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of the key: a block of the hash.
const KEY: usize = 64;

/// The key of a state folder, and what is made of it.
pub(crate) struct Own {
    key: [u8; KEY],
}

/// Without the key.
impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Own")
    }
}

impl Own {
    /// The key in a folder, which is made where there is none.
    ///
    /// # Errors
    /// Why it cannot be read or made, with the file.
    pub(crate) fn of(disk: &dyn Disk, folder: &Path) -> Result<Self, String> {
        let path = folder.join("key");
        let unusable = |reason: String| format!("{}: {reason}", path.display());
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::read(&text).ok_or_else(|| {
                unusable("not a key of eog; remove it to create a new one".to_owned())
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; KEY];
                getrandom::fill(&mut key).map_err(|error| unusable(error.to_string()))?;
                let own = Self { key };
                let text = own.key.map(|byte| format!("{byte:02x}")).concat();
                let text = format!("{text} {}\n", checksum(&text));
                durable::replace(disk, &path, &path.with_extension("tmp"), &[text.as_bytes()])
                    .map_err(|error| unusable(error.to_string()))?;
                Ok(own)
            }
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    fn read(text: &str) -> Option<Self> {
        // With a checksum behind it, which earlier versions did not write.
        let text = match text.trim_end().split_once(' ') {
            Some((key, check)) => Some(key).filter(|key| checksum(key) == check)?,
            None => text.trim_end(),
        };
        if text.len() != 2 * KEY || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; KEY];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self { key })
    }

    /// The service's identity, in 8 digits.
    pub(crate) fn name(&self) -> String {
        self.code("name", "", 4)
    }

    /// 16 digits that identify a text. Without the key it cannot be guessed which text it was, however few there
    /// may be.
    pub(crate) fn digest(&self, text: &str) -> String {
        self.code("text", text, 8)
    }

    /// So many bytes of a code of a text, for one purpose.
    fn code(&self, purpose: &str, text: &str, bytes: usize) -> String {
        let mut code = Hmac::<Sha256>::new(&self.key.into());
        for part in [purpose, "\0", text] {
            code.update(part.as_bytes());
        }
        let code = code.finalize().into_bytes();
        code.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
    }

    /// One that is the same wherever it is used.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn fixed() -> Self {
        Self { key: [7; KEY] }
    }
}

fn checksum(key: &str) -> String {
    Digest::of_bytes(key.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use eog::durable::RealDisk;

    use super::*;

    #[test]
    fn a_key_stays_with_its_folder_and_differs_from_others() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let of = |folder: &tempfile::TempDir| {
            let own = Own::of(&RealDisk, folder.path()).unwrap();
            (own.name(), own.digest("text"))
        };
        assert_eq!(of(&one), of(&one));
        assert_ne!(of(&one).0, of(&other).0);
        assert_ne!(of(&one).1, of(&other).1);
        assert_eq!((of(&one).0.len(), of(&one).1.len()), (8, 16));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = one.path().join("key").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o77, 0, "others may not read it");
        }
        let file = one.path().join("key");
        let whole = std::fs::read(&file).unwrap();
        let key = Own::of(&RealDisk, one.path()).unwrap().key;
        std::fs::write(&file, &whole[..2 * KEY]).unwrap();
        assert_eq!(Own::of(&RealDisk, one.path()).unwrap().key, key, "as versions before wrote it");
        for at in 0..whole.len() - 1 {
            let mut rotten = whole.clone();
            rotten[at] ^= 1;
            std::fs::write(&file, &rotten).unwrap();
            let error = Own::of(&RealDisk, one.path()).unwrap_err();
            assert!(error.contains("key: not a key of eog; remove it"), "{at}: {error}");
        }
    }
}
