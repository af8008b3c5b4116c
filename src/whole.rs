//! Files that are there whole or not at all, whatever ends the process that writes them.
//!
//! The bytes go to a file beside the target, whose name the target gets by renaming. That file's
//! name follows from the target's, so what a killed process leaves is taken by who writes the
//! target next; a lock that ends with its process keeps two writers apart. What the machine itself
//! loses when its power goes is not in view here.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// How the name ends of what is being written.
const PART: &str = ".part";

/// Writes a file, and makes the folder that it is to be in where there is none. Until the file is
/// whole, its name belongs to whatever had it before.
///
/// # Errors
/// Whatever the file system says; then nothing of this writer is left but folders.
pub fn write_with_folder(path: &Path, bytes: &[u8]) -> Result<()> {
    match (write(path, bytes), path.parent()) {
        // Asked for only then: where many write into one folder, each waits for its parent.
        (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            write(path, bytes)
        }
        (result, _) => result,
    }
}

/// Writes a file, in a folder that is there. Until it is whole, its name belongs to whatever had it
/// before.
///
/// # Errors
/// Whatever the file system says; then nothing of this writer is left.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = part(path)?;
    let mut file = take(&part)?;
    let written = (|| {
        // Not that of a new one: ext4 takes a file that is emptied for one that is written anew,
        // and hurries to put it on the disk (`auto_da_alloc`), which takes longer than to write it.
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        file.write_all(bytes)?;
        fs::rename(&part, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Removes what a writer has left that did not come to its end; nothing of one that is at work.
/// Whether it has.
pub fn remove_left(path: &Path) -> bool {
    let is_part = path.file_name().is_some_and(|name| {
        name.as_encoded_bytes().starts_with(b".")
            && name.as_encoded_bytes().ends_with(PART.as_bytes())
    });
    if !is_part {
        return false;
    }
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return false };
    match file.try_lock() {
        Ok(()) => fs::remove_file(path).is_ok(),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

fn part(path: &Path) -> Result<PathBuf> {
    let name = path.file_name();
    let name = name.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it has no file name"))?;
    let mut part = OsString::from(".");
    part.push(name);
    part.push(PART);
    Ok(path.with_file_name(part))
}

/// Opens the file for this process alone.
fn take(part: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(part)?;
        match file.lock() {
            Ok(()) => {}
            // Some network file systems have none: there only one process may write.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(file),
            Err(error) => return Err(error),
        }
        // Who had it may have given it its name meanwhile.
        if is_at(&file, part)? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let mine = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (mine.dev(), mine.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("orias-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_was_left_half_written_is_written_over() {
        let folder = folder("whole");
        let target = folder.join("a.cubin");
        fs::write(folder.join(".a.cubin.part"), "longer than what comes").unwrap();
        write(&target, b"new").unwrap();
        let names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!((fs::read(&target).unwrap(), names), (b"new".to_vec(), vec!["a.cubin".into()]));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_is_made_where_there_is_none() {
        let folder = folder("made");
        let target = folder.join("b").join("c").join("a.cubin");
        assert!(write(&target, b"bytes").is_err());
        write_with_folder(&target, b"bytes").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"bytes");
        assert!(write_with_folder(&target.join("a"), b"bytes").is_err(), "a file is no folder");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn many_writers_leave_what_one_of_them_wrote() {
        let folder = folder("writers");
        let target = folder.join("a.cubin");
        std::thread::scope(|scope| {
            for byte in 0..8 {
                let target = &target;
                scope.spawn(move || {
                    for length in 1..100 {
                        write(target, &vec![byte; length * 100]).unwrap();
                        let read = fs::read(target).unwrap();
                        assert!(!read.is_empty() && read.iter().all(|b| *b == read[0]));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_left_of_a_dead_writer_goes_and_what_one_holds_stays() {
        let folder = folder("left");
        let (dead, held) = (folder.join(".dead.part"), folder.join(".held.part"));
        fs::write(&dead, "").unwrap();
        let holder = take(&held).unwrap();
        assert!(remove_left(&dead) && !remove_left(&held));
        assert!(!dead.exists() && held.exists());
        drop(holder);
        assert!(!remove_left(&folder.join("a.cubin")), "no such name");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_in_the_place_of_the_file_is_an_error_that_leaves_nothing() {
        let folder = folder("taken");
        fs::create_dir(folder.join("a")).unwrap();
        fs::write(folder.join("a").join("b"), "").unwrap();
        assert!(write(&folder.join("a"), b"bytes").is_err());
        assert!(write(Path::new("/"), b"bytes").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
