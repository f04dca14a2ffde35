//! Rustdoc's descriptions of a set of crates, and references between them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use crate::json::Json;

/// The version of rustdoc's JSON format that this task was written for.
const FORMAT: &str = "57";

/// The descriptions, by crate name.
pub struct Crates(BTreeMap<String, Crate>);

struct Crate {
    json: Json,
    /// The ids of the crate's own items, by their definition.
    by_path: HashMap<Definition, String>,
}

/// The definition of an item: its full path, and its kind in rustdoc, since a module and a macro
/// may have the same path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Definition {
    pub path: String,
    pub kind: String,
}

/// An item of a described crate.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    pub krate: &'a str,
    pub json: &'a Json,
}

/// What an id refers to.
pub enum Target<'a> {
    Described(Item<'a>),
    /// An item of std or of another crate that is not described.
    Foreign(Definition),
    Unknown,
}

impl Crates {
    pub fn load(files: &[PathBuf]) -> Result<Crates, String> {
        let mut crates = BTreeMap::new();
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(file);
            let text = text.map_err(|e| format!("cannot read {}: {e}", file.display()))?;
            crates.insert(name, Crate::read(&text)?);
        }
        Ok(Crates(crates))
    }

    #[cfg(test)]
    pub fn from_texts(texts: &[(&str, &str)]) -> Crates {
        let read = |(name, text): &(&str, &str)| (name.to_string(), Crate::read(text).unwrap());
        Crates(texts.iter().map(read).collect())
    }

    /// Returns the root module of a crate.
    pub fn root<'a>(&'a self, krate: &'a str) -> Option<Item<'a>> {
        let json = &self.0.get(krate)?.json;
        self.item(krate, json["root"].number()?)
    }

    /// Returns a note for error messages if rustdoc's format is not the expected one, since
    /// reported differences may then be wrong.
    pub fn format_note(&self) -> String {
        let formats = self.0.values().map(|described| described.json["format_version"].number());
        match formats.flatten().find(|format| *format != FORMAT) {
            Some(format) => format!(
                " (note: rustdoc writes JSON format {format}, xtask/src/api_diff expects {FORMAT})"
            ),
            None => String::new(),
        }
    }

    /// Returns all items that are defined in the described crates.
    pub fn all(&self) -> impl Iterator<Item = Item<'_>> {
        self.0.iter().flat_map(|(krate, described)| {
            let own = described.json["index"].fields().map(|(_, json)| json);
            let own = own.filter(|json| json["crate_id"].number() == Some("0"));
            own.map(|json| Item { krate, json })
        })
    }

    /// Returns an item in the index of `krate`.
    pub fn item<'a>(&'a self, krate: &'a str, id: &str) -> Option<Item<'a>> {
        let json = &self.0.get(krate)?.json["index"][id];
        (!json.is_null()).then_some(Item { krate, json })
    }

    /// Returns the items of a list of ids in `krate`.
    pub fn items<'a>(&'a self, krate: &'a str, ids: &'a Json) -> impl Iterator<Item = Item<'a>> {
        ids.items().iter().filter_map(move |id| self.item(krate, id.number()?))
    }

    /// Returns what `id` refers to in `krate`, whichever crate defines it.
    pub fn target<'a>(&'a self, krate: &'a str, id: &Json) -> Target<'a> {
        let Some(id) = id.number() else { return Target::Unknown };
        if let Some(item) = self.item(krate, id) {
            if item.json["crate_id"].number() == Some("0") {
                return Target::Described(item);
            }
        }
        let Some(definition) = self.definition(krate, id) else { return Target::Unknown };
        let owner = definition.path.split("::").next().unwrap_or_default();
        let Some((owner, described)) = self.0.get_key_value(owner) else {
            return Target::Foreign(definition);
        };
        let found = described.by_path.get(&definition).and_then(|id| self.item(owner, id));
        found.map_or(Target::Foreign(definition), Target::Described)
    }

    /// Returns the definition of the item with this id in `krate`.
    pub fn definition(&self, krate: &str, id: &str) -> Option<Definition> {
        Definition::read(&self.0.get(krate)?.json["paths"][id])
    }
}

impl Crate {
    fn read(text: &str) -> Result<Crate, String> {
        let json = Json::parse(text)?;
        let own = json["paths"].fields().filter(|(_, at)| at["crate_id"].number() == Some("0"));
        let by_path = own.filter_map(|(id, at)| Some((Definition::read(at)?, id.to_owned())));
        let by_path = by_path.collect();
        Ok(Crate { json, by_path })
    }
}

impl Definition {
    fn read(at: &Json) -> Option<Definition> {
        let parts: Vec<&str> = at["path"].items().iter().map(Json::text).collect();
        let kind = at["kind"].str()?.to_owned();
        Some(Definition { path: parts.join("::"), kind })
    }
}

impl<'a> Item<'a> {
    /// Returns the item's kind, and the data of that kind.
    pub fn inner(self) -> (&'a str, &'a Json) {
        self.json["inner"].variant()
    }

    pub fn name(self) -> &'a str {
        self.json["name"].text()
    }

    pub fn id(self) -> &'a str {
        self.json["id"].number().unwrap_or_default()
    }

    pub fn is_public(self) -> bool {
        self.json["visibility"].text() == "public"
    }

    pub fn is_hidden(self) -> bool {
        self.has_attribute("#[doc(hidden)]")
    }

    /// Returns whether the item has the attribute, as rustdoc writes it.
    pub fn has_attribute(self, wanted: &str) -> bool {
        self.json["attrs"].items().iter().any(|attribute| {
            let (name, other) = attribute.variant();
            name == wanted || other.text() == wanted
        })
    }
}
