//! Reads JSON, for clients in tests.

use std::ops::Index;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text that is one value.
    pub fn parse(text: &str) -> Json {
        let mut rest = text.chars().peekable();
        let value = Json::value(&mut rest);
        assert_eq!(rest.next(), None, "something follows the value in {text}");
        value
    }

    fn value(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Json {
        let mut word = String::new();
        match rest.next().expect("a value") {
            '"' => loop {
                match rest.next().expect("the end of a string") {
                    '"' => return Json::Text(word),
                    '\\' => word.push(match rest.next().unwrap() {
                        'n' => '\n',
                        'u' => {
                            let code: String = rest.take(4).collect();
                            char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
                        }
                        c @ ('"' | '\\') => c,
                        c => panic!("\\{c} in a string"),
                    }),
                    c => {
                        assert!(c >= ' ', "a control character in a string");
                        word.push(c);
                    }
                }
            },
            open @ ('[' | '{') => {
                let (mut list, mut members) = (Vec::new(), Vec::new());
                let close = if open == '[' { ']' } else { '}' };
                while rest.next_if_eq(&close).is_none() {
                    if !list.is_empty() || !members.is_empty() {
                        assert_eq!(rest.next(), Some(','));
                    }
                    let value = Json::value(rest);
                    if open == '[' {
                        list.push(value);
                        continue;
                    }
                    assert_eq!(rest.next(), Some(':'));
                    let Json::Text(name) = value else { panic!("{value:?} as a name") };
                    assert!(members.iter().all(|(other, _)| *other != name), "{name} is twice");
                    members.push((name, Json::value(rest)));
                }
                if open == '[' { Json::List(list) } else { Json::Object(members) }
            }
            first => {
                word.push(first);
                while let Some(c) = rest.next_if(|c| !matches!(c, ',' | ']' | '}')) {
                    word.push(c);
                }
                match &*word {
                    "null" => Json::Null,
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    number => Json::Number(number.parse().unwrap_or_else(|_| {
                        panic!("{number:?} is no value");
                    })),
                }
            }
        }
    }

    /// Returns a member, if there is one.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { panic!("{self:?} is no object") };
        members.iter().find(|member| member.0 == name).map(|member| &member.1)
    }

    pub fn text(&self) -> &str {
        let Json::Text(text) = self else { panic!("{self:?} is no text") };
        text
    }

    pub fn number(&self) -> u64 {
        let Json::Number(number) = self else { panic!("{self:?} is no number") };
        *number as u64
    }

    pub fn bool(&self) -> bool {
        *self == Json::Bool(true)
    }

    pub fn list(&self) -> &[Json] {
        let Json::List(list) = self else { panic!("{self:?} is no list") };
        list
    }
}

impl Index<&str> for Json {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or_else(|| panic!("{self:?} has no {name}"))
    }
}
