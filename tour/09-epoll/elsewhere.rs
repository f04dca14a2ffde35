//! What step 9 does on systems without epoll: it says so.
//!
//! 在没有 epoll 的系统上，第 9 步只说明一声。

use crate::timeline::Timeline;

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.note("epoll", "needs epoll, and so Linux: this step does nothing here");
}
