//! Programs, configurations and requests.

use std::path::{Path, PathBuf};

use eog_core::{ContextContract, ContextRequest, EntityId, Failure, LocalContext, Window};
use eog_evidence::Incident;
use eog_mcp::client::{McpConfig, McpSource, SourceError};

/// A program of this package that only tests use. `cargo test` builds it as an example.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is missing: run `cargo build -p eog-mcp --examples` first",
        program.display()
    );
    program
}

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A text as TOML writes it.
pub(crate) fn quoted(text: impl AsRef<Path>) -> String {
    serde_json::Value::from(text.as_ref().to_str().unwrap()).to_string()
}

pub(crate) async fn open(text: &str) -> Result<(Incident, Box<dyn ContextContract>), SourceError> {
    let config = McpConfig::parse(text, Path::new("test.toml"))?;
    McpSource::open(config).await
}

/// Asks about one entity in an hour.
pub(crate) async fn ask(
    contract: &dyn ContextContract,
    entity: &str,
) -> Result<LocalContext, Failure> {
    let start = "2026-01-01T10:00:00Z".parse().unwrap();
    let end = "2026-01-01T11:00:00Z".parse().unwrap();
    let request = ContextRequest {
        entity: EntityId::new(entity).unwrap(),
        window: Window::new(start, end).unwrap(),
        page: 1,
        visit: 1,
        changed_neighbours: [].into(),
        query: None,
    };
    contract.get_context(&request).await
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        while !holds() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}
