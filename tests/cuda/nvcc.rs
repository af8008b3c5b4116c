//! nvcc makes PTX of CUDA C.

use orias_fuzz::random::Random;
use orias_runner::oracle;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Seconds of processor time that a part of nvcc may take: many times what it needs for a file.
const PATIENCE: u32 = 20;

/// How much nvcc optimizes: what it makes of the same program differs much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    Full,
    Little,
    None,
    Debug,
}

impl Flavour {
    pub const ALL: [Flavour; 4] = [Flavour::Full, Flavour::Little, Flavour::None, Flavour::Debug];

    /// The flavour of the batch that begins with this seed.
    pub fn of(seed: u64) -> Flavour {
        use Flavour::{Debug, Full, Little, None};
        *Random::new(seed ^ 0xf1a).pick(&[Full, Full, Full, Full, Little, None, Debug])
    }

    pub fn name(self) -> &'static str {
        match self {
            Flavour::Full => "full",
            Flavour::Little => "little",
            Flavour::None => "none",
            Flavour::Debug => "debug",
        }
    }

    pub fn named(name: &str) -> Option<Flavour> {
        Flavour::ALL.into_iter().find(|flavour| flavour.name() == name)
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Flavour::Full => &[],
            Flavour::Little => &["-Xcicc", "-O1"],
            Flavour::None => &["-Xcicc", "-O0"],
            Flavour::Debug => &["--device-debug"],
        }
    }
}

/// The PTX of a file; `None` where there is no nvcc.
pub fn compile(source: &str, flavour: Flavour) -> Option<Result<String, String>> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let tool = oracle::tool("nvcc")?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("orias-cuda-{}-{number}", std::process::id()));
    let run = || -> std::io::Result<Result<String, String>> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("p.cu"), source)?;
        // cicc unrolls some programs until the memory is full.
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -t {PATIENCE}; exec \"$0\" \"$@\"")])
            .arg(&tool)
            .current_dir(&folder)
            .args(["-ptx", "-arch=sm_90a", "-O3", "--fmad=false", "-std=c++17", "-w"])
            .args(flavour.options())
            .args(["p.cu", "-o", "p.ptx"])
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            let crash = output.status.code().is_none_or(|code| code >= 128);
            let crash = if crash { "nvcc crashed or took too long: " } else { "" };
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Ok(Err(format!("{crash}{}: {text}", output.status)));
        }
        std::fs::read_to_string(folder.join("p.ptx")).map(Ok)
    };
    let result = run().unwrap_or_else(|error| Err(format!("{}: {error}", tool.display())));
    let _ = std::fs::remove_dir_all(&folder);
    Some(result)
}
