//! The requests of one client that have not been answered: how many there may be, and by which ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rmcp::model::{ClientNotification, ErrorData, GetExtensions, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::message::{Refused, refused};

/// Most requests that are being worked on, or whose answers are not read yet. What comes after them is
/// not read: its client waits, not this server's memory.
const MAX_OPEN: usize = 64;

/// A place among the open requests. It is free when both the work and the answer have let it go.
type Place = Arc<OwnedSemaphorePermit>;

/// The open requests of one client.
pub(super) struct Open {
    room: Arc<Semaphore>,
    places: Mutex<HashMap<RequestId, Held>>,
}

/// A place by its id.
struct Held {
    /// For the answer, unless the request was cancelled and gets none.
    answer: Option<Place>,
    /// Whether it is still worked on, or its answer is written.
    work: Weak<OwnedSemaphorePermit>,
}

impl Default for Open {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(MAX_OPEN)), places: Mutex::default() }
    }
}

impl Open {
    /// Whether there must be [room](Open::room) for a message.
    pub(super) fn takes_room(message: &RxJsonRpcMessage<RoleServer>) -> bool {
        matches!(message, JsonRpcMessage::Request(_))
    }

    /// Resolves once there is room for one more request.
    pub(super) async fn room(&self) -> OwnedSemaphorePermit {
        match self.room.clone().acquire_owned().await {
            Ok(room) => room,
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives a request its place, which lives as long as what is done for it, and takes a cancelled one
    /// from those that get answers. One whose id is taken is refused with this answer.
    pub(super) fn take(
        &self,
        mut message: RxJsonRpcMessage<RoleServer>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<RxJsonRpcMessage<RoleServer>, Refused> {
        let mut places = self.places();
        match (&mut message, room) {
            (JsonRpcMessage::Request(request), Some(room)) => {
                places.retain(|_, held| held.work.strong_count() > 0);
                if places.contains_key(&request.id) {
                    let text = "a request with this id is still open; give each request its own";
                    let error = ErrorData::invalid_request(text, None);
                    // Without the id, which is that of the other answer.
                    return Err(refused(error, None));
                }
                let place = Arc::new(room);
                let work = Arc::downgrade(&place);
                request.request.extensions_mut().insert(place.clone());
                places.insert(request.id.clone(), Held { answer: Some(place), work });
            }
            (JsonRpcMessage::Notification(sent), _) => {
                if let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(held) = places.get_mut(id)
                {
                    held.answer = None;
                }
            }
            _ => {}
        }
        Ok(message)
    }

    /// The place of the request that a message answers, to be let go when the message is written.
    pub(super) fn answered(&self, message: &TxJsonRpcMessage<RoleServer>) -> Option<Place> {
        let id = match message {
            JsonRpcMessage::Response(answer) => &answer.id,
            JsonRpcMessage::Error(error) => error.id.as_ref()?,
            _ => return None,
        };
        self.places().get_mut(id)?.answer.take()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<RequestId, Held>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(value: Value) -> RxJsonRpcMessage<RoleServer> {
        serde_json::from_value(value).expect("a message")
    }

    fn ping(id: usize) -> RxJsonRpcMessage<RoleServer> {
        message(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
    }

    fn answer(id: usize) -> TxJsonRpcMessage<RoleServer> {
        serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).expect("one")
    }

    async fn begin(open: &Open, id: usize) -> RxJsonRpcMessage<RoleServer> {
        let room = open.room().await;
        match open.take(ping(id), Some(room)) {
            Ok(message) => message,
            Err(refused) => panic!("{refused:?}"),
        }
    }

    #[tokio::test]
    async fn a_place_is_free_when_work_and_answer_are_done() {
        let open = Open::default();
        let work = begin(&open, 1).await;
        assert_eq!(open.room.available_permits(), MAX_OPEN - 1);
        drop(work);
        let written = open.answered(&answer(1)).expect("its place");
        assert!(open.answered(&answer(1)).is_none());
        assert_eq!(open.room.available_permits(), MAX_OPEN - 1);
        drop(written);
        assert_eq!(open.room.available_permits(), MAX_OPEN);
    }

    #[tokio::test]
    async fn a_cancelled_request_keeps_its_place_while_it_is_worked_on() {
        let open = Open::default();
        let work = begin(&open, 1).await;
        let cancel = message(json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}}));
        assert!(open.take(cancel, None).is_ok());
        assert_eq!(open.room.available_permits(), MAX_OPEN - 1);
        let room = open.room().await;
        assert!(open.take(ping(1), Some(room)).is_err());
        drop(work);
        assert_eq!(open.room.available_permits(), MAX_OPEN);
        drop(begin(&open, 1).await);
    }

    #[tokio::test]
    async fn an_id_that_is_open_is_not_taken_again() {
        let open = Open::default();
        let _work = begin(&open, 1).await;
        for _ in 0..100 {
            let room = open.room().await;
            assert!(open.take(ping(1), Some(room)).is_err());
        }
        assert_eq!(open.room.available_permits(), MAX_OPEN - 1);
    }
}
