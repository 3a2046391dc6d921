//! Entities whose names are alike.

use eog_core::{EntityId, Topology};

/// How alike two names must be for one to be taken for the other: the usual bound for the
/// Jaro-Winkler similarity of names.
const ALIKE: f64 = 0.85;

/// Most names that are suggested.
const NEAREST: usize = 3;

/// Entities of a topology whose names are like a name, the most alike first; at most three.
///
/// ```
/// use eog_core::{EntityId, Topology};
/// use eog_evidence::near_entities;
/// let mut topology = Topology::default();
/// topology.add_entity(EntityId::new("postgres")?);
/// assert_eq!(near_entities(&topology, "postgress"), ["postgres"]);
/// assert!(near_entities(&topology, "web").is_empty());
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
pub fn near_entities(topology: &Topology, name: &str) -> Vec<String> {
    let near = near_names(topology.entities().map(EntityId::as_str), name);
    near.into_iter().map(str::to_owned).collect()
}

/// Names that are like a name, the most alike first; at most three.
///
/// ```
/// use eog_evidence::near_names;
/// assert_eq!(near_names(["metrics", "spans"], "Metric"), ["metrics"]);
/// ```
pub fn near_names<'n>(known: impl IntoIterator<Item = &'n str>, name: &str) -> Vec<&'n str> {
    let wanted = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&wanted, &known.to_lowercase());
    let mut alike: Vec<(f64, &str)> =
        known.into_iter().map(|known| (likeness(known), known)).collect();
    alike.retain(|(likeness, _)| *likeness >= ALIKE);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    alike.into_iter().take(NEAREST).map(|(_, known)| known).collect()
}
