//! Shows a running program on Wakeful in the unmodified tokio-console.
//!
//! It connects to the program's console socket and serves console-api on the loopback interface.

mod details;
mod find;
mod objects;
mod program;
mod sent;
mod service;
mod task;
mod view;
mod wire;

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use console_api::instrument::instrument_server::InstrumentServer;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use find::Process;
use program::Program;
use service::Bridge;

/// The port that tokio-console connects to without an argument.
const PORT: u16 = 6669;

/// How often it is checked whether the process still exists.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

const HELP: &str = "\
Shows a running program on Wakeful in tokio-console.

Usage: console-bridge [--port PORT] [PID | NAME]

Start the program with WAKEFUL_CONSOLE=1, then this, then `tokio-console`. Without PID and NAME it
takes the only program that listens.

Options:
  --port PORT  listen on this port of 127.0.0.1 instead of 6669; 0 takes a free one
  --help       print this text

It listens on 127.0.0.1 only. All users of this machine can connect to that port. For a program on
another machine, run it there and forward the port: ssh -L 6669:127.0.0.1:6669 HOST
";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    port: u16,
    process: Option<String>,
}

impl Options {
    /// Parses the arguments. `None`: print the help.
    fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options = Options { port: PORT, process: None };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--port" => {
                    let port = arguments.next().unwrap_or_default();
                    options.port = port.parse().map_err(|_| {
                        format!(
                            "`--port {port}`: a number from 0 to 65535 is needed. The address is \
                             always 127.0.0.1"
                        )
                    })?;
                }
                option if option.starts_with('-') => {
                    return Err(format!("there is no option `{option}`. See --help"));
                }
                _ if options.process.is_some() => {
                    return Err(format!("`{argument}` is one argument too many. See --help"));
                }
                _ => options.process = Some(argument),
            }
        }
        Ok(Some(options))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let outcome = match Options::parse(env::args().skip(1)) {
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Some(options)) => run(&options).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("console-bridge: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the process ends.
async fn run(options: &Options) -> Result<(), String> {
    let process = find::process(options.process.as_deref())?;
    let tested = Program::connect(&process).await;
    drop(tested.map_err(|error| error.message().to_owned())?);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        format!("could not listen on {address}: {error}. Choose another port with --port")
    })?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (pid, name) = (process.pid, process.name());
    println!("process {pid}, {name}: run `tokio-console http://{address}`");
    let service = InstrumentServer::new(Bridge::new(process.clone()));
    let serving = Server::builder()
        .add_service(service)
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::select! {
        served = serving => served.map_err(|error| format!("could not serve: {error}")),
        () = end_of(&process) => {
            println!("process {pid} has ended");
            Ok(())
        }
    }
}

/// Waits until the process has ended.
async fn end_of(process: &Process) {
    while process.exists() {
        sleep(CHECK_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Option<Options>, String> {
        Options::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn the_port_and_the_process_are_optional() {
        assert_eq!(parse(&[]), Ok(Some(Options { port: 6669, process: None })));
        let both = Options { port: 0, process: Some("api".to_owned()) };
        assert_eq!(parse(&["--port", "0", "api"]), Ok(Some(both)));
        assert_eq!(parse(&["--help"]), Ok(None));
    }

    #[test]
    fn an_address_cannot_be_chosen() {
        for wrong in [["--port", "0.0.0.0:6669"], ["--port", "70000"], ["--bind", "0.0.0.0"]] {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
        assert!(parse(&["--port", "0.0.0.0:6669"]).unwrap_err().contains("always 127.0.0.1"));
        assert!(parse(&["1", "2"]).unwrap_err().contains("too many"));
    }
}
