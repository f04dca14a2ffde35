//! The pages that mdBook has written.

use std::fs;
use std::path::Path;

/// Checks that the relative links of the chapters lead to a file of the book and to an element that
/// exists. Links that leave the book are not checked: `pages.js` rewrites them.
pub fn check(out: &Path) -> Result<Vec<String>, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let mut problems = Vec::new();
    let names = fs::read_dir(out).map_err(|error| format!("cannot list the book: {error}"))?;
    for entry in names {
        let path = entry.map_err(|error| format!("cannot list the book: {error}"))?.path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let text = read(&path)?;
        let Some(main) = text.split("<main>").nth(1).and_then(|rest| rest.split("</main>").next())
        else {
            continue;
        };
        for target in main.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if target.contains("://") || target.starts_with("../") || target.is_empty() {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { out.join(file) };
            let exists = match read(&file) {
                Ok(text) => {
                    anchor.is_empty() || text.contains(&format!("id=\"{}\"", decoded(anchor)))
                }
                Err(_) => false,
            };
            if !exists {
                problems.push(format!("{}: `{target}` leads nowhere", path.display()));
            }
        }
    }
    Ok(problems)
}

/// Replaces the `%xx` of a link by the bytes that they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &more[2..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
