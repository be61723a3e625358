//! Whether the machine slept while something ran: the system notes when it last woke.
use super::{MetalError, ask};

/// When the machine last woke, in seconds since 1970; 0 where it has not slept since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake(u64);

impl Wake {
    /// Asks `sysctl kern.waketime`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn now() -> Result<Self, MetalError> {
        let text = ask("sysctl", &["-n", "kern.waketime"])?;
        parse(&text)
            .map(Self)
            .ok_or_else(|| MetalError::unreadable("sysctl", format!("kern.waketime is {text:?}")))
    }

    /// That it has not woken since.
    ///
    /// # Errors
    /// [`MetalError::Slept`] when it has.
    pub fn still(self) -> Result<(), MetalError> {
        if Self::now()? == self {
            Ok(())
        } else {
            Err(MetalError::Slept)
        }
    }
}

/// `{ sec = 1700000000, usec = 0 } Tue Nov 14 22:13:20 2023`
fn parse(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("sec = ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_waking_is_read() {
        assert_eq!(
            parse("{ sec = 1700000000, usec = 123 } Tue Nov 14 22:13:20 2023"),
            Some(1_700_000_000)
        );
        assert_eq!(
            parse("{ sec = 0, usec = 0 } Thu Jan  1 01:00:00 1970"),
            Some(0)
        );
        assert_eq!(parse("unknown oid"), None);
    }
}
