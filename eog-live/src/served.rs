//! The investigations of an MCP server.

use std::sync::Arc;

use eog::{BoxFuture, EntityId};
use eog_cases::Row as Closed;
use eog_cases::reliability::{WordKept, wilson};
use eog_mcp::server::Server;
use eog_page::{Bin, CaseRow, Cases, Row, WordRow};
use eog_session::source::Word;
use eog_session::watched::Watched;
use serde_json::{Map, Value};

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

    fn remark<'a>(
        &'a self,
        id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(Server::tell(self, id, entity, word))
    }

    fn startable(&self) -> Option<Vec<String>> {
        Some(self.folders())
    }

    fn start(&self, arguments: Map<String, Value>) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(self.start(arguments))
    }

    fn cases(&self) -> Result<Cases, String> {
        let (rows, worth) = self.closed()?;
        let row = |row: Closed| CaseRow {
            name: row.name,
            at: row.at,
            by: row.by,
            truth: row.truth,
            said: row.said.to_string(),
            grade: row.grade.to_string(),
        };
        let word = |word: WordKept| WordRow {
            said: word.said.to_string(),
            promised: word.promised,
            times: word.said_times,
            right: word.right,
            interval: word.interval,
            keeps: word.keeps,
        };
        let bin = |bin: eog_cases::reliability::Bin| Bin {
            cases: bin.cases,
            said: bin.said,
            right: bin.right,
            interval: wilson(bin.right, bin.cases),
        };
        Ok(Cases {
            rows: rows.into_iter().map(row).collect(),
            words: worth.words.into_iter().map(word).collect(),
            curve: worth.curve.into_iter().map(bin).collect(),
        })
    }

    fn keeps_cases(&self) -> bool {
        true
    }

    fn close(&self, id: &str, arguments: Map<String, Value>) -> Result<String, String> {
        self.close_as(id, arguments)
    }
}
