//! A rehearsal: programs that answer in a Mac's place, from recorded output.
//!
//! `UMPATCH_REHEARSAL=DIR` names a folder with `recorded/` and the stand-ins in `bin/` (its own, or that beside it). They come
//! first wherever a program is looked up, and whatever then runs is marked as rehearsed: it is never evidence.
use crate::error::Explain;
use crate::exit::Exit;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the folder of a rehearsal.
pub const VARIABLE: &str = "UMPATCH_REHEARSAL";

/// A folder with recorded output, and the programs that replay it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    folder: PathBuf,
    programs: PathBuf,
}

/// The named folder is no rehearsal.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE}={} is no rehearsal: it has no {lacking}", folder.display())]
pub struct NoRehearsal {
    folder: PathBuf,
    lacking: &'static str,
}

impl Explain for NoRehearsal {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
    fn hints(&self) -> Vec<String> {
        vec![format!(
            "name a folder such as fixtures/machines/m2-max, or unset {VARIABLE}"
        )]
    }
}

impl Rehearsal {
    /// The rehearsal that the environment asks for; none where the variable is not set.
    ///
    /// # Errors
    /// When the folder is no rehearsal.
    pub fn current() -> Result<Option<Self>, NoRehearsal> {
        match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(folder) => Self::at(Path::new(&folder)).map(Some),
            None => Ok(None),
        }
    }

    fn at(folder: &Path) -> Result<Self, NoRehearsal> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let lacks = |lacking| NoRehearsal {
            folder: folder.clone(),
            lacking,
        };
        if !folder.join("recorded").is_dir() {
            return Err(lacks("recorded/"));
        }
        let programs = [
            Some(folder.join("bin")),
            folder.parent().map(|beside| beside.join("bin")),
        ]
        .into_iter()
        .flatten()
        .find(|programs| programs.is_dir())
        .ok_or_else(|| lacks("bin/"))?;
        Ok(Self { folder, programs })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The folders in which programs are looked up: the machine's, after those of a rehearsal.
#[must_use]
pub fn search_path() -> Option<OsString> {
    let inherited = std::env::var_os("PATH");
    match Rehearsal::current() {
        Ok(Some(rehearsal)) => {
            let mut path = rehearsal.programs.into_os_string();
            if let Some(inherited) = inherited {
                path.push(":");
                path.push(inherited);
            }
            Some(path)
        }
        _ => inherited,
    }
}

/// What a program that is started has in its environment because of a rehearsal.
#[must_use]
pub fn environment() -> Vec<(OsString, OsString)> {
    match Rehearsal::current() {
        Ok(Some(rehearsal)) => {
            let mut all = vec![(VARIABLE.into(), rehearsal.folder.into_os_string())];
            all.extend(search_path().map(|path| ("PATH".into(), path)));
            all
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_has_recorded_output_and_stand_ins() {
        let machines = tempfile::tempdir().unwrap();
        let folder = machines.path().join("m2");
        let lacking = |folder: &Path| Rehearsal::at(folder).unwrap_err().lacking;
        assert_eq!(lacking(&folder), "recorded/");
        std::fs::create_dir_all(folder.join("recorded")).unwrap();
        assert_eq!(lacking(&folder), "bin/");
        std::fs::create_dir(machines.path().join("bin")).unwrap();
        let shared = Rehearsal::at(&folder).unwrap();
        assert_eq!(shared.programs, machines.path().join("bin"));
        std::fs::create_dir(folder.join("bin")).unwrap();
        assert_eq!(Rehearsal::at(&folder).unwrap().programs, folder.join("bin"));
    }
}
