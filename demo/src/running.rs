//! The service from start to end, with its clients and the thread that measures.

use crate::arguments::Handoff;
use crate::figures::Sampler;
use crate::load::Load;
use crate::show::Show;
use crate::{actions, listen, service};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use wakeful::runtime::Runtime;
use wakeful::sync::oneshot;
use wakeful::task::JoinHandle;
use wakeful::time::timeout;

/// How long unfinished answers may take when the service ends.
const PATIENCE: Duration = Duration::from_secs(3);

/// The running service.
pub struct Running {
    pub runtime: Runtime,
    pub address: SocketAddr,
    show: Arc<Show>,
    sampler: Sampler,
    load: Load,
    server: JoinHandle<io::Result<()>>,
    end: oneshot::Sender<()>,
}

impl Running {
    /// Starts the service on the first of `ports` that is free.
    pub fn start(ports: impl IntoIterator<Item = u16>, handoff: Handoff) -> io::Result<Running> {
        let show = Show::new(handoff);
        let runtime = show.runtime()?;
        let listener = runtime.block_on(listen::first_free(ports))?;
        let address = listener.local_addr()?;
        let load = Load::start(show.clone(), address)?;
        let sampler = Sampler::start(show.clone(), runtime.metrics())?;
        let (end, ended) = oneshot::channel();
        let server = service::serve(listener, show.clone(), load.switch(), async {
            let _ended_or_dropped = ended.await;
        });
        let server = runtime.spawn(server);
        runtime.block_on(async { actions::tick(&show) });
        Ok(Running { runtime, address, show, sampler, load, server, end })
    }

    /// Ends the service, and returns a one-line summary.
    pub fn stop(self) -> String {
        // Ends the pages' streams first; they would never end by themselves.
        self.sampler.stop();
        self.load.stop();
        let _is_gone_already = self.end.send(());
        let gone = self.runtime.block_on(async { timeout(PATIENCE, self.server).await.is_ok() });
        let summary = summary(&self.show, &self.runtime);
        // Does not wait for tasks that are blocking a thread.
        self.runtime.shutdown_background();
        if gone { summary } else { format!("{summary}; some answers were cut off") }
    }
}

fn summary(show: &Show, runtime: &Runtime) -> String {
    let (requests, metrics) = (show.requests.look(), runtime.metrics());
    let within = requests.quantile(0.99).unwrap_or_default();
    format!(
        "ended after {:.1} s: {} requests answered, p99 {within:?}; stalls: {}, \
         hand-offs: {}",
        show.now().as_secs_f64(),
        requests.total(),
        metrics.stall_count(),
        metrics.stall_handoff_count(),
    )
}
