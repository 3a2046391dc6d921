//! Whether a change speaks of an entity: whole words of names, never parts of words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use eog_core::EntityId;
use eog_core::evidence::ChangeDetail;

use crate::steps::took;
use crate::text::words;
use crate::ways::Number;

/// Words that say nothing about one component. A name made of such words alone never matches.
const COMMON: &str = "\
    all and any api app application args base client cluster command config configuration \
    container core count cpu data default deployment disabled disk enabled env error errors \
    fail failure false feature file flag flags for from global host http https image info \
    job key latency limit limits list log main max memory metadata metrics min mode name \
    namespace network new node none not null off old pod pool port prod production replicas \
    request requests resource rule rules secret server service set size spec state status \
    storage string svc system tag template test text the time timeout token true type \
    unreachable url user users value values variant variants version volume web with";

/// Trailing words of a name that say what kind of thing it is, not which one.
const KIND_WORDS: &[&str] = &["service", "svc"];

/// Shortest word that can be a match, in letters.
const MIN_WORD: usize = 3;

/// The names of all entities, split into words once.
///
/// A name is the words of an entity's last segment, without a trailing kind word. All names make
/// one tree with a word on each edge, so that a text is read once, however many names there are.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Words by number. Look-ups alone, as in `onward`.
    words: HashMap<String, u32>,
    /// From a place in the tree by a word to the next place; the root is 0.
    onward: HashMap<(u32, u32), u32>,
    /// For each place how many words the name has that ends there; zero where none ends.
    lengths: Vec<usize>,
    /// For each entity the place where its name ends; none when it says nothing.
    ends: Vec<Option<u32>>,
}

impl Names {
    /// Splits the names of entities, given by number.
    pub(crate) fn new(entities: &[EntityId]) -> Self {
        let common: BTreeSet<&str> = COMMON.split(' ').collect();
        let mut names = Self { lengths: vec![0], ..Self::default() };
        for entity in entities {
            took(1);
            let name = Some(entity_words(entity)).filter(|name| is_specific(name, &common));
            let end = name.map(|name| names.add(name));
            names.ends.push(end);
        }
        names
    }

    fn add(&mut self, name: Vec<String>) -> u32 {
        let (mut place, length) = (0, name.len());
        for word in name {
            let new = self.words.len() as u32;
            let word = *self.words.entry(word).or_insert(new);
            let new = self.lengths.len() as u32;
            place = *self.onward.entry((place, word)).or_insert(new);
            if place == new {
                self.lengths.push(0);
            }
        }
        if let Some(slot) = self.lengths.get_mut(place as usize) {
            *slot = length;
        }
        place
    }

    /// The names that a change speaks of: their words stand in order and side by side in its path,
    /// its old or its new value.
    pub(crate) fn spoken(&self, change: &ChangeDetail) -> Spoken<'_> {
        let mut places: BTreeMap<u32, Naming> = BTreeMap::new();
        let is_path = [true, false, false];
        let texts = [Some(&change.path), change.old.as_ref(), change.new.as_ref()];
        for (text, is_path) in texts.into_iter().zip(is_path) {
            let text = text.map(|text| words(text)).unwrap_or_default();
            let text: Vec<Option<u32>> =
                text.iter().map(|word| self.words.get(word).copied()).collect();
            for start in 0..text.len() {
                let mut place = 0;
                for word in text.iter().skip(start).map_while(|word| *word) {
                    let Some(next) = self.onward.get(&(place, word)) else { break };
                    place = *next;
                    let words = self.length(place);
                    if words > 0 {
                        let until = if is_path { start + words } else { 0 };
                        let naming = Naming { words, until };
                        let best = places.entry(place).or_default();
                        *best = naming.max(*best);
                    }
                }
            }
        }
        let best = places.values().max().copied().unwrap_or_default();
        Spoken { names: self, places, best }
    }

    fn length(&self, place: u32) -> usize {
        self.lengths.get(place as usize).copied().unwrap_or(0)
    }
}

/// How well a change names an entity, worst first: by more words, then later in its path, since a
/// path goes from the whole to the part (`demo.flagd.json#flags.paymentFailure` is about payment).
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Naming {
    /// The words of the name; zero when the change does not speak of it.
    pub(crate) words: usize,
    /// How many words of the path end with the name; zero when only values hold it.
    until: usize,
}

/// The names that one change speaks of.
pub(crate) struct Spoken<'a> {
    names: &'a Names,
    /// Where they end, and how well they are named.
    places: BTreeMap<u32, Naming>,
    /// The best of them.
    pub(crate) best: Naming,
}

impl Spoken<'_> {
    /// How well an entity is named.
    pub(crate) fn naming(&self, entity: Number) -> Naming {
        let end = self.names.ends.get(entity as usize).copied().flatten();
        end.and_then(|place| self.places.get(&place)).copied().unwrap_or_default()
    }
}

fn is_specific(name: &[String], common: &BTreeSet<&str>) -> bool {
    name.iter().any(|word| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        word.len() >= MIN_WORD && !is_number && !common.contains(word.as_str())
    })
}

/// The words of the last segment of an entity's name, without a trailing kind word.
fn entity_words(entity: &EntityId) -> Vec<String> {
    let last = entity.as_str().rsplit('/').next().unwrap_or_default();
    let mut name = words(last);
    while name.len() > 1 && name.last().is_some_and(|word| KIND_WORDS.contains(&word.as_str())) {
        name.pop();
    }
    name
}

/// The definition, for tests to compare with: each name is searched for in each text.
#[cfg(test)]
pub(crate) mod reference {
    use super::*;

    /// How well a change names an entity.
    pub(crate) fn naming(change: &ChangeDetail, entity: &EntityId) -> Naming {
        let name = entity_words(entity);
        if !is_specific(&name, &COMMON.split(' ').collect()) {
            return Naming::default();
        }
        let last = |text: &str| {
            let text = words(text);
            let mut starts = (0..text.len()).filter(|start| text[*start..].starts_with(&name));
            starts.next_back().map(|start| start + name.len())
        };
        let in_values = [change.old.as_ref(), change.new.as_ref()];
        let in_values = in_values.into_iter().flatten().any(|text| last(text).is_some());
        match last(&change.path) {
            Some(until) => Naming { words: name.len(), until },
            None if in_values => Naming { words: name.len(), until: 0 },
            None => Naming::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(change: &ChangeDetail, entity: &EntityId) -> usize {
        Names::new(std::slice::from_ref(entity)).spoken(change).naming(0).words
    }

    #[test]
    fn a_change_names_an_entity_by_whole_specific_words() {
        let cases = [
            ("flags.billingSlow.state", "shop/Service/billing", 1),
            ("flags.orderHistoryDown", "shop/Service/order-history", 2),
            ("flags.billingSlow", "shop/Service/billing-service", 1),
            ("flags.billingtonRow", "shop/Service/billing", 0),
            ("history.order", "shop/Service/order-history", 0),
            ("spec.idCheck", "shop/Service/id", 0),
            ("spec.image", "shop/Service/image", 0),
            ("spec.port.8080", "shop/Service/8080", 0),
        ];
        for (path, entity, expected) in cases {
            let change = ChangeDetail { path: path.into(), old: None, new: None };
            let entity = EntityId::new(entity).unwrap();
            assert_eq!(naming(&change, &entity), expected, "{path} {entity}");
        }
    }

    #[test]
    fn values_name_entities_too() {
        let change = ChangeDetail {
            path: "url".into(),
            old: Some("http://search:80".into()),
            new: Some("http://mailer:80".into()),
        };
        for name in ["search", "mailer"] {
            assert_eq!(naming(&change, &EntityId::new(name).unwrap()), 1);
        }
    }

    #[test]
    fn what_a_path_names_last_it_names_best() {
        let entities = ["shop/Service/flagd", "shop/Service/payment", "shop/Service/cart"];
        let entities = entities.map(|name| EntityId::new(name).unwrap());
        let names = Names::new(&entities);
        let path = "data/demo.flagd.json#flags.paymentFailure.defaultVariant";
        let change = ChangeDetail { path: path.into(), old: None, new: Some("cart".into()) };
        let spoken = names.spoken(&change);
        let [server, payment, value] = [0, 1, 2].map(|entity| spoken.naming(entity));
        assert!(payment > server && server > value && value.words == 1);
        assert_eq!(spoken.best, payment);
    }

    #[test]
    fn names_that_begin_alike_are_distinguished() {
        let entities = ["a/order", "order-history", "b/order", "order-history-web", "pay"];
        let entities = entities.map(|name| EntityId::new(name).unwrap());
        let names = Names::new(&entities);
        for (path, expected, most) in [
            ("order", [1, 0, 1, 0, 0], 1),
            ("orderHistory", [1, 2, 1, 0, 0], 2),
            ("x.order.history.web.pay", [1, 2, 1, 3, 1], 3),
            ("history.web", [0; 5], 0),
        ] {
            let change = ChangeDetail { path: path.into(), old: None, new: None };
            let spoken = names.spoken(&change);
            assert_eq!(
                [0, 1, 2, 3, 4].map(|entity| spoken.naming(entity).words),
                expected,
                "{path}"
            );
            assert_eq!(spoken.best.words, most, "{path}");
        }
    }
}
