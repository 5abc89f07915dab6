//! Command lines: split into words where no shell is wanted. Expands nothing.

use crate::CompareError;

/// What only a shell understands.
const SHELL_SYNTAX: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', ']', '#', '~', '{', '}', '!', '\n'];

/// Whether `command` uses anything that only a shell understands: operators, expansions, leading assignments.
pub(super) fn needs_shell(command: &str) -> bool {
    let assigns = command.split_whitespace().next().is_some_and(|word| word.contains('='));
    assigns || command.contains(SHELL_SYNTAX)
}

/// Splits as a POSIX shell would: blanks, quotes, backslashes.
pub(super) fn split(command: &str) -> Result<Vec<String>, CompareError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    let unclosed =
        |what: &str| CompareError::Usage(format!("`{command}` has an unclosed {what}; close it, or pass --shell"));
    while let Some(letter) = letters.next() {
        match letter {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or_else(|| unclosed("quote"))? {
                        end if end == letter => break,
                        '\\' if letter == '"' => quoted.push(letters.next().ok_or_else(|| unclosed("quote"))?),
                        other => quoted.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next().ok_or_else(|| unclosed("backslash"))?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() {
        Err(CompareError::Usage("a command is empty; write what to run".to_owned()))
    } else {
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let check = |command: &str, expected: &[&str]| assert_eq!(split(command).unwrap(), expected, "{command}");
        check("sleep 0.02", &["sleep", "0.02"]);
        check("  a\t'b c'  \"d \\\" e\" f\\ g '' ", &["a", "b c", "d \" e", "f g", ""]);
        check("x'y'\"z\"", &["xyz"]);
        for bad in ["", "  ", "a 'b", "a \"b", "a \\"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shell_syntax() {
        let check = |command: &str, expected: bool| assert_eq!(needs_shell(command), expected, "{command}");
        check("sleep 0.02", false);
        check("grep -c 'x y' file", false);
        check("A=1 run", true);
        check("run --key=value", false);
        check("a | b", true);
        check("cat $HOME/x", true);
        check("ls *.rs", true);
    }
}
