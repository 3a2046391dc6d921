//! A subject as the medium of a journal or a side file.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::path::Path;

use eog::journal::Medium;

use crate::writer::{self, Writer};
use crate::{NatsError, Subject};

/// Bytes on a subject of a stream, which one writer at a time adds to.
///
/// Every write is stored on a majority of the replicas when it returns. When another writer begins, every
/// further write of this one fails with [`NatsError::TakenOver`]. There is no lock that could be left behind.
pub struct StreamMedium<S> {
    hold: Hold<S>,
    length: u64,
    /// What was there when it was opened, until something is written.
    opened: Option<Vec<u8>>,
    broken: bool,
}

/// What the medium may do with its subject.
#[derive(Debug)]
enum Hold<S> {
    Write(Writer<S>),
    /// Up to this sequence.
    Read(S, u64),
}

impl<S: Subject> StreamMedium<S> {
    /// Takes a subject over for writing. `writer` is a unique name.
    ///
    /// # Errors
    /// [`NatsError`]; [`NatsError::TakenOver`] where several begin at once and another one was faster.
    pub fn take_over(subject: S, writer: String) -> Result<Self, NatsError> {
        let (writer, bytes) = Writer::take_over(subject, writer)?;
        Ok(Self::of(Hold::Write(writer), bytes))
    }

    /// Takes a subject for writing on which there is nothing. Nothing is returned where there is something.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn create(subject: S, writer: String) -> Result<Option<Self>, NatsError> {
        let writer = Writer::create(subject, writer)?;
        Ok(writer.map(|writer| Self::of(Hold::Write(writer), Vec::new())))
    }

    /// Opens a subject for reading, whichever process writes it. Nothing is returned where there is nothing.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn read(subject: S) -> Result<Option<Self>, NatsError> {
        let Some(last) = writer::persist(&subject, Subject::last)? else { return Ok(None) };
        let (_, bytes) = writer::replayed(&subject, last.sequence)?;
        Ok(Some(Self::of(Hold::Read(subject, last.sequence), bytes)))
    }

    fn of(hold: Hold<S>, bytes: Vec<u8>) -> Self {
        Self { hold, length: bytes.len() as u64, opened: Some(bytes), broken: false }
    }

    fn subject(&self) -> &S {
        match &self.hold {
            Hold::Write(writer) => &writer.subject,
            Hold::Read(subject, _) => subject,
        }
    }

    fn usable(&self) -> io::Result<()> {
        match self.broken {
            true => Err(NatsError::Broken { name: writer::name(self.subject()) }.into()),
            false => Ok(()),
        }
    }

    /// Replaces everything from `at` on.
    fn store(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.usable()?;
        let Hold::Write(writer) = &mut self.hold else {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is open for reading"));
        };
        self.opened = None;
        if let Err(error) = writer.write(at, bytes) {
            // What is stored is unknown until the subject is opened again.
            self.broken = true;
            return Err(error.into());
        }
        self.length = at + bytes.len() as u64;
        Ok(())
    }
}

impl<S: fmt::Debug> fmt::Debug for StreamMedium<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hold, length, opened: _, broken } = self;
        f.debug_struct("StreamMedium")
            .field("hold", hold)
            .field("length", length)
            .field("broken", broken)
            .finish_non_exhaustive()
    }
}

impl<S: Subject> Medium for StreamMedium<S> {
    fn path(&self) -> &Path {
        self.subject().path()
    }

    fn size(&self) -> io::Result<u64> {
        self.usable()?;
        Ok(self.length)
    }

    fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        self.usable()?;
        if let Some(bytes) = &self.opened {
            return Ok(Box::new(Cursor::new(bytes.as_slice())));
        }
        let until = match &self.hold {
            Hold::Write(writer) => writer.head(),
            Hold::Read(_, until) => *until,
        };
        let (_, bytes) = writer::replayed(self.subject(), until)?;
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset != self.length {
            let said = format!("bytes are added at {}, not at {offset}", self.length);
            return Err(io::Error::new(io::ErrorKind::Unsupported, said));
        }
        self.store(offset, bytes)
    }

    fn set_len(&mut self, size: u64) -> io::Result<()> {
        match self.length {
            length if size < length => self.store(size, &[]),
            length if size == length => self.usable(),
            _ => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "it is never filled up with zeros"))
            }
        }
    }

    /// What was written is on a majority of the replicas already.
    fn sync_data(&mut self) -> io::Result<()> {
        self.usable()
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.usable()
    }

    /// A write would have failed.
    fn is_still_there(&self) -> bool {
        !self.broken
    }
}
