//! One thing that this machine has to have: whether it is there, what it is for, and what mends it.
use serde::Serialize;
use std::fmt;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// There, and right.
    Ok,
    /// Not there.
    Missing,
    /// There, but not right.
    Wrong,
}

/// What a thing is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The simulated device cannot be built or run without it.
    SimulatedDevice,
    /// A Mac's own GPU cannot be used, or PyTorch not be built for it, without it.
    Metal,
    /// `umpatch fetch` needs it for some trees.
    Fetch,
    /// Good to have.
    Comfort,
}

/// What mends a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// A package of the distribution.
    Package(String),
    /// The torch environment of a version; `umpatch doctor --provision` makes it.
    Torch,
    /// A command or a deed that only the user can decide on.
    ByHand(String),
}

/// One thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// A short name, stable, in kebab-case.
    pub id: String,
    /// How it stands.
    pub state: State,
    /// What it is for.
    pub need: Need,
    /// What was found, or what is wrong.
    pub found: String,
    /// What mends it; absent where it is all right.
    pub mend: Option<Mend>,
}

impl Item {
    /// A thing that is there and right.
    pub(super) fn ok(id: impl Into<String>, need: Need, found: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            state: State::Ok,
            need,
            found: found.into(),
            mend: None,
        }
    }

    /// A thing that is not there.
    pub(super) fn missing(
        id: impl Into<String>,
        need: Need,
        found: impl Into<String>,
        mend: Mend,
    ) -> Self {
        Self {
            id: id.into(),
            state: State::Missing,
            need,
            found: found.into(),
            mend: Some(mend),
        }
    }

    /// A thing that is there but not right.
    pub(super) fn wrong(
        id: impl Into<String>,
        need: Need,
        found: impl Into<String>,
        mend: Mend,
    ) -> Self {
        Self {
            state: State::Wrong,
            ..Self::missing(id, need, found, mend)
        }
    }

    /// Whether the device that was asked about cannot work because of this.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.state != State::Ok && matches!(self.need, Need::SimulatedDevice | Need::Metal)
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Wrong => "wrong",
        })
    }
}
