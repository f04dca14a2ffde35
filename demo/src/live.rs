//! The stream of events for open pages. A page that opens later first gets the events of the last
//! half minute.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Mutex;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use wakeful::sync::broadcast::{self, Sender};

/// How many frames a page gets when it opens.
pub const FRAMES_KEPT: usize = 320;
/// How many events a page may be behind. Beyond it, its stream ends: the browser opens another one,
/// and gets the last half minute again.
const BEHIND_MAX: usize = 1024;

/// The events that were sent, and the pages to which they go.
pub struct Live(Mutex<LiveState>);

struct LiveState {
    frames: VecDeque<Bytes>,
    /// The latest list of each kind.
    lists: Vec<(&'static str, Bytes)>,
    /// `None` when the streams have ended.
    pages: Option<Sender<Bytes>>,
}

impl Live {
    pub fn new() -> Live {
        let pages = Some(broadcast::channel(BEHIND_MAX).0);
        Live(Mutex::new(LiveState { frames: VecDeque::new(), lists: Vec::new(), pages }))
    }

    /// Sends the figures of one moment.
    pub fn send_frame(&self, frame: &str) {
        let mut state = self.0.lock().expect("no thread panics while it holds this lock");
        let event = event("frame", frame);
        if state.frames.len() == FRAMES_KEPT {
            state.frames.pop_front();
        }
        state.frames.push_back(event.clone());
        state.send(event);
    }

    /// Sends a list that has changed.
    pub fn send_list(&self, name: &'static str, list: &str) {
        let mut state = self.0.lock().expect("no thread panics while it holds this lock");
        let event = event(name, list);
        state.lists.retain(|&(known, _)| known != name);
        state.lists.push((name, event.clone()));
        state.send(event);
    }

    /// Ends all streams.
    pub fn end(&self) {
        self.0.lock().expect("no thread panics while it holds this lock").pages = None;
    }

    /// Returns the events for a page that opens now, including those of the last half minute.
    pub fn events(&self) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
        let state = self.0.lock().expect("no thread panics while it holds this lock");
        let mut past = Vec::new();
        let lists = state.lists.iter().map(|(_, event)| event);
        state.frames.iter().chain(lists).for_each(|event| past.extend_from_slice(event));
        // Subscribes under the same lock, so that no event is duplicated or lost.
        let present = state.pages.as_ref().map(Sender::subscribe);
        stream::unfold((Some(Bytes::from(past)), present), |(past, mut present)| async move {
            let event = match past {
                Some(past) => past,
                None => present.as_mut()?.recv().await.ok()?,
            };
            Some((Ok(event), (None, present)))
        })
    }
}

impl LiveState {
    fn send(&self, event: Bytes) {
        if let Some(pages) = &self.pages {
            let _no_page_is_open = pages.send(event);
        }
    }
}

fn event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use std::pin::pin;

    fn text(event: Option<Result<Bytes, Infallible>>) -> String {
        let Ok(event) = event.expect("the stream has not ended");
        String::from_utf8(event.to_vec()).unwrap()
    }

    #[wakeful::test]
    async fn a_page_gets_the_past_then_the_present_then_the_end() {
        let live = Live::new();
        (0..FRAMES_KEPT + 2).for_each(|frame| live.send_frame(&frame.to_string()));
        live.send_list("stalls", "[1]");
        live.send_list("stalls", "[1,2]");
        let mut events = pin!(live.events());
        let past = text(events.next().await);
        assert!(past.starts_with("event: frame\ndata: 2\n\n"), "{past}");
        assert!(past.ends_with("event: stalls\ndata: [1,2]\n\n"), "{past}");
        assert_eq!(past.matches("event:").count(), FRAMES_KEPT + 1);
        live.send_frame("now");
        assert_eq!(text(events.next().await), "event: frame\ndata: now\n\n");
        live.end();
        assert!(events.next().await.is_none());
    }

    #[wakeful::test]
    async fn the_stream_of_a_page_far_behind_ends() {
        let live = Live::new();
        let mut events = pin!(live.events());
        assert_eq!(text(events.next().await), "");
        (0..2 * BEHIND_MAX).for_each(|_| live.send_frame("1"));
        assert!(events.next().await.is_none());
    }

    #[wakeful::test]
    async fn a_stream_opened_after_the_end_ends_at_once() {
        let live = Live::new();
        live.end();
        let mut events = pin!(live.events());
        assert_eq!(text(events.next().await), "");
        assert!(events.next().await.is_none());
    }
}
