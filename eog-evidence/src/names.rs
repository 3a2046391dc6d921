//! Whether a change speaks of an entity: whole words of names, never parts of words.

use eog_core::{ChangeDetail, EntityId};

use crate::text::words;

/// Words that say nothing about one component. A name made of such words alone never matches.
const COMMON: &str = "\
    all and any api app application args base client cluster command config configuration \
    container core count cpu data default deployment disabled disk enabled env error errors \
    fail failure false feature file flag flags for from global host http https image info \
    job key latency limit limits list log main max memory metadata metrics min mode name \
    namespace network new node none not null off old pod pool port prod production replicas \
    request requests resources rule rules secret server service set size spec state status \
    storage string svc system tag template test text the time timeout token true type \
    unreachable url user users value values variant variants version volume web with";

/// Trailing words of a name that say what kind of thing it is, not which one.
const KIND_WORDS: &[&str] = &["service", "svc"];

/// Shortest word that can be a match, in letters.
const MIN_WORD: usize = 3;

/// The words of everything a change says: its path, its old and its new value.
pub(crate) struct SpokenWords(Vec<Vec<String>>);

impl SpokenWords {
    pub(crate) fn of(change: &ChangeDetail) -> Self {
        let texts = [Some(&change.path), change.old.as_ref(), change.new.as_ref()];
        Self(texts.into_iter().flatten().map(|text| words(text)).collect())
    }

    /// How many words of the entity's last name segment are spoken, in order and side by side;
    /// zero when the change does not speak of the entity.
    pub(crate) fn naming(&self, entity: &EntityId) -> usize {
        let name = entity_words(entity);
        let telling = name.iter().any(|word| word.len() >= MIN_WORD && !is_common(word));
        let spoken = |text: &Vec<String>| text.windows(name.len().max(1)).any(|at| at == name);
        if telling && self.0.iter().any(spoken) { name.len() } else { 0 }
    }
}

fn is_common(word: &str) -> bool {
    COMMON.split(' ').any(|common| common == word) || word.bytes().all(|byte| byte.is_ascii_digit())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_an_entity_by_whole_telling_words() {
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
            assert_eq!(SpokenWords::of(&change).naming(&entity), expected, "{path} {entity}");
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
            assert_eq!(SpokenWords::of(&change).naming(&EntityId::new(name).unwrap()), 1);
        }
    }
}
