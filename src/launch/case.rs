//! `case.json`: the launches of a corpus folder, their arguments and expected buffers
//! (`tests/corpus/README.md` says what they mean).

use std::path::{Path, PathBuf};

use super::compare::{Compare, difference};
use super::request::{Argument, Buffer, Launch, Scalar};
use serde::Deserialize;

/// A corpus folder.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The folder's name.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// The PTX file.
    pub ptx: PathBuf,
    /// Its launches.
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
struct File {
    ptx: String,
    cases: Vec<Case>,
}

/// One launch on a freshly loaded module.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Unique in its folder.
    pub name: String,
    /// The kernel.
    pub entry: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, where the launch gives them.
    #[serde(default)]
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub dynamic_shared: u64,
    /// In the order of the kernel's parameters.
    pub args: Vec<Arg>,
}

/// One argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Arg {
    /// Device memory.
    Buffer {
        /// For messages.
        name: String,
        /// What is in it before; zeros without one.
        file: Option<String>,
        /// Bytes, where there is no file.
        size: Option<u64>,
        /// What must be in it afterwards; without one a buffer with a file must not change.
        expect: Option<String>,
        /// How the two are compared; exactly without it.
        compare: Option<Compare>,
    },
    /// A number.
    Scalar {
        /// `u32`, `s32`, `u64`, `s64`, `f32` or `f64`.
        #[serde(rename = "type")]
        ty: String,
        /// Its value.
        value: serde_json::Value,
    },
}

/// A corpus file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no `case.json`.
    #[error("{path}: {error}")]
    Json {
        /// Which file.
        path: String,
        /// Why.
        error: serde_json::Error,
    },
    /// A case that means nothing.
    #[error("case {case}: {why}")]
    Bad {
        /// Folder and name.
        case: String,
        /// What is wrong with it.
        why: String,
    },
}

fn read(path: &Path) -> Result<Vec<u8>, CaseError> {
    std::fs::read(path).map_err(|error| CaseError::Read { path: path.display().to_string(), error })
}

impl Suite {
    /// Reads a `case.json`, or that of a folder.
    pub fn load(path: &Path) -> Result<Suite, CaseError> {
        let file = if path.is_dir() { path.join("case.json") } else { path.to_path_buf() };
        let folder = file.parent().unwrap_or(Path::new(".")).to_path_buf();
        let parsed: File = serde_json::from_slice(&read(&file)?)
            .map_err(|error| CaseError::Json { path: file.display().to_string(), error })?;
        let absolute = folder.canonicalize().unwrap_or(folder.clone());
        let name = absolute.file_name().map(|n| n.to_string_lossy().into_owned());
        Ok(Suite {
            name: name.unwrap_or_default(),
            ptx: folder.join(&parsed.ptx),
            folder,
            cases: parsed.cases,
        })
    }

    /// The PTX text.
    pub fn source(&self) -> Result<String, CaseError> {
        Ok(String::from_utf8_lossy(&read(&self.ptx)?).into_owned())
    }

    /// The launch of a case, its input files read.
    pub fn launch(&self, case: &Case) -> Result<Launch, CaseError> {
        let bad =
            |why: String| CaseError::Bad { case: format!("{}/{}", self.name, case.name), why };
        let mut args = Vec::with_capacity(case.args.len());
        for arg in &case.args {
            args.push(match arg {
                Arg::Buffer { file, size, expect, name, .. } => {
                    let bytes = match (file, size) {
                        (Some(file), _) => read(&self.folder.join(file))?,
                        (None, Some(size)) => vec![0; *size as usize],
                        (None, None) => return Err(bad(format!("buffer {name} has no size"))),
                    };
                    let writable = expect.is_some() || file.is_none();
                    Argument::Buffer(Buffer { bytes, writable, output: None })
                }
                Arg::Scalar { ty, value } => Argument::Scalar(
                    scalar(ty, value).ok_or_else(|| bad(format!("{value} is not of type {ty}")))?,
                ),
            });
        }
        Ok(Launch {
            entry: case.entry.clone(),
            grid: case.grid,
            block: case.block,
            cluster: case.cluster,
            dynamic_shared: case.dynamic_shared,
            args,
        })
    }

    /// Compares the buffers after a launch with what is expected: one line for each wrong buffer.
    pub fn verify(
        &self,
        case: &Case,
        launch: &Launch,
        buffers: &[Vec<u8>],
    ) -> Result<Vec<String>, CaseError> {
        let mut wrong = Vec::new();
        let mut got = buffers.iter();
        for (arg, given) in case.args.iter().zip(&launch.args) {
            let (Arg::Buffer { name, file, expect, compare, .. }, Argument::Buffer(initial)) =
                (arg, given)
            else {
                continue;
            };
            let Some(got) = got.next() else {
                wrong.push(format!("buffer {name} did not come back"));
                continue;
            };
            let difference = match expect {
                Some(expect) => {
                    let want = read(&self.folder.join(expect))?;
                    let exact = Compare { ty: "u8".to_string(), rtol: 0.0, atol: 0.0 };
                    difference(got, &want, compare.as_ref().unwrap_or(&exact))
                }
                None if file.is_some() && *got != initial.bytes => {
                    Some("must not change, and did".to_string())
                }
                None => None,
            };
            wrong.extend(difference.map(|text| format!("buffer {name} {text}")));
        }
        Ok(wrong)
    }
}

fn scalar(ty: &str, value: &serde_json::Value) -> Option<Scalar> {
    let number = || match value.as_str() {
        Some(text) => text.parse().ok(),
        None => value.as_f64(),
    };
    Some(match ty {
        "u32" => Scalar::U32(u32::try_from(value.as_u64()?).ok()?),
        "s32" => Scalar::S32(i32::try_from(value.as_i64()?).ok()?),
        "u64" => Scalar::U64(value.as_u64()?),
        "s64" => Scalar::S64(value.as_i64()?),
        // The file holds the exact double of the float.
        "f32" => Scalar::F32(number()? as f32),
        "f64" => Scalar::F64(number()?),
        _ => return None,
    })
}
