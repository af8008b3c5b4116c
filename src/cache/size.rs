//! What a cache's folder has in it, held to a limit.

use crate::whole;
use std::fs::{self, File};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Who holds it counts and removes: two at once would both see too much, and remove twice.
const LOCK: &str = "lock";

/// Removes files that were used longest ago until the others have so many bytes at most, and what
/// dead writers have left.
pub fn trim(folder: &Path, most: u64) -> Result<()> {
    let lock = File::options().write(true).create(true).truncate(false).open(folder.join(LOCK))?;
    match lock.lock() {
        Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
        _ => {}
    }
    let mut entries = entries(folder)?;
    let mut size: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.sort();
    for entry in entries {
        if size <= most {
            break;
        }
        match fs::remove_file(&entry.path) {
            // A damaged one may have gone meanwhile.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => size -= entry.bytes,
        }
    }
    Ok(())
}

/// The order is that in which they go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for part in fs::read_dir(folder)? {
        let part = part?;
        // Nothing that is not the cache's is looked into, or removed.
        let is_ours = |name: &[u8]| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
        if !is_ours(part.file_name().as_encoded_bytes()) || !part.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(part.path())? {
            let path = file?.path();
            if whole::remove_left(&path) {
                continue;
            }
            // It may have gone, or become another's, meanwhile.
            let Ok(about) = fs::metadata(&path) else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry { used, path, bytes: about.len() });
        }
    }
    Ok(entries)
}
