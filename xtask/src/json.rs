//! A JSON parser for the output of cargo and rustdoc, and quoting of strings.
//!
//! Looking up a missing value returns [`Json::Null`], so that a chain of lookups needs only one
//! check at its end.

use std::collections::BTreeMap;
use std::ops::Index;

#[cfg(test)]
mod tests;

/// A parsed value.
#[derive(Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// The digits as written: numbers are used as ids and must not be rounded.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value()?;
        parser.skip_space();
        if parser.at == text.len() { Ok(value) } else { Err(parser.unexpected("the end")) }
    }

    /// Returns the text of a string.
    pub fn str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// Returns the text of a string, or an empty text for any other value.
    pub fn text(&self) -> &str {
        self.str().unwrap_or_default()
    }

    /// Returns the digits of a number.
    pub fn number(&self) -> Option<&str> {
        if let Json::Number(digits) = self { Some(digits) } else { None }
    }

    pub fn is_true(&self) -> bool {
        *self == Json::Bool(true)
    }

    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }

    /// Returns the elements of an array, or an empty slice for any other value.
    pub fn items(&self) -> &[Json] {
        if let Json::Array(items) = self { items } else { &[] }
    }

    /// Returns the fields of an object, sorted by name, or none for any other value.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        let fields = if let Json::Object(fields) = self { Some(fields) } else { None };
        fields.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the name and the value of an object's only field, which is how Rust enums are
    /// written.
    pub fn variant(&self) -> (&str, &Json) {
        match self {
            Json::String(name) => (name, &Json::Null),
            _ => self.fields().next().unwrap_or(("", &Json::Null)),
        }
    }
}

impl Index<&str> for Json {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        let found = if let Json::Object(fields) = self { fields.get(name) } else { None };
        found.unwrap_or(&Json::Null)
    }
}

/// Returns `text` as a JSON string, including the quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Json, String> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            _ if self.take("null") => Ok(Json::Null),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self) -> Result<Json, String> {
        self.at += 1;
        let mut fields = BTreeMap::new();
        while !self.take_after_space("}") {
            if !fields.is_empty() {
                self.expect(",")?;
            }
            self.skip_space();
            let name = self.string()?;
            self.expect(":")?;
            fields.insert(name, self.value()?);
        }
        Ok(Json::Object(fields))
    }

    fn array(&mut self) -> Result<Json, String> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take_after_space("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.value()?);
        }
        Ok(Json::Array(items))
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.take("\"") {
            return Err(self.unexpected("a string"));
        }
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).ok_or_else(|| self.unexpected("a closing quote"))?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            if self.take("\"") {
                return Ok(out);
            }
            self.at += 1;
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let kind = self.peek();
        self.at += 1;
        match kind {
            Some(b'n') => Ok('\n'),
            Some(b't') => Ok('\t'),
            Some(b'r') => Ok('\r'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(c @ (b'"' | b'\\' | b'/')) => Ok(c as char),
            Some(b'u') => {
                let unit = self.hex()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit).ok_or_else(|| self.unexpected("a character"));
                }
                if !self.take("\\u") {
                    return Err(self.unexpected("the second half of a surrogate pair"));
                }
                let low = self.hex()?;
                let c = 0x10000 + ((unit - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                char::from_u32(c).ok_or_else(|| self.unexpected("a character"))
            }
            _ => Err(self.unexpected("an escape")),
        }
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4);
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        unit.ok_or_else(|| self.unexpected("four hexadecimal digits"))
    }

    fn number(&mut self) -> Json {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'));
        let digits = &rest[..end.unwrap_or(rest.len())];
        self.at += digits.len();
        Json::Number(digits.to_owned())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn take_after_space(&mut self, token: &str) -> bool {
        self.skip_space();
        self.take(token)
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take_after_space(token) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{token}`")))
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let rest: String = self.text.get(self.at..).unwrap_or_default().chars().take(30).collect();
        format!("JSON: expected {wanted} at byte {}, found `{rest}`", self.at)
    }
}
