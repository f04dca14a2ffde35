//! As much of an HTTP server as one page needs: GET and POST, small requests, connections that stay
//! open.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How many connections are served at once. A browser opens six.
const CONNECTIONS_MAX: usize = 32;
const HEAD_MAX: u64 = 16 * 1024;
const BODY_MAX: usize = 64 * 1024;
/// How long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Headers of every answer. Scripts, styles and data come from here only, no page may frame this
/// one, and its address, which contains the token, is not told to any other site.
const HEADERS: &str = "\
Cache-Control: no-store\r
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
Cross-Origin-Opener-Policy: same-origin\r
Cross-Origin-Resource-Policy: same-origin\r
Referrer-Policy: no-referrer\r
X-Content-Type-Options: nosniff\r
";

/// A request of a browser.
#[derive(Debug, Default, PartialEq)]
pub struct Request {
    pub method: String,
    /// The path, without a query.
    pub path: String,
    pub host: Option<String>,
    pub origin: Option<String>,
    pub body: String,
}

pub struct Response {
    /// The code and its name.
    pub status: &'static str,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

impl Response {
    pub fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status: "200 OK", content_type, body: body.into() }
    }

    /// Returns an answer that says in a sentence why there is no other.
    pub fn failed(status: &'static str, why: &str) -> Response {
        let body = format!("{why}\n").into_bytes();
        Response { status, content_type: "text/plain; charset=utf-8", body }
    }
}

/// Answers requests for good.
pub fn serve(
    listener: &TcpListener,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
) {
    let answer = Arc::new(answer);
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // There may be no descriptor left for a moment.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if open.load(Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        let connection = OpenConnection::count(&open);
        let answer = answer.clone();
        thread::spawn(move || {
            // A connection that fails concerns the browser only, which opens another one.
            let _ended = serve_one(stream, &*answer);
            drop(connection);
        });
    }
}

/// One of the connections that are open.
struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    fn count(open: &Arc<AtomicUsize>) -> OpenConnection {
        open.fetch_add(1, Relaxed);
        OpenConnection(open.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn serve_one(stream: TcpStream, answer: &dyn Fn(&Request) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
    stream.set_write_timeout(Some(IDLE_TIMEOUT))?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream)? {
        let (response, is_last) = match request {
            Ok(request) => (answer(&request), false),
            Err(why) => (Response::failed("400 Bad Request", why), true),
        };
        write(stream.get_mut(), &response)?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Reads a request: `None` at the end of the connection, and an error if it is not understood.
fn read(stream: &mut impl BufRead) -> io::Result<Option<Result<Request, &'static str>>> {
    let mut head = stream.by_ref().take(HEAD_MAX);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut request = Request::default();
    let mut words = line.split_whitespace();
    let (Some(method), Some(target), Some("HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Ok(Some(Err("not a request of HTTP/1.1")));
    };
    request.method = method.to_owned();
    request.path = target.split('?').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        head.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Ok(Some(Err("the head of the request is too long, or incomplete")));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(Some(Err("a header has no colon")));
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            // Of two, the one that is checked might not be the one that the browser means.
            "host" if request.host.is_some() => return Ok(Some(Err("there are two hosts"))),
            "host" => request.host = Some(value.to_owned()),
            "origin" => request.origin = Some(value.to_owned()),
            "transfer-encoding" => return Ok(Some(Err("bodies have to have a Content-Length"))),
            "content-length" => match value.parse() {
                Ok(bytes) if bytes <= BODY_MAX => length = bytes,
                _ => return Ok(Some(Err("the body of the request is too long"))),
            },
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some(match String::from_utf8(body) {
        Ok(body) => Ok(Request { body, ..request }),
        Err(_) => Err("the body of the request is not UTF-8"),
    }))
}

fn write(stream: &mut impl Write, response: &Response) -> io::Result<()> {
    let Response { status, content_type, body } = response;
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         {HEADERS}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)
}
