//! A layer of serde between a reader and the values that it makes: no text passes it unmasked.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use crate::Masker;

/// A deserializer that masks every text on its way into a value: strings, keys of maps and names of
/// variants, at any depth. A value below a key is masked by its key as well, as
/// [`Masker::mask_value`] does. Errors of the reader itself may quote what it read, and are to be
/// masked where they are shown.
///
/// No field can be left unmasked.
///
/// ```
/// use eog_secrets::Masked;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Alert { name: String, labels: std::collections::BTreeMap<String, String> }
///
/// let text = r#"{"name": "x password=hunter2", "labels": {"password": "hunter2"}}"#;
/// let alert = Alert::deserialize(Masked::new(&mut serde_json::Deserializer::from_str(text)))?;
/// assert_eq!((&*alert.name, &*alert.labels["password"]), ("x password=[masked]", "[masked]"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Masked<D> {
    inner: D,
    place: Place,
}

/// Where in a document a part of it stands.
#[derive(Clone, Debug)]
enum Place {
    /// Below a key, as it stands in the document; empty where there is none.
    Below(Rc<str>),
    /// In a key, which is kept here for the value below it.
    Key(Rc<RefCell<Rc<str>>>),
}

impl<D> Masked<D> {
    /// The layer over a deserializer.
    pub fn new(inner: D) -> Self {
        Self { inner, place: Place::Below("".into()) }
    }

    fn at(inner: D, place: &Place) -> Self {
        Self { inner, place: place.clone() }
    }
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($argument,)* Masked::at(visitor, &self.place))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Masked<D> {
    type Error = D::Error;

    forward! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32()
        deserialize_i64() deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32()
        deserialize_u64() deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str) deserialize_seq() deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier() deserialize_ignored_any()
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Masked<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32)
        visit_f64(f64) visit_char(char)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let masker = Masker::new();
        let masked = match &self.place {
            Place::Below(name) => masker.mask_value(name, text),
            Place::Key(kept) => {
                *kept.borrow_mut() = text.into();
                masker.mask(text)
            }
        };
        self.inner.visit_str(&masked)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<V::Value, E> {
        self.inner.visit_bytes(&Masker::new().mask_bytes(bytes))
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Masked::at(inner, &self.place))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Masked::at(inner, &self.place))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Masked::at(inner, &self.place))
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Masked::new(inner))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Masked::at(inner, &self.place))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Masked<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Masked::at(inner, &self.place))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Masked<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Masked::at(inner, &self.place))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Masked<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        inner: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let kept = Rc::new(RefCell::new("".into()));
        let key = self.inner.next_key_seed(Masked::at(inner, &Place::Key(kept.clone())));
        self.place = Place::Below(kept.borrow().clone());
        key
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Masked::at(inner, &self.place))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Masked<A> {
    type Error = A::Error;
    type Variant = Masked<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        inner: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.inner.variant_seed(Masked::new(inner))?;
        Ok((value, Masked::at(variant, &self.place)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Masked<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, inner: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Masked::at(inner, &self.place))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, inner: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, Masked::at(inner, &self.place))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        inner: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Masked::at(inner, &self.place))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
        Named { text: String },
        Many(Vec<Option<String>>),
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Held {
        labels: BTreeMap<String, String>,
        kinds: Vec<Kind>,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        T::deserialize(Masked::new(&mut serde_json::Deserializer::from_str(text)))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn no_text_passes_whatever_it_is_read_into() {
        let secret = "token=s3ss10nT0k3n9";
        let text = format!(
            r#"{{"labels": {{"{secret}": "a", "password": "hunter2", "name": "{secret}"}},
                "kinds": ["plain", {{"named": {{"text": "{secret}"}}}}, {{"many": [null, "{secret}"]}}],
                "{secret}": [{{"{secret}": ["{secret}", 7, null]}}]}}"#
        );
        let held: Held = read(&text).unwrap();
        let shown = format!("{held:?}");
        assert!(!shown.contains("s3ss10n") && !shown.contains("hunter2"), "{shown}");
        assert_eq!(held.kinds[0], Kind::Plain);
        assert_eq!(held.labels.len(), 3);
        let error = read::<Kind>(&format!(r#""{secret}""#)).unwrap_err();
        assert!(error.contains("[masked]") && !error.contains("s3ss10n"), "{error}");
    }

    #[test]
    fn what_holds_no_secret_is_read_as_it_stands() {
        let text = r#"{"a": [1, -2.5, true, null, "x"], "key": "k8s.io/x", "old": "hunter2"}"#;
        let value: serde_json::Value = read(text).unwrap();
        assert_eq!(value, serde_json::from_str::<serde_json::Value>(text).unwrap());
        let error = read::<BTreeMap<String, u8>>("{\n\"a\": \"b\"}").unwrap_err();
        assert!(error.ends_with("at line 2 column 8"), "{error}");
    }
}
