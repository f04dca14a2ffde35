//! The service from start to end, with its clients and who looks on.

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

/// Answers that are still under way when it ends get this long.
const PATIENCE: Duration = Duration::from_secs(3);

/// The service, at work.
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
    /// Starts it on the first of `ports` that is free.
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

    /// Ends it, at once, and says in a line what it did.
    pub fn stop(self) -> String {
        // The pages' streams first, which would otherwise go on for ever.
        self.sampler.stop();
        self.load.stop();
        let _is_gone_already = self.end.send(());
        let gone = self.runtime.block_on(async { timeout(PATIENCE, self.server).await.is_ok() });
        let summary = summary(&self.show, &self.runtime);
        // Not waiting for who blocks a thread just now.
        self.runtime.shutdown_background();
        if gone { summary } else { format!("{summary}; some answers were cut off") }
    }
}

fn summary(show: &Show, runtime: &Runtime) -> String {
    let (requests, metrics) = (show.requests.look(), runtime.metrics());
    let within = requests.quantile(0.99).unwrap_or_default();
    format!(
        "ended after {:.1} s: {} requests answered, 99 % of them within {within:?}; stalls: {}, \
         hand-offs: {}",
        show.now().as_secs_f64(),
        requests.total(),
        metrics.stall_count(),
        metrics.stall_handoff_count(),
    )
}
