//! Skills: those that come with a pack, and those of a folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use eog_evidence::mask_text;
use eog_report::clean::clean;
use eog_search::Specialist;
use eog_search::tools::Skill;

/// Longest skill, in bytes.
const MAX_SKILL_BYTES: u64 = 32 * 1024;
/// Longest first line, in characters: the index stands in every prompt.
const MAX_ABOUT: usize = 160;
/// Longest name, in characters.
const MAX_NAME: usize = 64;
/// Most skills of one specialist.
const MAX_SKILLS: usize = 64;

/// Why skills cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct SkillError {
    /// The folder or file.
    pub path: PathBuf,
    /// Why not, and what to do.
    pub reason: String,
}

/// Reads the skills of a folder: `SPECIALIST/NAME.md`, where the first line says what the skill is good for and
/// the rest is the skill. Secrets are masked. Files of other endings are not read.
///
/// # Errors
/// [`SkillError`] if the folder holds no skill, a subfolder is named after no specialist, or a file cannot be
/// used.
pub fn load_skills(folder: &Path) -> Result<Vec<Skill>, SkillError> {
    let mut skills = Vec::new();
    for path in listed(folder)? {
        if !path.is_dir() {
            if is_markdown(&path) {
                let reason = "a skill stands in the folder of its specialist: move it to metrics/, logs/ \
                              or traces/";
                return Err(SkillError { path, reason: reason.to_owned() });
            }
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') {
            continue;
        }
        let Some(agent) = Specialist::ALL.into_iter().find(|agent| agent.name() == name) else {
            let reason = "there is no specialist of this name; rename the folder to metrics, logs or \
                          traces";
            return Err(SkillError { path, reason: reason.to_owned() });
        };
        let files: Vec<PathBuf> = listed(&path)?.into_iter().filter(|it| is_markdown(it)).collect();
        if files.len() > MAX_SKILLS {
            let reason = format!("{} skills are more than {MAX_SKILLS}", files.len());
            return Err(SkillError { path, reason });
        }
        for path in files {
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let skill = read(&path).and_then(|text| skill(agent, name, &text));
            skills.push(skill.map_err(|reason| SkillError { path: path.clone(), reason })?);
        }
    }
    if skills.is_empty() {
        let reason =
            "it holds no skill; write one as SPECIALIST/NAME.md, such as metrics/queues.md";
        return Err(SkillError { path: folder.to_owned(), reason: reason.to_owned() });
    }
    Ok(skills)
}

/// A skill from its text.
fn skill(agent: Specialist, name: &str, text: &str) -> Result<Skill, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!(
            "its name must consist of a-z, 0-9, - and _, at most {MAX_NAME} of them; rename the file"
        ));
    }
    let text = mask_text(text.trim_start_matches('\u{feff}').trim());
    let (about, body) = text.split_once('\n').unwrap_or((&text, ""));
    let about = clean(about.trim_start_matches('#').trim()).into_owned();
    if about.is_empty() || about.chars().count() > MAX_ABOUT {
        return Err(format!(
            "its first line must say what it is good for, in at most {MAX_ABOUT} characters"
        ));
    }
    let body = body.trim().to_owned();
    if body.is_empty() {
        return Err("nothing follows its first line; write what to do".to_owned());
    }
    Ok(Skill { agent, name: name.to_owned(), about, body, at_once: false })
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, SkillError> {
    let unreadable = |error: std::io::Error| SkillError {
        path: folder.to_owned(),
        reason: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            _ => error.to_string(),
        },
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md") && !is_readme(path)
}

fn is_readme(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"))
}

fn read(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MAX_SKILL_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    })?;
    if text.len() as u64 > MAX_SKILL_BYTES {
        return Err(format!("larger than {MAX_SKILL_BYTES} bytes; shorten it, or split it"));
    }
    Ok(text)
}

macro_rules! shipped {
    ($pack:literal: $($agent:ident $folder:literal: $($name:literal),*;)*) => {
        &[$($((
            Specialist::$agent,
            $name,
            include_str!(concat!("packs/", $pack, "/skills/", $folder, "/", $name, ".md")),
        )),*),*]
    };
}

type Shipped = &'static [(Specialist, &'static str, &'static str)];

const SRE: Shipped = shipped!("sre":
    Metrics "metrics": "counters", "quantiles", "red", "use";
    Logs "logs": "changes", "text-or-pattern";
    Traces "traces": "error-spans", "slow-spans";
);

const PLANT: Shipped = shipped!("plant":
    Metrics "metrics": "counters", "cycle-times", "output", "utilities";
    Logs "logs": "alarms", "settings";
    Traces "traces": "flow", "waiting";
);

/// The skills that come with a pack; those of the default pack for one that brings none.
pub(crate) fn of_pack(name: &str) -> Vec<Skill> {
    let shipped = if name == "plant" { PLANT } else { SRE };
    let skills = shipped.iter().map(|(agent, name, text)| {
        skill(*agent, name, text).expect("the shipped skills are tested")
    });
    skills.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pack_has_skills_for_every_specialist() {
        for pack in ["sre", "plant"] {
            let skills = of_pack(pack);
            for agent in Specialist::ALL {
                let own = skills.iter().filter(|skill| skill.agent == agent).count();
                assert!(own >= 2, "{pack} {agent}");
            }
        }
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_has_skills_by_specialist() {
        let files = [
            ("README.md", "not read"),
            ("metrics/README.md", "not read either"),
            (
                "metrics/queues.md",
                "# Depth of queues\n\nLook at the consumers. password=hunter2hunter2\n",
            ),
            ("logs/notes.txt", "not read"),
            ("logs/batch.md", "Batch jobs\nThey run at night.\n"),
        ];
        let folder = folder(&files);
        let skills = load_skills(folder.path()).unwrap();
        let named: Vec<_> =
            skills.iter().map(|it| (it.agent, it.name.as_str(), it.about.as_str())).collect();
        let expected = [
            (Specialist::Logs, "batch", "Batch jobs"),
            (Specialist::Metrics, "queues", "Depth of queues"),
        ];
        assert_eq!(named, expected);
        assert_eq!(skills[1].body, "Look at the consumers. password=[masked]");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let long = format!("About\n{}", "x".repeat(MAX_SKILL_BYTES as usize));
        let wide = format!("{}\nbody", "x".repeat(MAX_ABOUT + 1));
        let cases: [(&str, &str, &str); 8] = [
            ("queues.md", "About\nbody", "stands in the folder of its specialist"),
            ("queues/a.md", "About\nbody", "there is no specialist of this name"),
            ("metrics/Queues.md", "About\nbody", "rename the file"),
            ("metrics/a.md", "", "its first line must say"),
            ("metrics/a.md", "About\n\n", "nothing follows its first line"),
            ("metrics/a.md", &wide, "its first line must say"),
            ("metrics/a.md", &long, "larger than"),
            ("metrics/a.txt", "About\nbody", "it holds no skill"),
        ];
        for (name, text, expected) in cases {
            let folder = folder(&[(name, text)]);
            let error = load_skills(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
            assert!(error.starts_with(folder.path().to_str().unwrap()), "{error}");
        }
        let error = load_skills(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert_eq!(error, "/nowhere/at/all: there is no such folder");
    }
}
