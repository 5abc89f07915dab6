//! What can be said of C text without parsing it.

/// Words by which a comment says that something is left out.
const LEFT_OUT: [&str; 9] =
    ["rest of", "remaining", "existing", "unchanged", "same as", "as before", "previous", "omitted", "other code"];

/// Whether a trimmed line stands for code that is not written.
pub fn is_elision(line: &str) -> bool {
    let is_comment = line.starts_with("//") || line.starts_with("/*") || line.starts_with('*');
    let said = line.trim_matches(['/', '*', ' ', '(', ')', '[', ']', '<', '>']).to_lowercase();
    let dots = said.contains("...") || said.contains('…');
    let bare = said.trim_matches(['.', '…', ' ']).is_empty();
    dots && ((is_comment && (bare || LEFT_OUT.iter().any(|word| said.contains(word)))) || line == "...")
}

/// Whether `text` has a definition of the function: its name, parentheses, an opening brace.
pub fn defines(text: &str, function: &str) -> bool {
    text.match_indices(function).any(|(at, _)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let whole_word = !text[..at].ends_with(is_word) && !text[at + function.len()..].starts_with(is_word);
        whole_word && opens(text[at + function.len()..].trim_start())
    })
}

/// Whether a parameter list and a brace follow.
fn opens(text: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return text[at + 1..].trim_start().starts_with('{'),
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Whether a line can be the first of a C source.
pub fn begins(line: &str) -> bool {
    const STARTS: [&str; 10] =
        ["#include", "#define", "#if", "#pragma", "typedef ", "static ", "void ", "extern ", "/*", "// "];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// Whether every brace that opens is closed, strings, characters and comments aside.
pub fn is_balanced(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut depth, mut i) = (0i64, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'/' if bytes.get(i + 1) == Some(&b'/') => i = line_end(bytes, i),
            b'/' if bytes.get(i + 1) == Some(&b'*') => match text[i + 2..].find("*/") {
                Some(length) => i += length + 3,
                None => return false,
            },
            quote @ (b'"' | b'\'') => i = quoted_end(bytes, i, quote),
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
        i += 1;
    }
    depth == 0
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    (from..bytes.len()).find(|at| bytes[*at] == b'\n').unwrap_or(bytes.len())
}

/// The closing quote, or the end of the line: an apostrophe in a comment of the preprocessor opens nothing.
fn quoted_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut i = from + 1;
    while i < bytes.len() && bytes[i] != quote && bytes[i] != b'\n' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    i
}
