//! `--load`: whether the driver takes cubins, without a launch.

use std::path::{Path, PathBuf};

use super::gpu::Gpu;

/// Has the driver load each cubin below a folder; a line for each kernel, and for each file that is
/// refused. Whether all were taken.
///
/// # Errors
/// When there is no GPU, or the folder cannot be read.
pub fn load(folder: &Path) -> Result<bool, String> {
    let mut files = Vec::new();
    cubins(folder, &mut files)?;
    files.sort();
    let gpu = Gpu::open()?;
    println!("{}", gpu.name());
    let mut refused = 0;
    for file in &files {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        match gpu.load(&bytes) {
            Ok(kernels) => {
                for k in kernels {
                    let (name, file) = (k.name, file.display());
                    println!("{file}\t{name}\t{}\t{}\t{}", k.registers, k.shared, k.local);
                }
            }
            Err(error) => {
                refused += 1;
                println!("{}: REFUSED: {error}", file.display());
            }
        }
    }
    println!("{} of {} files loaded", files.len() - refused, files.len());
    Ok(refused == 0)
}

fn cubins(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            cubins(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "cubin") {
            files.push(path);
        }
    }
    Ok(())
}
