//! Evaluation of `cfg` conditions.

use super::lex::{Kind, Token};

#[cfg(test)]
mod tests;

/// Returns whether an attribute, given as the tokens between its brackets, is a `cfg` that can hold
/// only with `flag` set. `any(test, unix)` can hold without `test`; `all(test, unix)` cannot.
pub fn requires(attribute: &[Token<'_>], flag: &str) -> bool {
    match attribute {
        [name, open, ..] if name.text == "cfg" && open.text == "(" => {
            let mut at = 2;
            without(flag, attribute, &mut at) == Some(false)
        }
        _ => false,
    }
}

/// Returns the value of the predicate at `at` with `flag` unset, or `None` if it depends on
/// something else. Advances `at` past the predicate.
fn without(flag: &str, tokens: &[Token<'_>], at: &mut usize) -> Option<bool> {
    let name = tokens.get(*at)?;
    *at += 1;
    if tokens.get(*at).is_some_and(|token| token.text == "(") {
        *at += 1;
        let mut operands = Vec::new();
        while tokens.get(*at).is_some_and(|token| token.text != ")") {
            operands.push(without(flag, tokens, at));
            if tokens.get(*at).is_some_and(|token| token.text == ",") {
                *at += 1;
            }
        }
        *at += 1;
        return match name.text {
            "not" => operands.first().copied().flatten().map(|value| !value),
            "all" => decided_by(&operands, false),
            "any" => decided_by(&operands, true),
            _ => None,
        };
    }
    // Skips the value of `feature = "x"`.
    let has_value = tokens.get(*at).is_some_and(|token| token.text == "=");
    if has_value {
        *at += 2;
    }
    (name.kind == Kind::Ident && name.text == flag && !has_value).then_some(false)
}

/// Combines the operands: one false decides `all`, and one true decides `any`. Otherwise all
/// operands must be known.
fn decided_by(operands: &[Option<bool>], decisive: bool) -> Option<bool> {
    if operands.contains(&Some(decisive)) {
        Some(decisive)
    } else if operands.contains(&None) {
        None
    } else {
        Some(!decisive)
    }
}
