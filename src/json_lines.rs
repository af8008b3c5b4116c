//! Files of lines of JSON, and what is wrong with one.

/// What is wrong with a file, and where: counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}\n  {shown}\n  {:>caret$}", '^')]
pub struct LineError {
    /// The line's number.
    pub line: usize,
    /// The byte of it.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What stands around that place, and below which character of it.
    shown: String,
    caret: usize,
}

impl LineError {
    /// Of a line, by number and text.
    pub(crate) fn new(line: usize, text: &[u8], column: usize, message: String) -> LineError {
        /// Bytes that are shown before the place, and behind it.
        const AROUND: usize = 60;
        let column = column.clamp(1, text.len().max(1));
        let start = (column - 1).saturating_sub(AROUND);
        let shown = &text[start.min(text.len())..text.len().min(column + AROUND)];
        // One character for each byte, so that the caret stands below its place.
        let printable = |byte: &u8| if byte.is_ascii_graphic() { *byte as char } else { ' ' };
        let shown = shown.iter().map(printable).collect();
        LineError { line, column, message, shown, caret: column - start }
    }

    /// Of a line that is no JSON, or not of the form that was looked for.
    pub(crate) fn of_json(
        line: usize,
        text: &[u8],
        what: &str,
        error: &serde_json::Error,
    ) -> LineError {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        LineError::new(line, text, error.column(), format!("{what}: {}", &message[..end]))
    }
}

/// The lines that have something, with their numbers.
///
/// # Errors
/// The file has more bytes than `most`, of what it is to have.
pub(crate) fn lines<'t>(
    text: &'t [u8],
    most: usize,
    what: &str,
) -> Result<impl Iterator<Item = (usize, &'t [u8])>, LineError> {
    if text.len() > most {
        return Err(LineError::new(1, &text[..1], 1, format!("more than {most} bytes of {what}")));
    }
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    Ok(lines.filter(|(_, line)| !line.trim_ascii().is_empty()))
}

#[cfg(test)]
pub(crate) mod tests {
    /// Gives many damaged copies of a text to what reads such files.
    pub(crate) fn damaged(text: &[u8], read: impl Fn(&[u8])) {
        let mut state = 1u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for _ in 0..20_000 {
            let mut damaged = text.to_vec();
            for _ in 0..1 + random(4) {
                let at = random(damaged.len());
                match random(3) {
                    0 => damaged[at] = random(256) as u8,
                    1 => drop(damaged.remove(at)),
                    _ => damaged.insert(at, text[random(text.len())]),
                }
            }
            read(&damaged);
        }
    }
}
