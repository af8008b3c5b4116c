//! Manifests: JSON lines, one a file.

use serde::Deserialize;
use std::path::PathBuf;

/// A line of a manifest.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The PTX, from the folder that the batch is called in.
    pub file: PathBuf,
    /// Its SM.
    #[serde(default)]
    pub arch: Option<String>,
    /// Options of its compile.
    #[serde(default)]
    pub options: Vec<String>,
    /// Its output, below the folder of outputs where there is one.
    #[serde(default)]
    pub output: Option<PathBuf>,
    /// A launch of which cycles are estimated: options of `orias sim`.
    #[serde(default)]
    pub launch: Vec<String>,
}

/// All lines with their numbers, from 1; empty ones are none. An error is that of its line.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Result<Line, String>)> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines.map(|(at, line)| {
        let read = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            // It is always the first line of one.
            let text = text.replace(" at line 1 column", " at column");
            format!("not a manifest's line: {text}")
        });
        (at + 1, read)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_file_target_options_and_output() {
        let text = br#"
            {"file": "a.ptx"}

            {"file": "b.ptx", "arch": "sm_90a", "options": ["-O1", "-lineinfo"], "output": "x/b"}"#;
        let all: Vec<_> = lines(text).collect();
        let line = |file: &str| Line {
            file: file.into(),
            arch: None,
            options: Vec::new(),
            output: None,
            launch: Vec::new(),
        };
        assert_eq!(all[0], (2, Ok(line("a.ptx"))));
        let options = vec!["-O1".to_string(), "-lineinfo".to_string()];
        let arch = Some("sm_90a".to_string());
        let second = Line { arch, options, output: Some("x/b".into()), ..line("b.ptx") };
        assert_eq!(all[1], (4, Ok(second)));
    }

    #[test]
    fn a_line_that_is_none_is_an_error_of_its_own() {
        let all: Vec<_> =
            lines(b"{\"file\": 1}\n{\"files\": \"a\"}\n{}\n\xff\n{\"file\": \"a\"}").collect();
        assert_eq!(all.len(), 5);
        assert!(all[..4].iter().all(|(_, line)| line.is_err()) && all[4].1.is_ok());
        let message = all[1].1.as_ref().unwrap_err();
        assert!(
            message.contains("unknown field `files`") && !message.contains("line 1"),
            "{message}"
        );
    }
}
