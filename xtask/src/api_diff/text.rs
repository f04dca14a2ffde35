//! Normalized text of types, bounds and signatures, which is equal if they mean the same:
//! parameters and lifetimes are numbered in order, elided lifetimes filled in, bounds sorted and
//! aliases resolved.

use std::collections::{BTreeSet, HashMap};

use super::crates::{Crates, Item, Target};
use super::public::Public;
use crate::json::Json;

#[cfg(test)]
mod tests;

/// Aliases of std, which is not described: their paths, and what they expand to, with `{}` for the
/// argument.
const STD_ALIASES: &[(&str, &str)] = &[
    ("core::fmt::Result", "core::result::Result<(), core::fmt::Error>"),
    ("std::io::error::Result", "core::result::Result<{}, std::io::error::Error>"),
    (
        "std::thread::Result",
        "core::result::Result<{}, alloc::boxed::Box<dyn core::any::Any + core::marker::Send>>",
    ),
];

/// The text of types and traits that users cannot name. Their parameters are omitted.
pub const SEALED: &str = "(sealed)";

/// The crates and names that are used to write texts.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub crates: &'a Crates,
    pub public: &'a Public<'a>,
    /// The paths to prefer for items that have several.
    pub preferred: &'a BTreeSet<String>,
}

/// Writes the texts of an item. Its parameters keep their numbers between calls.
pub struct Writer<'a> {
    scope: Scope<'a>,
    krate: &'a str,
    /// The type that `Self` is; `None` in traits.
    self_type: Option<String>,
    types: HashMap<String, String>,
    lifetimes: HashMap<String, String>,
    lifetimes_given: usize,
    /// The lifetime to use for elided ones; `None` for a new one each time.
    elided: Option<String>,
}

impl<'a> Writer<'a> {
    pub fn new(scope: Scope<'a>, krate: &'a str) -> Writer<'a> {
        Writer {
            scope,
            krate,
            self_type: None,
            types: HashMap::new(),
            lifetimes: HashMap::new(),
            lifetimes_given: 0,
            elided: None,
        }
    }

    pub fn set_self(&mut self, text: &str) {
        self.self_type = Some(text.to_owned());
    }

    /// Numbers the parameters of `generics` in order, and returns them as `<A, const B: u8 = 1>`.
    pub fn parameters(&mut self, generics: &Json) -> String {
        let mut listed = Vec::new();
        for parameter in generics["params"].items() {
            let (kind, inner) = parameter["kind"].variant();
            // `impl Trait` in argument position is written in the argument's type.
            if kind == "lifetime" || inner["is_synthetic"].is_true() {
                continue;
            }
            let mut text = self.type_parameter(parameter["name"].text());
            if kind == "const" {
                text = format!("const {text}: {}", self.ty(&inner["type"]));
            }
            let default = &inner["default"];
            if let Some(value) = default.str() {
                text.push_str(&format!(" = {value}"));
            } else if !default.is_null() {
                text.push_str(&format!(" = {}", self.ty(default)));
            }
            listed.push(text);
        }
        if listed.is_empty() { String::new() } else { format!("<{}>", listed.join(", ")) }
    }

    /// Returns all bounds of `generics` one by one, wherever they are written.
    pub fn predicates(&mut self, generics: &Json) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for parameter in generics["params"].items() {
            let name = parameter["name"].text();
            let (kind, inner) = parameter["kind"].variant();
            if kind == "lifetime" {
                for longer in inner["outlives"].items() {
                    let (a, b) = (self.lifetime(Some(name)), self.lifetime(longer.str()));
                    all.insert(format!("{a}: {b}"));
                }
            } else if !inner["is_synthetic"].is_true() {
                let name = self.type_parameter(name);
                self.note_bounds(&name, &inner["bounds"], &mut all);
            }
        }
        for predicate in generics["where_predicates"].items() {
            let (kind, inner) = predicate.variant();
            match kind {
                "bound_predicate" => {
                    let subject = self.ty(&inner["type"]);
                    self.note_bounds(&subject, &inner["bounds"], &mut all);
                }
                "lifetime_predicate" => {
                    let subject = self.lifetime(inner["lifetime"].str());
                    for longer in inner["outlives"].items() {
                        all.insert(format!("{subject}: {}", self.lifetime(longer.str())));
                    }
                }
                _ => {
                    all.insert(format!(
                        "{} == {}",
                        self.ty(&inner["lhs"]),
                        self.term(&inner["rhs"])
                    ));
                }
            }
        }
        all
    }

    fn note_bounds(&mut self, subject: &str, bounds: &Json, all: &mut BTreeSet<String>) {
        for bound in bounds.items() {
            all.extend(self.bound(bound).map(|bound| format!("{subject}: {bound}")));
        }
    }

    /// Writes `const unsafe fn(inputs) -> output`. An `async fn` is written as a function that
    /// returns a future.
    pub fn function(&mut self, function: &Json) -> String {
        let header = &function["header"];
        let mut text = String::new();
        for (flag, word) in [("is_const", "const "), ("is_unsafe", "unsafe ")] {
            text.push_str(if header[flag].is_true() { word } else { "" });
        }
        let (abi, _) = header["abi"].variant();
        if abi != "Rust" {
            text.push_str(&format!("extern {abi} "));
        }
        let signature = self.signature(&function["sig"], header["is_async"].is_true());
        text + "fn" + &signature
    }

    fn signature(&mut self, signature: &Json, is_async: bool) -> String {
        let before = self.lifetimes_given;
        let outer = self.elided.take();
        let mut inputs = Vec::new();
        let mut of_self = None;
        for input in signature["inputs"].items() {
            let [name, ty] = input.items() else { continue };
            let seen = self.lifetimes_given;
            let text = self.ty(ty);
            if name.text() == "self" {
                of_self = (text.contains('\'')).then(|| lifetime_in(&text)).flatten();
                of_self = of_self.or((self.lifetimes_given > seen).then(|| number(seen)));
                inputs.push(format!("self: {text}"));
            } else {
                inputs.push(text);
            }
        }
        let only = (self.lifetimes_given == before + 1).then(|| number(before));
        let only = only.or_else(|| lifetime_in(&inputs.join(" ")));
        self.elided = Some(of_self.or(only).unwrap_or("'static".to_owned()));
        let output = &signature["output"];
        let output = if output.is_null() { "()".to_owned() } else { self.ty(output) };
        self.elided = outer;
        let output = if is_async {
            format!("impl core::future::future::Future<Output = {output}>")
        } else {
            output
        };
        format!("({}) -> {output}", inputs.join(", "))
    }

    /// Writes a type.
    pub fn ty(&mut self, json: &Json) -> String {
        let (kind, inner) = json.variant();
        match kind {
            "resolved_path" => self.path(inner),
            "generic" if inner.text() == "Self" => {
                self.self_type.clone().unwrap_or("Self".to_owned())
            }
            "generic" => self.type_parameter(inner.text()),
            "primitive" => inner.text().to_owned(),
            "tuple" => {
                let parts: Vec<String> = inner.items().iter().map(|part| self.ty(part)).collect();
                format!("({})", parts.join(", "))
            }
            "slice" => format!("[{}]", self.ty(inner)),
            "array" => {
                let of = self.ty(&inner["type"]);
                let len = inner["len"].text();
                format!("[{of}; {}]", self.types.get(len).map_or(len, String::as_str))
            }
            "borrowed_ref" => {
                let lifetime = self.lifetime(inner["lifetime"].str());
                let mutable = if inner["is_mutable"].is_true() { "mut " } else { "" };
                format!("&{lifetime} {mutable}{}", self.ty(&inner["type"]))
            }
            "raw_pointer" => {
                let kind = if inner["is_mutable"].is_true() { "mut" } else { "const" };
                format!("*{kind} {}", self.ty(&inner["type"]))
            }
            "impl_trait" => format!("impl {}", self.bounds(inner)),
            "dyn_trait" => self.dyn_trait(inner),
            "function_pointer" => self.function(inner),
            "qualified_path" => {
                let of = self.ty(&inner["self_type"]);
                let of_trait = &inner["trait"];
                let of_trait = if of_trait.is_null() { String::new() } else { self.path(of_trait) };
                let args = self.args(&inner["args"]);
                format!("<{of} as {of_trait}>::{}{args}", inner["name"].text())
            }
            other => format!("?{other}"),
        }
    }

    fn dyn_trait(&mut self, inner: &Json) -> String {
        let traits = inner["traits"].items().iter();
        let mut parts: Vec<String> = traits.map(|part| self.path(&part["trait"])).collect();
        parts.sort();
        if let Some(lifetime) = inner["lifetime"].str() {
            parts.push(self.lifetime(Some(lifetime)));
        }
        format!("dyn {}", parts.join(" + "))
    }

    /// Writes a named type or trait with its arguments.
    pub fn path(&mut self, json: &Json) -> String {
        let target = self.scope.crates.target(self.krate, &json["id"]);
        if let Target::Described(item) = target {
            if let ("type_alias", alias) = item.inner() {
                return self.alias(item, alias, &json["args"]);
            }
        }
        let name = self.name_of(&target).unwrap_or_else(|| json["path"].text().to_owned());
        if name == SEALED {
            return name;
        }
        let args = self.args(&json["args"]);
        match STD_ALIASES.iter().find(|(alias, _)| *alias == name) {
            Some((_, text)) => text.replace("{}", args.trim_matches(['<', '>'])),
            None => name + &args,
        }
    }

    /// Returns the public name of an item.
    fn name_of(&self, target: &Target<'_>) -> Option<String> {
        let Scope { crates, public, preferred } = self.scope;
        match target {
            Target::Foreign(definition) => Some(definition.path.clone()),
            Target::Described(item) => {
                let definition = crates.definition(item.krate, item.id())?;
                let name = public.name_of(&definition, preferred);
                Some(name.unwrap_or(SEALED).to_owned())
            }
            Target::Unknown => None,
        }
    }

    /// Writes the type that an alias expands to, with its parameters filled in.
    fn alias(&mut self, item: Item<'a>, alias: &Json, args: &Json) -> String {
        let mut given = Vec::new();
        for arg in args["angle_bracketed"]["args"].items() {
            given.push(self.arg(arg));
        }
        let mut inside = Writer::new(self.scope, item.krate);
        inside.lifetimes_given = self.lifetimes_given;
        let mut given = given.into_iter();
        for parameter in alias["generics"]["params"].items() {
            let name = parameter["name"].text().to_owned();
            let (kind, inner) = parameter["kind"].variant();
            let filled = given.next().unwrap_or_else(|| inside.ty(&inner["default"]));
            let known = if kind == "lifetime" { &mut inside.lifetimes } else { &mut inside.types };
            known.insert(name, filled);
        }
        let text = inside.ty(&alias["type"]);
        self.lifetimes_given = inside.lifetimes_given;
        text
    }

    fn args(&mut self, args: &Json) -> String {
        let (kind, inner) = args.variant();
        match kind {
            "angle_bracketed" => {
                let mut parts: Vec<String> =
                    inner["args"].items().iter().map(|arg| self.arg(arg)).collect();
                let constraints = inner["constraints"].items().iter();
                let mut constraints: Vec<String> =
                    constraints.map(|c| self.constraint(c)).collect();
                constraints.sort();
                parts.append(&mut constraints);
                if parts.is_empty() { String::new() } else { format!("<{}>", parts.join(", ")) }
            }
            "parenthesized" => {
                let outer = self.elided.take();
                let inputs = inner["inputs"].items().iter();
                let inputs: Vec<String> = inputs.map(|input| self.ty(input)).collect();
                let inputs = inputs.join(", ");
                self.elided = lifetime_in(&inputs).or(Some("'static".to_owned()));
                let output = &inner["output"];
                let output = if output.is_null() { "()".to_owned() } else { self.ty(output) };
                self.elided = outer;
                format!("({inputs}) -> {output}")
            }
            _ => String::new(),
        }
    }

    fn arg(&mut self, arg: &Json) -> String {
        let (kind, inner) = arg.variant();
        match kind {
            "lifetime" => self.lifetime(inner.str()),
            "type" => self.ty(inner),
            "const" => {
                let text = inner["expr"].text();
                self.types.get(text).cloned().unwrap_or_else(|| text.to_owned())
            }
            _ => "_".to_owned(),
        }
    }

    fn constraint(&mut self, constraint: &Json) -> String {
        let name = constraint["name"].text();
        let (kind, inner) = constraint["binding"].variant();
        if kind == "equality" {
            format!("{name} = {}", self.term(inner))
        } else {
            format!("{name}: {}", self.bounds(inner))
        }
    }

    fn term(&mut self, term: &Json) -> String {
        let (kind, inner) = term.variant();
        if kind == "type" { self.ty(inner) } else { inner["expr"].text().to_owned() }
    }

    /// Writes bounds, sorted and joined by `+`.
    pub fn bounds(&mut self, bounds: &Json) -> String {
        let bounds = bounds.items().iter();
        let bounds: BTreeSet<String> = bounds.filter_map(|bound| self.bound(bound)).collect();
        bounds.into_iter().collect::<Vec<_>>().join(" + ")
    }

    /// Writes a bound, or returns `None` for `use<…>`, which does not affect users.
    fn bound(&mut self, bound: &Json) -> Option<String> {
        let (kind, inner) = bound.variant();
        match kind {
            "trait_bound" => {
                let maybe = if inner["modifier"].text() == "maybe" { "?" } else { "" };
                Some(format!("{maybe}{}", self.path(&inner["trait"])))
            }
            "outlives" => Some(self.lifetime(inner.str())),
            _ => None,
        }
    }

    fn type_parameter(&mut self, name: &str) -> String {
        let next = self.types.len();
        let text = || format!("T{next}");
        self.types.entry(name.to_owned()).or_insert_with(text).clone()
    }

    fn lifetime(&mut self, name: Option<&str>) -> String {
        match name {
            Some("'static") => "'static".to_owned(),
            None | Some("'_") => self.elided.clone().unwrap_or_else(|| self.new_lifetime()),
            Some(name) => match self.lifetimes.get(name) {
                Some(known) => known.clone(),
                None => {
                    let text = self.new_lifetime();
                    self.lifetimes.insert(name.to_owned(), text.clone());
                    text
                }
            },
        }
    }

    fn new_lifetime(&mut self) -> String {
        self.lifetimes_given += 1;
        number(self.lifetimes_given - 1)
    }
}

fn number(lifetime: usize) -> String {
    format!("'{lifetime}")
}

/// Returns the first lifetime in a text.
fn lifetime_in(text: &str) -> Option<String> {
    let rest = &text[text.find('\'')? + 1..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some(format!("'{}", &rest[..end]))
}
