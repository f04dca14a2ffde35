//! English and Chinese output.
//!
//! Steps record their events in English, and tests compare these texts. Chinese comes in only when
//! a timeline is printed: [`Lang::translate`] looks a text up in the table `phrases`. A test runs
//! all steps and checks that no text is missing there.
//!
//! 输出用的两种语言：各步一律用英文记录事件，测试比较的也是英文；打印时间线时才查短语表，换成中文。

use std::borrow::Cow;

mod phrases;

#[cfg(test)]
mod tests;

/// The language in which a timeline is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// As recorded.
    #[default]
    English,
    /// Translated when it is printed.
    Chinese,
}

/// A text in both languages.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// In English.
    pub en: &'static str,
    /// In Chinese.
    pub zh: &'static str,
}

impl Text {
    /// Returns the text in `lang`.
    pub fn to(&self, lang: Lang) -> &'static str {
        match lang {
            Lang::English => self.en,
            Lang::Chinese => self.zh,
        }
    }
}

impl Lang {
    /// Reads the name of a language, as in `--lang zh`.
    pub fn parse(name: &str) -> Option<Lang> {
        match name {
            "en" => Some(Lang::English),
            "zh" | "zh-CN" => Some(Lang::Chinese),
            _ => None,
        }
    }

    /// Returns the file name of a page in this language.
    pub fn page(self) -> &'static str {
        match self {
            Lang::English => "README.md",
            Lang::Chinese => "README.zh-CN.md",
        }
    }

    /// Returns `text`, which was recorded in English, in this language. A text that the table does
    /// not have stays as it is.
    pub fn translate(self, text: &str) -> Cow<'_, str> {
        match self {
            Lang::English => Cow::Borrowed(text),
            Lang::Chinese => to_chinese(text).map_or(Cow::Borrowed(text), Cow::Owned),
        }
    }
}

/// Returns `text` in Chinese, if the table has it.
pub fn to_chinese(text: &str) -> Option<String> {
    let (chinese, holes) = phrases::PHRASES
        .iter()
        .find_map(|&(english, chinese)| Some((chinese, holes(text, english)?)))?;
    // What fills a hole may be a phrase of its own; numbers and names are not.
    let mut holes = holes.iter().map(|&hole| exact(hole).unwrap_or(hole));
    let mut parts = chinese.split("{}");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str(holes.next().expect("both languages have the same holes"));
        whole.push_str(part);
    }
    Some(whole)
}

/// Looks for a phrase without holes.
fn exact(text: &str) -> Option<&'static str> {
    phrases::PHRASES.iter().find(|(english, _)| *english == text).map(|(_, chinese)| *chinese)
}

/// Returns what stands in `text` where `phrase` has its holes, if it fits.
fn holes<'t>(text: &'t str, phrase: &str) -> Option<Vec<&'t str>> {
    let Some((first, others)) = phrase.split_once("{}") else {
        return (text == phrase).then(Vec::new);
    };
    let mut rest = text.strip_prefix(first)?;
    let (between, last) = others.rsplit_once("{}").unwrap_or(("", others));
    let mut holes = Vec::new();
    if others.contains("{}") {
        for part in between.split("{}") {
            let (hole, after) = rest.split_once(part)?;
            holes.push(hole);
            rest = after;
        }
    }
    holes.push(rest.strip_suffix(last)?);
    Some(holes)
}
