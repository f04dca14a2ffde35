//! The facts of a public API, for each name that users can write.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{Crates, Item, Target};
use super::fact::Fact;
use super::public::{Entry, Public};
use super::text::{SEALED, Scope, Writer};
use crate::json::Json;

#[cfg(test)]
mod tests;

/// The facts, by the name they are about. `impl Trait for Type` counts as a name too.
#[derive(Default)]
pub struct Surface {
    facts: BTreeMap<String, NamedFacts>,
}

#[derive(Default)]
struct NamedFacts {
    /// Several if items share a name, as methods of different impl blocks may.
    facts: BTreeSet<Fact>,
    hidden: bool,
}

/// A difference between two APIs.
pub struct Difference {
    pub text: String,
    pub hidden: bool,
}

impl Surface {
    pub fn of(crates: &Crates, public: &Public<'_>, preferred: &BTreeSet<String>) -> Surface {
        let scope = Scope { crates, public, preferred };
        let mut surface = Surface::default();
        for (path, entries) in &public.entries {
            for Entry { target, hidden } in entries {
                let mut about = FactCollector { scope, surface: &mut surface, hidden: *hidden };
                match target {
                    Target::Described(item) => about.item(path, *item),
                    Target::Foreign(definition) => {
                        let text = foreign_text(&definition.kind, &definition.path);
                        about.note(path.clone(), Fact::new(text));
                    }
                    Target::Unknown => about.note(path.clone(), Fact::new("something")),
                }
            }
        }
        let hidden = public.hidden_paths();
        for item in crates.all().filter(|item| item.inner().0 == "impl") {
            FactCollector { scope, surface: &mut surface, hidden: false }.trait_impl(item, &hidden);
        }
        surface
    }

    pub fn count(&self) -> usize {
        self.facts.len()
    }

    /// Returns the facts that are missing or different in `other`.
    pub fn differences(&self, other: &Surface) -> Vec<Difference> {
        let mut found = Vec::new();
        for (about, noted) in &self.facts {
            let text = match other.facts.get(about) {
                None => format!("missing: {about}"),
                Some(there) => {
                    let unmet: Vec<String> = noted.unmet_by(there);
                    if unmet.is_empty() {
                        continue;
                    }
                    let there: Vec<String> = there.unmet_by(noted);
                    format!(
                        "differs: {about}\n    Tokio: {}\n    here:  {}",
                        unmet.join("\n           "),
                        there.join("\n           ")
                    )
                }
            };
            found.push(Difference { text, hidden: noted.hidden });
        }
        found
    }

    /// Returns the names that `other` does not have.
    pub fn extras(&self, other: &Surface) -> Vec<&str> {
        let all = self.facts.iter().filter(|(_, noted)| !noted.hidden);
        let extra = all.filter(|(about, _)| !other.facts.contains_key(*about));
        extra.map(|(about, _)| about.as_str()).collect()
    }
}

impl NamedFacts {
    fn unmet_by(&self, there: &NamedFacts) -> Vec<String> {
        let unmet = self.facts.iter().filter(|fact| !there.facts.iter().any(|it| it.meets(fact)));
        unmet.map(Fact::to_string).collect()
    }
}

/// Collects the facts of an item.
struct FactCollector<'a> {
    scope: Scope<'a>,
    surface: &'a mut Surface,
    hidden: bool,
}

impl<'a> FactCollector<'a> {
    fn note(&mut self, about: String, fact: Fact) {
        let noted = self.surface.facts.entry(about).or_default();
        noted.hidden |= self.hidden;
        noted.facts.insert(fact);
    }

    fn item(&mut self, path: &str, item: Item<'a>) {
        let (kind, inner) = item.inner();
        let mut writer = Writer::new(self.scope, item.krate);
        let fact = match kind {
            "module" => Fact::new("mod"),
            "macro" | "proc_macro" => Fact::new(macro_text(inner)),
            "function" => function(&mut writer, item, inner),
            "constant" | "static" => Fact::new(format!("{kind} {}", writer.ty(&inner["type"]))),
            "type_alias" => {
                let parameters = writer.parameters(&inner["generics"]);
                Fact::new(format!("type{parameters} = {}", writer.ty(&inner["type"])))
            }
            "struct" | "enum" | "trait" => {
                let parameters = writer.parameters(&inner["generics"]);
                let predicates = writer.predicates(&inner["generics"]);
                match kind {
                    "struct" => self.fields(path, item, &mut writer),
                    "enum" => self.variants(path, item, &mut writer),
                    _ => self.trait_items(path, item, &parameters),
                }
                let bounds = writer.bounds(&inner["bounds"]);
                let dynamic = if inner["is_dyn_compatible"].is_true() { " (dyn)" } else { "" };
                Fact::new(format!("{kind}{parameters}: {bounds}{dynamic}"))
                    .with(predicates)
                    .marked(item)
            }
            other => Fact::new(other),
        };
        self.note(path.to_owned(), fact);
        if matches!(kind, "struct" | "enum") {
            self.inherent(path, item, inner);
        }
    }

    /// Adds the public fields, and whether all fields are public.
    fn fields(&mut self, path: &str, item: Item<'a>, writer: &mut Writer<'a>) {
        let (_, inner) = item.inner();
        let (shape, fields) = inner["kind"].variant();
        let ids = if shape == "plain" { &fields["fields"] } else { fields };
        let fields: Vec<Item<'a>> = self.scope.crates.items(item.krate, ids).collect();
        let (open, closed): (Vec<Item<'a>>, Vec<Item<'a>>) =
            fields.into_iter().partition(|field| field.is_public() && !field.is_hidden());
        for field in open {
            let (_, ty) = field.inner();
            self.note(format!("{path}.{}", field.name()), Fact::new(writer.ty(ty)));
        }
        if closed.is_empty() {
            self.note(format!("{path} {{}}"), Fact::new(format!("{shape}, all public")));
        }
    }

    fn variants(&mut self, path: &str, item: Item<'a>, writer: &mut Writer<'a>) {
        let (_, inner) = item.inner();
        let mut names = Vec::new();
        for variant in self.scope.crates.items(item.krate, &inner["variants"]) {
            let (_, of_variant) = variant.inner();
            let (shape, fields) = of_variant["kind"].variant();
            let ids = if shape == "struct" { &fields["fields"] } else { fields };
            let mut text = shape.to_owned();
            for field in self.scope.crates.items(item.krate, ids) {
                let (_, ty) = field.inner();
                text.push_str(&format!(" {}: {}", field.name(), writer.ty(ty)));
            }
            names.push(variant.name());
            self.note(format!("{path}::{}", variant.name()), Fact::new(text));
        }
        // An additional variant would break exhaustive matches.
        names.sort_unstable();
        self.note(format!("{path} {{}}"), Fact::new(names.join(", ")));
    }

    fn trait_items(&mut self, path: &str, item: Item<'a>, parameters: &str) {
        let (_, inner) = item.inner();
        for member in self.scope.crates.items(item.krate, &inner["items"]) {
            let mut writer = Writer::new(self.scope, member.krate);
            writer.parameters(&inner["generics"]);
            let (kind, of_member) = member.inner();
            let (mut fact, provided) = match kind {
                "function" => {
                    let fact = function(&mut writer, member, of_member);
                    (fact, of_member["has_body"].is_true())
                }
                "assoc_type" => {
                    let bounds = writer.bounds(&of_member["bounds"]);
                    (Fact::new(format!("type: {bounds}")), !of_member["type"].is_null())
                }
                _ => {
                    let ty = writer.ty(&of_member["type"]);
                    (Fact::new(format!("const: {ty}")), !of_member["value"].is_null())
                }
            };
            let provided = if provided { "provided" } else { "required" };
            fact.text = format!("{parameters}{provided} {}", fact.text);
            self.note_member(path, member, fact);
        }
    }

    /// Adds the inherent methods and constants of a type.
    fn inherent(&mut self, path: &str, item: Item<'a>, inner: &'a Json) {
        for block in self.scope.crates.items(item.krate, &inner["impls"]) {
            let (_, of_block) = block.inner();
            if !of_block["trait"].is_null() {
                continue;
            }
            for member in self.scope.crates.items(block.krate, &of_block["items"]) {
                if !member.is_public() {
                    continue;
                }
                let mut writer = Writer::new(self.scope, block.krate);
                let of = writer.ty(&of_block["for"]);
                writer.set_self(&of);
                let predicates = writer.predicates(&of_block["generics"]);
                let (kind, of_member) = member.inner();
                let mut fact = match kind {
                    "function" => function(&mut writer, member, of_member),
                    _ => Fact::new(format!("{kind} {}", writer.ty(&of_member["type"]))),
                };
                fact.text = format!("{of}: {}", fact.text);
                self.note_member(path, member, fact.with(predicates));
            }
        }
    }

    /// Adds `impl Trait for Type`, if users can name both.
    fn trait_impl(&mut self, item: Item<'a>, hidden: &BTreeSet<&str>) {
        let (_, inner) = item.inner();
        if inner["trait"].is_null() || !inner["blanket_impl"].is_null() {
            return;
        }
        let mut writer = Writer::new(self.scope, item.krate);
        let of = writer.ty(&inner["for"]);
        writer.set_self(&of);
        let of_trait = writer.path(&inner["trait"]);
        if of.contains(SEALED) || of_trait.contains(SEALED) || is_internal_trait(&of_trait) {
            return;
        }
        let predicates = writer.predicates(&inner["generics"]);
        if predicates.iter().any(|predicate| is_of_pin_project(predicate)) {
            return;
        }
        let mut text = String::new();
        for member in self.scope.crates.items(item.krate, &inner["items"]) {
            if let ("assoc_type", of_member) = member.inner() {
                text.push_str(&format!("{} = {} ", member.name(), writer.ty(&of_member["type"])));
            }
        }
        let fact = if inner["is_negative"].is_true() {
            Fact::not_implemented()
        } else {
            Fact::new(text).with(predicates).of_impl()
        };
        self.hidden = hidden.iter().any(|path| of.starts_with(path) || of_trait.starts_with(path));
        self.note(format!("impl {of_trait} for {of}"), fact);
    }

    fn note_member(&mut self, path: &str, member: Item<'a>, fact: Fact) {
        let outer = self.hidden;
        self.hidden |= member.is_hidden();
        self.note(format!("{path}::{}", member.name()), fact);
        self.hidden = outer;
    }
}

/// Returns whether the trait is used by the compiler and derives only, or is `Drop`, which bounds
/// cannot usefully require.
fn is_internal_trait(of_trait: &str) -> bool {
    matches!(
        of_trait,
        "core::marker::StructuralPartialEq"
            | "core::marker::Freeze"
            | "core::marker::UnsafeUnpin"
            | "core::ops::drop::Drop"
    )
}

/// Returns whether the bound comes from pin-project, which writes "not `Unpin`" as a bound that no
/// type satisfies. Tokio's own test `async_send_sync`, which `cargo xtask conformance` runs, checks
/// which types are `Unpin`.
fn is_of_pin_project(predicate: &str) -> bool {
    predicate.contains("pin_project_lite") || predicate.contains("core::marker::PhantomPinned")
}

fn function<'a>(writer: &mut Writer<'a>, item: Item<'a>, function: &Json) -> Fact {
    let parameters = writer.parameters(&function["generics"]);
    let text = writer.function(function);
    let predicates = writer.predicates(&function["generics"]);
    Fact::new(format!("{parameters}{text}")).with(predicates).marked(item)
}

fn macro_text(inner: &Json) -> &'static str {
    match inner["kind"].text() {
        "attr" => "attribute macro",
        "derive" => "derive macro",
        _ => "macro",
    }
}

fn foreign_text(kind: &str, path: &str) -> String {
    match kind {
        "proc_attribute" => "attribute macro".to_owned(),
        "macro" | "proc_macro" => "macro".to_owned(),
        _ => format!("{kind} {path}"),
    }
}
