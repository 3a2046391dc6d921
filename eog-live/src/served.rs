//! The investigations of an MCP server.

use std::sync::Arc;

use eog::{BoxFuture, EntityId};
use eog_mcp::server::Server;
use eog_page::Row;
use eog_session::source::Word;
use eog_session::watched::Watched;

use crate::{Host, Standing};

impl Host for Server {
    fn rows(&self) -> Vec<Row> {
        let row = |one: eog_mcp::server::Stored| Row {
            path: format!("/i/{}", one.id),
            id: one.id,
            name: one.name,
            began: one.began,
            status: one.status.to_owned(),
            confidence: one.confidence.unwrap_or_default(),
            origins: one.origins,
        };
        self.stored().into_iter().map(row).collect()
    }

    fn watched(&self, id: &str) -> Option<Arc<Watched>> {
        self.watched(id)
    }

    fn standing(&self, id: &str) -> Result<Standing, String> {
        let so_far = self.so_far(id)?;
        Ok(Standing::new(so_far.report, so_far.steps, so_far.source.as_ref()))
    }

    fn stop(&self, id: &str) -> Result<(), String> {
        self.stop(id)
    }

    fn go_on<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { self.go_on(id) })
    }

    fn tell<'a>(
        &'a self,
        id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.tell(id, entity, word))
    }
}
