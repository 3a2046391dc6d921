//! Values as bytes: short numbers, and each shared text or value once.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use eog_core::{EntityId, Timestamp};
use serde_json::Value;

use crate::read::Budget;

/// A value that can be written and read again.
pub(super) trait Stored: Sized {
    fn put(&self, to: &mut Writer);

    /// Nothing when the bytes do not hold such a value.
    fn get(from: &mut Reader<'_>) -> Option<Self>;
}

/// Bytes under way.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// By address, which is safe while the values that are written are borrowed. Look-ups alone.
    shared: HashMap<usize, u64>,
    second: i64,
}

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// Writes the number of a value that was written before, or 0. Then the value must follow.
    fn is_known(&mut self, address: usize) -> bool {
        let next = self.shared.len() as u64 + 1;
        let known = *self.shared.entry(address).or_insert(next);
        self.number(if known == next { 0 } else { known });
        known != next
    }
}

/// Bytes to be read. Nothing is trusted: every length is checked against what is left.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    shared: Vec<Shared>,
    second: i64,
    budget: &'a Budget,
    /// Items of lists until the next check for cancellation.
    until_checked: u32,
}

/// After how many items of lists cancellation is checked.
const CHECKED_EVERY: u32 = 1 << 14;

#[derive(Clone)]
enum Shared {
    Text(Arc<str>),
    Value(Arc<dyn Any + Send + Sync>),
    /// A value that is being read.
    Open,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], budget: &'a Budget) -> Self {
        Self { rest: bytes, shared: Vec::new(), second: 0, budget, until_checked: CHECKED_EVERY }
    }

    /// Nothing once reading was cancelled.
    fn goes_on(&mut self) -> Option<()> {
        self.until_checked -= 1;
        if self.until_checked == 0 {
            self.until_checked = CHECKED_EVERY;
            return (!self.budget.is_stopped()).then_some(());
        }
        Some(())
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            let part = u64::from(byte & 0x7f);
            number |= part.checked_shl(shift).filter(|shifted| shifted >> shift == part)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        (length <= self.rest.len()).then_some(length)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    /// A value that was read before, if the bytes say so.
    #[expect(clippy::option_option, reason = "broken, new or known")]
    fn known(&mut self) -> Option<Option<Shared>> {
        match self.number()? {
            0 => Some(None),
            known => {
                let at = usize::try_from(known - 1).ok()?;
                Some(Some(self.shared.get(at)?.clone()))
            }
        }
    }
}

/// Writes a whole number in as few bytes as it needs.
macro_rules! stored_numbers {
    ($($number:ty)+) => {$(
        impl Stored for $number {
            fn put(&self, to: &mut Writer) {
                to.number(*self as u64);
            }
            fn get(from: &mut Reader<'_>) -> Option<Self> {
                Self::try_from(from.number()?).ok()
            }
        }
    )+};
}

stored_numbers! { u64 u32 usize }

impl Stored for u8 {
    fn put(&self, to: &mut Writer) {
        to.bytes.push(*self);
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        from.take(1)?.first().copied()
    }
}

impl Stored for bool {
    fn put(&self, to: &mut Writer) {
        u8::from(*self).put(to);
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        match u8::get(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Stored for f64 {
    fn put(&self, to: &mut Writer) {
        to.bytes.extend_from_slice(&self.to_bits().to_le_bytes());
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let bytes = from.take(8)?.try_into().ok()?;
        Some(Self::from_bits(u64::from_le_bytes(bytes)))
    }
}

/// The seconds since the time before, which are few in sorted records, then the rest.
impl Stored for Timestamp {
    fn put(&self, to: &mut Writer) {
        let step = self.as_second().wrapping_sub(to.second);
        to.second = self.as_second();
        to.number(((step << 1) ^ (step >> 63)).cast_unsigned());
        to.number(u64::from(self.subsec_nanosecond().cast_unsigned()));
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let folded = from.number()?;
        let step = (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed();
        from.second = from.second.wrapping_add(step);
        let nanoseconds = u32::try_from(from.number()?).ok()?.cast_signed();
        Self::new(from.second, nanoseconds).ok()
    }
}

impl Stored for String {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_bytes());
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        from.text().map(str::to_owned)
    }
}

impl Stored for EntityId {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str().as_bytes());
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        Self::new(from.text()?).ok()
    }
}

impl Stored for Value {
    fn put(&self, to: &mut Writer) {
        // A value is always JSON; were it not, the file could not be read and so would not count.
        to.text(&serde_json::to_vec(self).unwrap_or_default());
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let length = from.length()?;
        serde_json::from_slice(from.take(length)?).ok()
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Writer) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        match bool::get(from)? {
            true => T::get(from).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
        self.1.put(to);
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        Some((A::get(from)?, B::get(from)?))
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.put(to));
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        // Every item has at least one byte, so that a wrong length ends with the bytes.
        let length = from.length()?;
        let mut items = Self::with_capacity(length.min(1 << 20));
        for _ in 0..length {
            from.goes_on()?;
            items.push(T::get(from)?);
        }
        Some(items)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn put(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        let length = from.length()?;
        let item = |_| {
            from.goes_on()?;
            Some((K::get(from)?, V::get(from)?))
        };
        (0..length).map(item).collect()
    }
}

impl Stored for Arc<str> {
    fn put(&self, to: &mut Writer) {
        if !to.is_known(address(self)) {
            to.text(self.as_bytes());
        }
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        match from.known()? {
            Some(Shared::Text(text)) => Some(text),
            Some(_) => None,
            None => {
                let text: Self = from.text()?.into();
                from.shared.push(Shared::Text(text.clone()));
                Some(text)
            }
        }
    }
}

impl<T: Stored + Send + Sync + 'static> Stored for Arc<T> {
    fn put(&self, to: &mut Writer) {
        let known = to.is_known(address(self));
        if !known {
            (**self).put(to);
        }
    }
    fn get(from: &mut Reader<'_>) -> Option<Self> {
        match from.known()? {
            Some(Shared::Value(value)) => value.downcast().ok(),
            Some(_) => None,
            None => {
                // The place is taken before what is inside is read, as when it was written.
                let place = from.shared.len();
                from.shared.push(Shared::Open);
                let value = Self::new(T::get(from)?);
                *from.shared.get_mut(place)? = Shared::Value(value.clone());
                Some(value)
            }
        }
    }
}

/// Where a shared value lies.
fn address<T: ?Sized>(value: &Arc<T>) -> usize {
    Arc::as_ptr(value).cast::<()>() as usize
}
