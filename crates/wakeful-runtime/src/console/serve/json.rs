//! JSON as the console's socket needs it: a writer, and a parser of flat objects.
//!
//! Neither is generic, and the writer's functions are not inlined at their many callers, since each
//! program carries this code.

use std::str;

/// A JSON text in the making.
///
/// Commas are placed by the writer: a value or name needs one unless it comes first in its object
/// or array, or follows a name.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
}

/// What a member of a request can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Text(String),
    /// The number as it was written.
    Number(&'a str),
    Bool(bool),
}

/// A flat object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Object<'a> {
    /// The members in order: name, value, and the value as it was written.
    members: Vec<(String, Value<'a>, &'a str)>,
}

impl Writer {
    /// Returns the text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    fn begin_value(&mut self) {
        if !self.text.ends_with(['{', '[', ':']) && !self.text.is_empty() {
            self.text.push(',');
        }
    }

    /// Begins an object or array, which [`close`](Self::close) ends.
    #[inline(never)]
    pub(super) fn open(&mut self, bracket: char) -> &mut Writer {
        self.begin_value();
        self.text.push(bracket);
        self
    }

    #[inline(never)]
    pub(super) fn close(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    /// Writes the name of a member, whose value must follow.
    #[inline(never)]
    pub(super) fn name(&mut self, name: &str) -> &mut Writer {
        self.text(name);
        self.text.push(':');
        self
    }

    #[inline(never)]
    pub(super) fn number(&mut self, number: u64) {
        self.begin_value();
        self.digits(number);
    }

    fn digits(&mut self, number: u64) {
        if number >= 10 {
            self.digits(number / 10);
        }
        self.text.push((b'0' + (number % 10) as u8) as char);
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// Writes a value that is JSON already.
    pub(super) fn raw(&mut self, json: &str) {
        self.begin_value();
        self.text.push_str(json);
    }

    #[inline(never)]
    pub(super) fn text(&mut self, text: &str) {
        self.begin_value();
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(c);
                }
                '\n' => self.text.push_str("\\n"),
                '\0'..' ' => {
                    self.text.push_str(if c < '\x10' { "\\u000" } else { "\\u001" });
                    self.text.push(char::from_digit(c as u32 % 16, 16).unwrap_or('0'));
                }
                _ => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    #[inline(never)]
    pub(super) fn text_member(&mut self, name: &str, text: &str) {
        self.name(name).text(text);
    }

    #[inline(never)]
    pub(super) fn number_member(&mut self, name: &str, number: u64) {
        self.name(name).number(number);
    }

    #[inline(never)]
    pub(super) fn bool_member(&mut self, name: &str, value: bool) {
        self.name(name).bool(value);
    }

    /// Writes an object as text: names to compare.
    #[inline(never)]
    pub(super) fn address(&mut self, address: u64) {
        self.begin_value();
        self.text.push('"');
        let digits = 1.max((64 - address.leading_zeros()).div_ceil(4));
        for at in (0..digits).rev() {
            let digit = (address >> (4 * at)) as u32 % 16;
            self.text.push(char::from_digit(digit, 16).unwrap_or('0'));
        }
        self.text.push('"');
    }
}

impl<'a> Object<'a> {
    /// Parses an object whose values are strings, numbers and booleans. Returns what is wrong.
    pub(super) fn parse(line: &'a [u8]) -> Result<Object<'a>, &'static str> {
        let text = str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
        let mut parser = Parser { text, at: 0 };
        let mut members = Vec::new();
        parser.expect('{', "it does not begin with {")?;
        if !parser.skip('}') {
            loop {
                let name = parser.string()?;
                parser.expect(':', "a name is not followed by :")?;
                parser.space();
                let start = parser.at;
                let value = parser.value()?;
                members.push((name, value, &text[start..parser.at]));
                if parser.skip('}') {
                    break;
                }
                parser.expect(',', "a member is followed by neither , nor }")?;
            }
        }
        parser.space();
        match parser.at == text.len() {
            true => Ok(Object { members }),
            false => Err("something follows the object"),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.members.iter().find(|member| member.0 == name).map(|member| &member.1)
    }

    /// Returns a value as it was written.
    pub(super) fn raw(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|member| member.0 == name).map(|member| member.2)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> u8 {
        // No JSON text contains the byte 0.
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// Skips white space, and `c` if that follows. Returns whether it did.
    fn skip(&mut self, c: char) -> bool {
        self.space();
        let is_there = self.peek() == c as u8;
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, c: char, error: &'static str) -> Result<(), &'static str> {
        if self.skip(c) { Ok(()) } else { Err(error) }
    }

    fn value(&mut self) -> Result<Value<'a>, &'static str> {
        match self.peek() {
            b'"' => Ok(Value::Text(self.string()?)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                for (word, value) in [("true", true), ("false", false)] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(Value::Bool(value));
                    }
                }
                Err("a value is neither a string, nor a number, nor true, nor false")
            }
        }
    }

    fn number(&mut self) -> Result<Value<'a>, &'static str> {
        let start = self.at;
        self.at += usize::from(self.peek() == b'-');
        let has_zero = self.peek() == b'0';
        let len = self.digits();
        let mut is_number = len == 1 || len > 1 && !has_zero;
        if self.peek() == b'.' {
            self.at += 1;
            is_number &= self.digits() > 0;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            is_number &= self.digits() > 0;
        }
        if is_number {
            Ok(Value::Number(&self.text[start..self.at]))
        } else {
            Err("a number is not written as JSON has it")
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, &'static str> {
        self.expect('"', "a string is missing")?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let len = rest.bytes().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            // The byte after these is ASCII or the end, so this is no part of a character.
            string.push_str(&rest[..len]);
            self.at += len;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(string);
                }
                b'\\' => {
                    self.at += 1;
                    string.push(self.escape()?);
                }
                _ => return Err("a string does not end, or contains a control character"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        const WRONG: &str = "a \\ in a string is followed by something unknown";
        let c = match self.peek() {
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                let first = self.hex()?;
                let code = match first {
                    0xd800..0xdc00 if self.text[self.at..].starts_with("\\u") => {
                        self.at += 2;
                        let second = self.hex()?.wrapping_sub(0xdc00);
                        if second >= 0x400 {
                            return Err(WRONG);
                        }
                        0x10000 + ((first - 0xd800) << 10) + second
                    }
                    code => code,
                };
                return char::from_u32(code).ok_or(WRONG);
            }
            c @ (b'"' | b'\\' | b'/') => c as char,
            _ => return Err(WRONG),
        };
        self.at += 1;
        Ok(c)
    }

    /// Parses four hexadecimal digits.
    fn hex(&mut self) -> Result<u32, &'static str> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = (self.peek() as char).to_digit(16);
            code = 16 * code + digit.ok_or("\\u is not followed by four hexadecimal digits")?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
