//! A reply's bytes as text: encodings, line ends, control codes, and thinking that was not sent apart.

use crate::fault::Fault;

/// Tags in which models think aloud.
const THINKING: [&str; 5] = ["think", "thinking", "thought", "reasoning", "reflection"];
/// What opens the final channel of models that write in channels.
const FINAL: &str = "<|channel|>final<|message|>";
/// Tokens that servers with a wrong chat template leave at the end.
const ENDINGS: [&str; 7] =
    ["<|im_end|>", "<|eot_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<end_of_turn>", "</s>"];

/// What is to be read of a reply: without thinking, lines ended by LF. What was no text is U+FFFD.
///
/// # Errors
/// When nothing is left.
pub fn read(bytes: &[u8]) -> Result<String, Fault> {
    let plain = without_escapes(&decode(bytes)).replace("\r\n", "\n").replace('\r', "\n");
    if plain.trim().is_empty() {
        return Err(Fault::Empty);
    }
    let shown = without_endings(&without_thinking(&plain)).to_owned();
    if shown.trim().is_empty() { Err(Fault::OnlyThinking) } else { Ok(shown) }
}

/// UTF-8, or UTF-16 where a byte-order mark says so; what can't be decoded is replaced.
fn decode(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned(),
    }
}

/// Without terminal colours and other control codes, which programs print even into a pipe.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // Parameters and intermediates, then one final byte.
                while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
                chars.next();
            }
            '\n' | '\r' | '\t' => plain.push(c),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

fn without_thinking(text: &str) -> String {
    if let Some(at) = text.rfind(FINAL) {
        return text[at + FINAL.len()..].to_owned();
    }
    let mut shown = text.to_owned();
    // Some templates put the opening tag into the prompt: the reply then has the closing one alone.
    for name in THINKING {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let end = find(&shown, &close, 0);
        if let Some(end) = end.filter(|end| find_at_line_start(&shown, &open).is_none_or(|start| start > *end)) {
            shown.drain(..end + close.len());
        }
    }
    while let Some((start, end)) = THINKING.iter().find_map(|name| block(&shown, name)) {
        shown.drain(start..end);
    }
    shown
}

/// From an opening tag to after its closing one; to the end where there is none.
fn block(text: &str, name: &str) -> Option<(usize, usize)> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = find_at_line_start(text, &open)?;
    Some((start, find(text, &close, start).map_or(text.len(), |at| at + close.len())))
}

fn find_at_line_start(text: &str, tag: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = find(text, tag, from) {
        let before = text[..at].rsplit('\n').next().unwrap_or_default();
        if before.trim().is_empty() {
            return Some(at);
        }
        from = at + tag.len();
    }
    None
}

fn find(text: &str, tag: &str, from: usize) -> Option<usize> {
    let (text, tag) = (text.as_bytes(), tag.as_bytes());
    (from..(text.len() + 1).saturating_sub(tag.len())).find(|at| text[*at..*at + tag.len()].eq_ignore_ascii_case(tag))
}

fn without_endings(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(rest) = ENDINGS.iter().find_map(|ending| text.strip_suffix(ending)) {
        text = rest.trim_end();
    }
    text
}
