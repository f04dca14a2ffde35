//! `cargo wakeful console`: a page about a running program.
//!
//! This process is the program's only client: the page sends the requests of the console protocol
//! here, and gets the program's answers. So the program opens no port, and the page shows what
//! `cargo wakeful ps` would.
//!
//! Access: the address of the page contains a token of 128 random bits, without which no
//! request is answered. Another page in the user's browser does not know it, and is refused by
//! `Origin`; a name that is made to resolve to this machine is refused by `Host`. The page loads
//! nothing from elsewhere ([`http::Response`]).

mod browser;
mod http;
mod site;

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use super::connect;
use crate::invocation::look::{Serve, Target};
use crate::output::print_text;
use site::Site;

/// Serves the page until the user stops this process.
pub fn run(target: &Target, options: &Serve) -> Result<(), String> {
    let client = connect(target)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(|error| {
        format!("could not listen on port {} of 127.0.0.1: {error}", options.port)
    })?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let token = token().map_err(|error| format!("could not read /dev/urandom: {error}"))?;
    let url = format!("http://127.0.0.1:{port}/{token}/");
    let (pid, program) = (client.pid, client.program.clone());
    print_text(&format!(
        "Process {pid}, {program}, is shown at\n\n    {url}\n\n\
         The address is a secret. Ctrl-C ends the page, not the program.\n"
    ));
    if !options.opens_no_browser {
        browser::open(&url);
    }
    let site = Arc::new(Site::new(client, token, port));
    http::serve(&listener, move |request| site.answer(request));
    Ok(())
}

/// Returns 128 random bits in hexadecimal.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
