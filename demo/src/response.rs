//! A parser for the HTTP/1 responses that the clients in this program read.

use std::io;

/// The head of a response.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// The length of the head: the body begins there.
    pub length: usize,
    pub content_length: Option<usize>,
}

impl Head {
    /// Parses the bytes received so far. Returns `None` if the head is not complete.
    pub fn parse(bytes: &[u8]) -> io::Result<Option<Head>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not an HTTP/1 response");
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| invalid())?;
        let mut lines = head.split("\r\n");
        let status = lines.next().filter(|line| line.starts_with("HTTP/1."));
        let status = status.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(invalid)?;
        let content_length =
            lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
                let is_it = name.eq_ignore_ascii_case("content-length");
                is_it.then(|| value.trim().parse().map_err(|_| invalid()))
            });
        Ok(Some(Head { status, length: end + 4, content_length: content_length.transpose()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_complete_with_its_last_byte() {
        let all = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello\n";
        let head = Head { status: 200, length: 38, content_length: Some(6) };
        assert_eq!(Head::parse(all).unwrap(), Some(head));
        assert_eq!(Head::parse(&all[..37]).unwrap(), None);
    }

    #[test]
    fn a_stream_has_no_length() {
        let head =
            Head::parse(b"HTTP/1.1 200 OK\r\nX: content-length: 1\r\n\r\n").unwrap().unwrap();
        assert_eq!(head.content_length, None);
    }

    #[test]
    fn invalid_responses_are_errors() {
        assert!(Head::parse(b"hello\r\n\r\n").is_err());
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n").is_err());
    }
}
