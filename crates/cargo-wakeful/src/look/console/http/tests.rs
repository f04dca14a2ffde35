use super::{Request, read};

fn parse(bytes: &str) -> Option<Result<Request, &'static str>> {
    read(&mut bytes.as_bytes()).unwrap()
}

#[test]
fn requests_are_parsed() {
    let text = "POST /token/ask?x HTTP/1.1\r\nHOST: 127.0.0.1:80\r\norigin: http://127.0.0.1:80\r\n\
                Accept: */*\r\nContent-Length: 2\r\n\r\n[]GET";
    let expected = Request {
        method: "POST".into(),
        path: "/token/ask".into(),
        host: Some("127.0.0.1:80".into()),
        origin: Some("http://127.0.0.1:80".into()),
        body: "[]".into(),
    };
    assert_eq!(parse(text), Some(Ok(expected)));
    assert_eq!(parse(""), None);
}

#[test]
fn what_is_not_understood_is_refused() {
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    for text in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / x HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a",
        &long,
    ] {
        assert!(matches!(parse(text), Some(Err(_))), "{text:.60}");
    }
    assert!(read(&mut &b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n[]"[..]).is_err());
}
