//! A folder of what was compiled before, found again by what it was made of.
//!
//! An entry's name is a hash of the text, of all options that show in the result, and of the
//! compiler's own sources. Each is a file that is there whole or not at all, with a checksum: one
//! that is damaged counts as none. Any number of processes may use one folder at once. When its
//! files come to more than they may, those go first that were used longest ago.

mod entry;
mod size;

use crate::driver::{CompileOptions, Output};
use crate::whole;
use std::fs::{self, File};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Which compiler this is: its version, and a hash of the sources that it was built from. Results
/// of compilers of another name may differ.
pub const COMPILER: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("ORIAS_SOURCES"));

/// What is found under the same name: so that no text of one part can be taken for another.
const SEPARATOR: [u8; 1] = [0];

/// What an entry is found by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(blake3::Hash);

impl Key {
    /// Of a compile. Threads and the time budget do not show in a result, statistics and dumps
    /// do.
    pub fn of(source: &str, options: &CompileOptions) -> Key {
        let options = CompileOptions { threads: 0, budget: None, ..options.clone() };
        let mut hash = blake3::Hasher::new();
        hash.update(COMPILER.as_bytes()).update(&SEPARATOR);
        // All fields, in their order; texts are quoted.
        hash.update(format!("{options:?}").as_bytes()).update(&SEPARATOR);
        hash.update(source.as_bytes());
        Key(hash.finalize())
    }
}

/// The folder.
///
/// ```
/// use orias::{Cache, CompileOptions, Compiler};
/// # let ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }";
/// # let folder = std::env::temp_dir().join(format!("orias-doc-cache-{}", std::process::id()));
///
/// let compiler = Compiler::new(CompileOptions::default()).cached(Cache::open(&folder, 64 << 20)?);
/// let first = compiler.compile(ptx).expect("it compiles");
/// let again = compiler.compile(ptx).expect("it compiles");
/// assert!(!first.cached && again.cached && first.cubin == again.cubin);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Bytes of all entries at most.
    most: u64,
    /// Bytes that came since the entries were last counted.
    added: AtomicU64,
    trouble: OnceLock<String>,
}

impl Cache {
    /// Opens a folder for entries of so many bytes at most, and makes it where there is none. While
    /// compiles go on each process may bring it an eighth above that; [`Cache::trim`] and dropping
    /// it hold it to the limit.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, most: u64) -> Result<Cache> {
        fs::create_dir_all(folder)?;
        let (added, trouble) = (AtomicU64::new(0), OnceLock::new());
        Ok(Cache { folder: folder.to_path_buf(), most, added, trouble })
    }

    /// What was compiled under this name before.
    pub fn get(&self, key: &Key) -> Option<Output> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let Some(output) = entry::read(&bytes) else {
            // It will be made again.
            let _ = fs::remove_file(&path);
            return None;
        };
        // What was used last goes last.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(output)
    }

    /// Keeps what was compiled. A cache that cannot be written is no error of a compile:
    /// [`Cache::trouble`] tells of it.
    pub fn put(&self, key: &Key, output: &Output) {
        let bytes = entry::write(output);
        let length = bytes.len() as u64;
        if length > self.most {
            return;
        }
        let path = self.path(key);
        if let Err(error) = whole::write_with_folder(&path, &bytes) {
            self.note(&path, &error);
            return;
        }
        if self.added.fetch_add(length, Ordering::Relaxed) + length > self.most / 8 {
            self.trim();
        }
    }

    /// Removes what was used longest ago until the others are within the limit.
    pub fn trim(&self) {
        self.added.store(0, Ordering::Relaxed);
        if let Err(error) = size::trim(&self.folder, self.most) {
            self.note(&self.folder, &error);
        }
    }

    /// The first thing that went wrong in writing.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    fn note(&self, path: &Path, error: &std::io::Error) {
        self.trouble.get_or_init(|| format!("{}: {error}", path.display()));
    }

    /// In folders by the first byte: some file systems are slow with many files in one.
    fn path(&self, key: &Key) -> PathBuf {
        let name = key.0.to_hex();
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.added.load(Ordering::Relaxed) > 0 {
            self.trim();
        }
    }
}
