//! The pages: those of the investigations, and incidents that wait for theirs.

use std::sync::Arc;

use eog::{BoxFuture, EntityId};
use eog_live::{Host, Standing};
use eog_page::Row;
use eog_session::source::Word;
use eog_session::watched::Watched;

use crate::desk::Desk;
use crate::investigations::Investigations;

/// The pages of a server whose investigations are begun by alerts.
pub struct OnCallHost {
    pub(crate) server: Arc<dyn Investigations>,
    pub(crate) desk: Desk,
}

impl Host for OnCallHost {
    fn rows(&self) -> Vec<Row> {
        let without = self.desk.rows().into_iter().filter(|(.., of)| of.is_none());
        let waiting = without.map(|(id, name, stage, _)| Row {
            path: format!("/incidents/{id}"),
            id,
            name,
            status: stage.to_owned(),
            confidence: String::new(),
            origins: Vec::new(),
        });
        waiting.chain(self.server.rows()).collect()
    }

    fn watched(&self, id: &str) -> Option<Arc<Watched>> {
        self.server.watched(id)
    }

    fn standing(&self, id: &str) -> Result<Standing, String> {
        self.server.standing(id)
    }

    fn stop(&self, id: &str) -> Result<(), String> {
        self.server.stop(id)
    }

    fn go_on<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.server.go_on(id)
    }

    fn tell<'a>(
        &'a self,
        id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.server.tell(id, entity, word)
    }
}
