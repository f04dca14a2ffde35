//! What is served: the files of the page, and the program's answers.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::http::{Request, Response};
use crate::look::client::{Client, Failure};
use crate::output::print_note;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

/// The longest request that a program accepts.
const LINE_MAX: usize = 4096;

macro_rules! file {
    ($kind:expr, $name:literal) => {
        ($name, $kind, include_str!(concat!("../../../page/", $name)))
    };
}

const FILES: [(&str, &str, &str); 18] = [
    file!(HTML, "index.html"),
    file!(CSS, "style.css"),
    file!(JS, "main.js"),
    file!(JS, "source.js"),
    file!(JS, "figures.js"),
    file!(JS, "plot.js"),
    file!(JS, "dom.js"),
    file!(JS, "text.js"),
    file!(JS, "overview.js"),
    file!(JS, "tasks.js"),
    file!(JS, "task.js"),
    file!(JS, "graph.js"),
    file!(JS, "layers.js"),
    file!(JS, "objects.js"),
    file!(JS, "runtimes.js"),
    file!(JS, "stalls.js"),
    file!(JS, "profile.js"),
    file!(JS, "dump.js"),
];

pub struct Site {
    token: String,
    port: u16,
    /// The first line that the program sent.
    greeting: String,
    /// `None` once the program has ended.
    client: Mutex<Option<Client>>,
}

impl Site {
    pub fn new(client: Client, token: String, port: u16) -> Site {
        let greeting = client.greeting.to_string();
        Site { token, port, greeting, client: Mutex::new(Some(client)) }
    }

    pub fn answer(&self, request: &Request) -> Response {
        if let Err(why) = self.check(request) {
            return Response::failed("403 Forbidden", why);
        }
        let name = request.path.rsplit('/').next().unwrap_or_default();
        match (request.method.as_str(), name) {
            ("GET", "") => self.file("index.html"),
            ("GET", "program") => Response::new(JSON, self.greeting.as_str()),
            ("GET", name) => self.file(name),
            ("POST", "ask") => self.ask(&request.body),
            _ => Response::failed("405 Method Not Allowed", "only GET, and POST to `ask`"),
        }
    }

    /// Lets only the page itself, and programs that know its address, through.
    fn check(&self, request: &Request) -> Result<(), &'static str> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let Some(host) = request.host.as_ref().filter(|&host| hosts.contains(host)) else {
            return Err("the name of the host is not this machine's");
        };
        let is_own = |origin: &String| origin.strip_prefix("http://") == Some(host);
        if !request.origin.as_ref().is_none_or(is_own) {
            return Err("only the page of this program may send requests");
        }
        let mut segments = request.path.split('/').skip(1);
        let (token, _file) = (segments.next().unwrap_or_default(), segments.next());
        if !is_same(token, &self.token) || _file.is_none() || segments.next().is_some() {
            return Err("the address is not the one that `cargo wakeful console` has printed");
        }
        Ok(())
    }

    fn file(&self, name: &str) -> Response {
        match FILES.iter().find(|file| file.0 == name) {
            Some(&(_, kind, text)) => Response::new(kind, text),
            None => Response::failed("404 Not Found", "there is no such file"),
        }
    }

    /// Sends a list of requests to the program, and returns the list of its answers.
    fn ask(&self, body: &str) -> Response {
        let requests: Vec<Value> = match serde_json::from_str(body) {
            Ok(Value::Array(requests)) if requests.iter().all(Value::is_object) => requests,
            _ => return Response::failed("400 Bad Request", "the body is not a list of requests"),
        };
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = String::from("[");
        for request in requests {
            let line = request.to_string();
            if line.len() > LINE_MAX {
                return Response::failed("400 Bad Request", "a request is too long");
            }
            let Some(program) = client.as_mut() else {
                return Response::failed("410 Gone", "the program has ended");
            };
            match program.ask_line(&line) {
                Ok(answer) => {
                    answers.push_str(if answers.len() > 1 { "," } else { "" });
                    answers.push_str(answer.trim_end());
                }
                // After a missing answer, a later one would be taken for that of another request.
                Err(failure) => {
                    let why = match failure {
                        Failure::Ended => "the program has ended".to_owned(),
                        Failure::Broken(why) => why,
                    };
                    print_note(format_args!("process {}: {why}", program.pid));
                    *client = None;
                    return Response::failed("410 Gone", &why);
                }
            }
        }
        answers.push(']');
        Response::new(JSON, answers)
    }
}

/// Compares in a time that does not depend on where the two differ.
fn is_same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}
