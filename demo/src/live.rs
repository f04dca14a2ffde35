//! The stream of events to the pages that are open, and to those that come later: the last half minute.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Mutex;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use wakeful::sync::broadcast::{self, Sender};

/// Frames that a page gets when it opens.
pub const FRAMES_KEPT: usize = 320;
/// Events that a page may be behind. Then its stream ends; a browser opens it again, and gets the past anew.
const BEHIND_MAX: usize = 1024;

/// What was told, and whom to tell.
pub struct Live(Mutex<Told>);

struct Told {
    frames: VecDeque<Bytes>,
    /// The last of each kind of list.
    lists: Vec<(&'static str, Bytes)>,
    /// None once it is over.
    pages: Option<Sender<Bytes>>,
}

impl Live {
    pub fn new() -> Live {
        let pages = Some(broadcast::channel(BEHIND_MAX).0);
        Live(Mutex::new(Told { frames: VecDeque::new(), lists: Vec::new(), pages }))
    }

    /// Tells what was measured at a moment.
    pub fn tell_frame(&self, frame: &str) {
        let mut told = self.0.lock().expect("nobody panics in here");
        let event = event("frame", frame);
        if told.frames.len() == FRAMES_KEPT {
            told.frames.pop_front();
        }
        told.frames.push_back(event.clone());
        told.send(event);
    }

    /// Tells a list that has changed.
    pub fn tell_list(&self, name: &'static str, list: &str) {
        let mut told = self.0.lock().expect("nobody panics in here");
        let event = event(name, list);
        told.lists.retain(|&(known, _)| known != name);
        told.lists.push((name, event.clone()));
        told.send(event);
    }

    /// Ends all streams.
    pub fn end(&self) {
        self.0.lock().expect("nobody panics in here").pages = None;
    }

    /// All that a page that opens now is told, from the past on.
    pub fn events(&self) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
        let told = self.0.lock().expect("nobody panics in here");
        let mut past = Vec::new();
        let lists = told.lists.iter().map(|(_, event)| event);
        told.frames.iter().chain(lists).for_each(|event| past.extend_from_slice(event));
        // Under the same lock: nothing twice, nothing left out.
        let present = told.pages.as_ref().map(Sender::subscribe);
        stream::unfold((Some(Bytes::from(past)), present), |(past, mut present)| async move {
            let event = match past {
                Some(past) => past,
                None => present.as_mut()?.recv().await.ok()?,
            };
            Some((Ok(event), (None, present)))
        })
    }
}

impl Told {
    fn send(&self, event: Bytes) {
        if let Some(pages) = &self.pages {
            let _nobody_looks = pages.send(event);
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
        let Ok(event) = event.expect("the stream goes on");
        String::from_utf8(event.to_vec()).unwrap()
    }

    #[wakeful::test]
    async fn a_page_gets_the_past_then_the_present_then_the_end() {
        let live = Live::new();
        (0..FRAMES_KEPT + 2).for_each(|frame| live.tell_frame(&frame.to_string()));
        live.tell_list("stalls", "[1]");
        live.tell_list("stalls", "[1,2]");
        let mut events = pin!(live.events());
        let past = text(events.next().await);
        assert!(past.starts_with("event: frame\ndata: 2\n\n"), "{past}");
        assert!(past.ends_with("event: stalls\ndata: [1,2]\n\n"), "{past}");
        assert_eq!(past.matches("event:").count(), FRAMES_KEPT + 1);
        live.tell_frame("now");
        assert_eq!(text(events.next().await), "event: frame\ndata: now\n\n");
        live.end();
        assert!(events.next().await.is_none());
    }

    #[wakeful::test]
    async fn who_is_too_far_behind_has_to_come_again() {
        let live = Live::new();
        let mut events = pin!(live.events());
        assert_eq!(text(events.next().await), "");
        (0..2 * BEHIND_MAX).for_each(|_| live.tell_frame("1"));
        assert!(events.next().await.is_none());
    }

    #[wakeful::test]
    async fn who_comes_after_the_end_sees_it_at_once() {
        let live = Live::new();
        live.end();
        let mut events = pin!(live.events());
        assert_eq!(text(events.next().await), "");
        assert!(events.next().await.is_none());
    }
}
